import ConfigurationValues
import DatabaseFiles
import Deliveries
import EmbeddedLog
import Engine
import EventLog
import Foundation
import History
import Program
import Reports
import Store
import Streams
import TestKit
import Testing

@testable import weir

@Suite("Backups")
struct BackupTests {
    private let workspace: TemporaryDirectory
    private let log: EmbeddedLog
    private let data: String
    private let pipelines = Repository.path("pipelines")

    init() throws {
        workspace = try TemporaryDirectory()
        data = "\(workspace.path)/data"
        log = try EmbeddedLog(path: "\(data)/log.sqlite", mode: .create)
    }

    private func publish(_ topic: String, _ records: some Sequence<OutgoingRecord>) throws {
        try log.createTopic(topic, partitionCount: 4)
        try log.writer().append(Array(records))
    }

    private func options(_ data: String) -> WorkerOptions {
        WorkerOptions(
            log: .sqlite(path: "\(data)/log.sqlite"), data: data, pipelines: pipelines,
            untilEnd: true)
    }

    private func fold(_ data: String) throws {
        try BidsFold.work(options(data), stop: StopSignal())
        guard try log.topics().contains(where: { $0.name == "postbacks" }) else { return }
        try PostbacksFold.work(options(data), stop: StopSignal())
    }

    private func backUp(to name: String, data: String? = nil) throws -> BackupManifest {
        let data = data ?? self.data
        var writer = try BackupWriter(
            data: data, logPath: "\(data)/log.sqlite", target: "\(workspace.path)/\(name)"
        ) { _ in }
        return try writer.write()
    }

    private func faults(_ name: String) throws -> [String] {
        try BackupVerification(directory: "\(workspace.path)/\(name)") { _ in }.faults
    }

