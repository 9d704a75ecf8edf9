import EmbeddedLog
import EventLog
import Foundation
import TestKit
import Testing

@testable import weir

@Suite("weir erase")
struct EraseCommandTests {
    private let files: TemporaryDirectory
    private static let person = "5B1C7E3A-8A41-4F0E-9C55-0D0A4E6B7F21"

    init() throws {
        files = try TemporaryDirectory()
        let log = try EmbeddedLog(path: files.path + "/data/log.sqlite", mode: .create)
        try log.createTopic("conversion-updates", partitionCount: 1)
        try log.writer().append(
            [Self.person, "another-install"].map { (id: String) in
                OutgoingRecord(
                    "conversion-updates", "{\"install_id\":\"\(id)\"}", key: id, at: 1000)
            })
    }

    private func run(_ arguments: String...) throws -> Program {
        try Program.run("weir", arguments + ["--data", files.path + "/data"])
    }

    @Test("erases after a dry run, records who and why without the id, and then finds nothing")
    func erases() throws {
        let dry = try run("erase", "--install", Self.person, "--dry-run")
        #expect(dry.status == 0, "\(dry.error)")
        #expect(dry.output.contains("would be emptied"))
        let done = try run(
            "erase", "--install", Self.person, "--reason", "request 4711", "--format", "json")
        #expect(done.status == 0, "\(done.error)")
        #expect(try jsonObject(done.output)["dry_run"] as? Bool == false)
        #expect(done.error.contains("erased 1 record of the log"))
        let again = try run("erase", "--install", Self.person, "--reason", "request 4711")
        #expect(again.output == "nothing found\n")

        let actions = try run("actions", "--format", "json")
        #expect(actions.output.contains("request 4711"))
        #expect(actions.output.contains("install sha256:"))
        #expect(!actions.output.lowercased().contains(Self.person.lowercased()))
        let read = try run("read", "--topic", "conversion-updates", "--format", "table")
        #expect(read.output.contains("(erased)"))
        #expect(!read.output.contains(Self.person))
        let check = try run("check", "--pipelines", Repository.path("pipelines"))
        #expect(check.output.contains("3 records of the log are undamaged"), "\(check.output)")
    }

    @Test("names the incremental backups with records, until newer ones have replaced them")
    func incrementalBackups() throws {
        let backups = "\(files.path)/backups"
        func backUp(_ more: [String] = []) throws {
            let run = try Program.run(
                "weir",
                ["backup", backups, "--incremental", "--data", files.path + "/data"] + more)
            #expect(run.status == 0, "\(run.error)")
        }
        func erase(_ more: [String]) throws -> Program {
            try Program.run(
                "weir",
                ["erase", "--install", Self.person, "--data", files.path + "/data", "--also"]
                    + [files.path] + more)
        }
        try backUp()
        let first = try erase(["--reason", "request 4711"])
        #expect(first.status == 0, "\(first.error)")
        let lines = first.output.split(separator: "\n").filter { $0.hasPrefix("copy") }
        #expect(lines.count == 1 && lines[0].contains("weir backup prune \(backups) --keep 1"))
        try backUp(["--keep", "1"])
        let again = try erase(["--dry-run"])
        #expect(again.output == "nothing found\n", "\(again.output)")
    }

    @Test("is refused without one id, without a reason, and with the id in the reason")
    func usage() throws {
        for arguments in [
            ["--dry-run"], ["--install", Self.person, "--account", Self.person, "--dry-run"],
            ["--install", Self.person], ["--install", "short", "--dry-run"],
            ["--install", Self.person, "--reason", "erase \(Self.person.lowercased())"],
        ] {
            let refused = try Program.run(
                "weir", ["erase"] + arguments + ["--data", files.path + "/data"])
            #expect(refused.status == 64, "\(arguments): \(refused.error)")
        }
        let log = try EmbeddedLog(path: files.path + "/data/log.sqlite", mode: .existing)
        #expect(try log.records(of: "conversion-updates").count == 2)
    }
}