    @Test("a backup is not made inside the directory that it is of, wherever links lead")
    func insideItsSource() throws {
        try publish("bids", ExampleDay.records(of: "bids").prefix(10))
        try fold(data)
        let link = "\(workspace.path)/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: data)
        for target in ["data/backup", "data/a/b/backup", "data/../data/backup", "link/backup"] {
            #expect {
                try backUp(to: target)
            } throws: {
                ($0 as? CommandError)?.explanation?.contains("is inside \(data)") == true
            }
        }
        #expect {
            try backUp(to: "data/backup", data: link)
        } throws: {
            ($0 as? CommandError)?.explanation?.contains("is inside") == true
        }
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: data)
                .allSatisfy { !$0.contains("backup") && $0 != "a" })
        // A name that begins alike is another directory.
        #expect(try backUp(to: "data-backup").files.count == 2)
    }

    @Test("a restored backup goes on with the log where it ended, and comes to the right totals")
    func restore() throws {
        let (bids, postbacks) = (
            try ExampleDay.records(of: "bids"), try ExampleDay.records(of: "postbacks")
        )
        try publish("bids", bids.prefix(bids.count / 2))
        try publish("postbacks", postbacks.prefix(postbacks.count / 2))
        try fold(data)
        // The log is ahead of the stores, as it is when workers run.
        try publish("bids", bids.dropFirst(bids.count / 2).prefix(10))
        let manifest = try backUp(to: "backup")
        #expect(manifest.files.map(\.name) == ["bids.sqlite", "postbacks.sqlite", "log.sqlite"])
        #expect(try faults("backup") == [])
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: workspace.path).sorted()
                == ["backup", "data"])

        let restored = "\(workspace.path)/restored"
        try FileManager.default.copyItem(atPath: "\(workspace.path)/backup", toPath: restored)
        let restoredLog = try EmbeddedLog(path: "\(restored)/log.sqlite", mode: .existing)
        let rest =
            Array(bids.dropFirst(bids.count / 2 + 10)) + postbacks.dropFirst(postbacks.count / 2)
        try restoredLog.writer().append(rest)
        try log.writer().append(rest)
        try fold(restored)
        try fold(data)
        let digest = try OpenStores(directories: [data]).digest()
        #expect(try OpenStores(directories: [restored]).digest() == digest)
        #expect(digest != manifest.digest)
        // As one log each, too.
        #expect(try restoredLog.verifyRecords() == log.verifyRecords())
    }

    @Test("backups that are taken while records come and are folded all fit together")
    func whileInUse() throws {
        let bids = try ExampleDay.records(of: "bids")
        try publish("bids", bids.prefix(100))
        try fold(data)
        let stop = StopSignal()
        let (log, data, pipelines) = (log, data, pipelines)
        let work = Thread {
            var turn = 0
            while !stop.isRequested {
                let records = bids.map { record in
                    var record = record
                    record.key = Array("\(turn)".utf8)
                    turn += 1
                    return record
                }
                _ = try? log.writer().append(records)
                let options = WorkerOptions(
                    log: .sqlite(path: "\(data)/log.sqlite"), data: data, pipelines: pipelines,
                    untilEnd: true)
                try? BidsFold.work(options, stop: StopSignal())
            }
        }
        work.start()
        defer {
            stop.request()
            while !work.isFinished { usleep(10_000) }
        }
        var bytes: Set<Int> = []
        // Until some were taken while the log grew.
        for number in 1...200 where number <= 3 || bytes.count == 1 {
            let manifest = try backUp(to: "backup-\(number)")
            #expect(try faults("backup-\(number)") == [])
            bytes.insert(manifest.files.last?.bytes ?? 0)
        }
        #expect(bytes.count > 1)
    }

    @Test("a log that is not there is named, and so is one that is empty: neither is left out")
    func noLog() throws {
        func words(_ log: String) -> String {
            let error = #expect(throws: (any Error).self) {
                try BackupWriter(data: data, logPath: log, target: "\(workspace.path)/backup") {
                    _ in
                }
            }
            return error.flatMap { CommandError($0)?.explanation } ?? ""
        }
        let missing = words("\(workspace.path)/typo.sqlite")
        #expect(missing.hasPrefix("no log at \(workspace.path)/typo.sqlite: "), "\(missing)")
        #expect(missing.contains("--log its log (kafka://HOST:PORT for"))
        let empty = try workspace.write("", to: "empty.sqlite")
        #expect(words(empty).hasPrefix("the file of sqlite:\(empty) is empty"))
    }

    @Test("an empty directory is no backup")
    func empty() throws {
        try FileManager.default.createDirectory(
            atPath: "\(workspace.path)/empty", withIntermediateDirectories: true)
        #expect { try faults("empty") } throws: { error in
            (error as? CommandError)?.explanation?.hasPrefix(
                "\(workspace.path)/empty does not contain a backup: ")
                == true
        }
    }

    @Test("a backup that was changed is refused in words, and one is never written over")
    func refusals() throws {
        try publish("bids", try ExampleDay.records(of: "bids").prefix(50))
        try fold(data)
        _ = try backUp(to: "backup")
        #expect(throws: CommandError.self) { try backUp(to: "backup") }
        let store = "\(workspace.path)/backup/bids.sqlite"
        try DamagedBytes.each(1, in: store, seed: 1) { _ in
            let faults = try faults("backup")
            #expect(faults.count == 1)
            #expect(faults.first?.hasPrefix("\(store) is damaged or was changed") == true)
        }
        #expect(try faults("backup") == [])
        // A log that ends before the stores go on, although every file is whole.
        try FileManager.default.removeItem(atPath: "\(workspace.path)/backup/log.sqlite")
        let other = try EmbeddedLog(path: "\(workspace.path)/backup/log.sqlite", mode: .create)
        try other.createTopic("bids", partitionCount: 4)
        #expect(try !faults("backup").isEmpty)
        #expect(throws: CommandError.self) { try BackupVerification(directory: data) { _ in } }
    }

    /// What verification throws after a change of `backup.json`, and what it says otherwise.
    private func words(_ change: (inout String) -> Void) throws -> String {
        let path = "\(workspace.path)/backup/backup.json"
        let before = try String(contentsOfFile: path, encoding: .utf8)
        defer { try? Data(before.utf8).write(to: URL(fileURLWithPath: path)) }
        var after = before
        change(&after)
        try Data(after.utf8).write(to: URL(fileURLWithPath: path))
        do { return try faults("backup").joined(separator: "\n") } catch let error as CommandError {
            return error.explanation ?? ""
        }
    }

    @Test(
        "a list of files that is not what was written is refused in words that say what and where")
    func damagedList() throws {
        try publish("bids", try ExampleDay.records(of: "bids").prefix(50))
        try fold(data)
        let manifest = try backUp(to: "backup")
        let digest = try #require(manifest.digest)
        #expect(try words { _ in } == "")
        let path = "\(workspace.path)/backup/backup.json"
        for (change, expected) in [
            ({ $0 = String($0.dropLast(20)) }, "it is not JSON"),
            ({ $0 = "[]" }, "it is not a JSON object"), ({ $0 = "{}" }, "it has no version"),
            ({ $0.replace("\"files\"", with: "\"file\"") }, "it has no files"),
            (
                { $0.replace("\"kind\" : \"log\"", with: "\"kind\" : \"lag\"") },
                "files.1.kind has an unknown value"
            ),
            ({ $0.replace("\"sha256\"", with: "\"sha255\"") }, "it has no files.0.sha256"),
            (
                { $0.replace("\"at_ms\" : ", with: "\"at_ms\" : \"x\", \"y\" : ") },
                "at_ms has the wrong type"
            ),
            ({ $0.replace(digest, with: "sha256:0") }, "its own checksum"),
            ({ $0.replace("\"data\" : \"", with: "\"data\" : \"x") }, "its own checksum"),
            ({ $0.replace("\"checksum\"", with: "\"checksam\"") }, "its own checksum"),
            ({ $0 += " " }, "its own checksum"),
            ({ $0.replace("\"version\" : 2", with: "\"version\" : 3") }, "has version 3"),
        ] as [((inout String) -> Void, String)] {
            let said = try words(change)
            #expect(said.hasPrefix(path) && said.contains(expected), "\(expected): \(said)")
            #expect(!said.contains("Context") && !said.contains("CodingKey"), "\(said)")
        }
    }

    @Test(
        "a list of an earlier version, without a checksum of itself, is taken, and nothing else of it is"
    )
    func earlierList() throws {
        try publish("bids", try ExampleDay.records(of: "bids").prefix(50))
        try fold(data)
        let manifest = try backUp(to: "backup")
        let digest = try #require(manifest.digest)
        func earlier(_ text: inout String) {
            text.replace(#/ *"checksum" : "[0-9a-f]+",\n/#, with: "")
            text.replace("\"version\" : 2", with: "\"version\" : 1")
        }
        #expect(try words(earlier) == "")
        for (change, expected) in [
            ({ $0.replace("\"digest\" : \"\(digest)\",", with: "") }, "but not their digest"),
            (
                { $0.replace("\"log.sqlite\"", with: "\"../data/log.sqlite\"") },
                "is not a path in the backup"
            ),
            (
                { $0.replace("\"log.sqlite\"", with: "\"/log.sqlite\"") },
                "is not a path in the backup"
            ),
            ({ $0.replace("\"log.sqlite\"", with: "\"bids.sqlite\"") }, "twice"),
            (
                { $0.replace(#/"files" : \[.*\]/#.dotMatchesNewlines(), with: "\"files\" : []") },
                "no file"
            ),
        ] as [((inout String) -> Void, String)] {
            let said = try words {
                earlier(&$0)
                change(&$0)
            }
            #expect(said.contains(expected), "\(expected): \(said)")
        }
    }

    @Test("a file that is not listed is named, since it would be restored")
    func unlisted() throws {
        try publish("bids", try ExampleDay.records(of: "bids").prefix(50))
        try fold(data)
        _ = try backUp(to: "backup")
        let sets = "\(workspace.path)/backup/sets/7"
        try FileManager.default.createDirectory(atPath: sets, withIntermediateDirectories: true)
        #expect(try faults("backup") == [])
        for name in ["impressions.sqlite", "bids.sqlite-wal", "sets/7/bids.sqlite"] {
            let path = "\(workspace.path)/backup/\(name)"
            try Data("x".utf8).write(to: URL(fileURLWithPath: path))
            let faults = try faults("backup")
            #expect(faults.first?.hasPrefix("\(path) is not listed") == true, "\(faults)")
            try FileManager.default.removeItem(atPath: path)
        }
        #expect(try faults("backup") == [], "nothing that verification does leaves a file")
    }

    @Test("a file that was emptied is refused by name, and nothing is left of the backup")
    func emptied() throws {
        for name in ["deliveries.sqlite", "conversions.sqlite"] {
            try workspace.write("", to: "data/\(name)")
            let path = "\(data)/\(name)"
            #expect(throws: StoreError.emptied(path: path)) { try backUp(to: "backup") }
            #expect(try FileManager.default.contentsOfDirectory(atPath: workspace.path) == ["data"])
            try FileManager.default.removeItem(atPath: path)
        }
        #expect(try backUp(to: "backup").files.map(\.name) == ["log.sqlite"])
    }

    @Test("a file that was empty when an earlier version copied it is named")
    func emptiedBefore() throws {
        let empty = try workspace.write("", to: "empty.sqlite")
        for (name, kind) in [
            ("corrections.sqlite", .corrections), ("deliveries.sqlite", .deliveries),
            ("conversions.sqlite", .conversions),
        ] as [(String, BackupManifest.Kind)] {
            let backup = "\(workspace.path)/\(kind.rawValue)"
            try FileManager.default.createDirectory(
                atPath: backup, withIntermediateDirectories: true)
            try FileCopy.write(empty, to: "\(backup)/\(name)")
            var manifest = BackupManifest(atMilliseconds: 1, data: data)
            try manifest.add(name, kind, in: backup)
            try DurableFile.replace("\(backup)/backup.json", with: manifest.encoded())
            let fault = StoreError.emptied(path: "\(backup)/\(name)").description
            #expect(try faults(kind.rawValue) == [fault])
        }
    }

    @Test("promoted stores are copied from where they are, and the copy finds them")
    func promotedSets() throws {
        try publish("bids", try ExampleDay.records(of: "bids"))
        try fold(data)
        let outside = "\(workspace.path)/outside"
        try FileManager.default.createDirectory(atPath: outside, withIntermediateDirectories: true)
        try FileManager.default.moveItem(
            atPath: "\(data)/bids.sqlite", toPath: "\(outside)/bids.sqlite")
        var sets = try PromotionJournal(directory: data)
        try sets.append(
            StorePromotion(
                atMilliseconds: 1, kind: .promote,
                streams: [
                    "bids": .init(to: outside, from: "."),
                    "costs": .init(to: ".", from: "sets/1"),
                ]))
        let manifest = try backUp(to: "backup")
        #expect(manifest.files.map(\.name).contains("sets/2/bids.sqlite"), "not in another's place")
        try FileManager.default.removeItem(atPath: outside)
        #expect(try faults("backup") == [])
        #expect(
            try OpenStores(directories: ["\(workspace.path)/backup"]).digest() == manifest.digest)
    }

    @Test("no backup is taken while corrections are sent, and none are sent while one is taken")
    func corrections() throws {
        let workspace = try Workspace()
        try workspace.configurePostbacks()
        try workspace.publishPostbacks("t1", "t2")
        try workspace.foldPostbacks()
        try workspace.write(
            Samples.modelFile, Samples.model.replacing("max: 100", with: "max: 200"))
        try workspace.replay(["postbacks"], workspace.order(mode: .present))
        try workspace.promote()
        func copy(show: @escaping (String) -> Void = { _ in }) throws {
            var writer = try BackupWriter(
                data: "\(workspace.path)/data", logPath: "\(workspace.path)/log.sqlite",
                target: "\(workspace.path)/backup", show: show)
            _ = try writer.write()
        }
        let sent = try workspace.sendCorrections {
            let error = #expect(throws: CommandError.self) { try copy() }
            let words = error?.explanation ?? ""
            #expect(words.contains("(process \(getpid())): wait"), "\(words)")
        }
        #expect(sent == 2)
        var refusals = 0
        try copy { text in
            guard text == "copying log.sqlite ..." else { return }
            #expect(throws: PromotionError.self) { try workspace.sendCorrections() }
            refusals += 1
        }
        #expect(refusals == 1)
        let verification = try BackupVerification(directory: "\(workspace.path)/backup") { _ in }
        #expect(verification.faults == [])
        // The set lies outside of the data directory.
        #expect(try workspace.corrections("backup/sets/1").map(\.state) == [.sent, .sent])
        #expect(try workspace.sendCorrections() == 0)
    }
}
