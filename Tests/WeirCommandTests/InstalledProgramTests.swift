import Foundation
import Streams
import TestKit
import Testing

@testable import weir

@Suite("An installed program", .serialized)
struct InstalledProgramTests {
    @Test("one executable is each program, by the name of the link that starts it")
    func names() throws {
        let place = try TemporaryDirectory()
        let names = ["weir"] + ProgramNames.others.map { $0.programName }
        #expect(names.count == 10 && Set(names).count == 10)
        for name in names {
            let link = "\(place.path)/\(name)"
            try FileManager.default.createSymbolicLink(
                atPath: link, withDestinationPath: "\(try Program.directory())/weir")
            let help = try Program.run(link, ["--help"])
            #expect(help.output.contains("USAGE: \(name) "), "\(name)")
            #expect(help.output == (try Program.run(name, ["--help"])).output, "\(name)")
        }
        #expect(ProgramNames.program(startedAs: "/usr/bin/weir") == nil)
        #expect(ProgramNames.program(startedAs: nil) == nil)
    }

    @Test("the package installs these names")
    func packaged() throws {
        let listed = try Program.run(Repository.path("ops/packaging/programs"), [])
        let names = ["weir"] + ProgramNames.others.map { $0.programName }
        #expect(Set(listed.output.split(separator: "\n").map(String.init)) == Set(names))
    }

    @Test("the demo, its numbers and a worker run in an empty directory")
    func emptyDirectory() throws {
        let place = try TemporaryDirectory()
        let ran = try Program.shell(
            """
            cd \(place.path) && unset WEIR_PIPELINES WEIR_TOPICS WEIR_DATA WEIR_LOG && weir demo --data demo --days 3 --scale 0.1 >demo.txt \
            && weir dump postbacks --data demo --by verdict && weir topics apply && weir-bids --until-end \
            && weir check
            """)
        #expect(ran.status == 0, "\(ran.error)\(ran.output)")
        #expect(ran.output.contains("valid "))
        #expect(ran.output.contains("created  bids (4 partitions)"))
        #expect(ran.output.contains("ok: reads the configuration "))
    }

    @Test("weir up runs in an empty directory, and says that its configuration is an example")
    func up() throws {
        let place = try TemporaryDirectory()
        let program = try Program(
            "/bin/sh",
            [
                "-c",
                """
                cd \(place.path) && unset WEIR_PIPELINES WEIR_TOPICS WEIR_DATA WEIR_LOG && \
                exec \(try Program.directory())/weir up --listen 127.0.0.1:0
                """,
            ])
        _ = try program.port(after: "up: http://127.0.0.1:")
        #expect(try program.stop() == 0)
        if !FileManager.default.fileExists(atPath: "/etc/weir/pipelines") {
            #expect(program.error.contains("weir init"), "\(program.error)")
        }
        #expect(FileManager.default.fileExists(atPath: place.path + "/data/log.sqlite"))
    }

    @Test("completions know dumps, columns, measures and profiles, and are not wrapped")
    func completions() throws {
        for shell in ["bash", "zsh", "fish"] {
            let script = try Program.run("weir", ["--generate-completion-script", shell])
            #expect(script.status == 0)
            #expect(script.output.contains("fraud-signals"), "\(shell)")
            #expect(script.output.contains("appsflyer"), "\(shell)")
            #expect(script.output.contains { $0.isNewline })
            let longest = script.output.split(separator: "\n").map(\.count).max() ?? 0
            #expect(longest > 80, "\(shell)")
        }
        let words = ["weir", "dump", "bids", "--by", "seat,c"]
        let asked = try Program.run(
            "weir", ["---completion", "dump", "--", "--by", "4", "6"] + words)
        let offered = asked.output.split(separator: "\n").map(String.init)
        #expect(offered.contains("seat,campaign"), "\(asked.output)\(asked.error)")
        #expect(!offered.contains("seat,seat"))
        #expect(!offered.contains("seat,wins"), "a measure groups nothing")
        let measures = try Program.run(
            "weir",
            [
                "---completion", "dump", "--", "--measures", "4", "1", "weir", "dump", "bids",
                "--measures", "w",
            ])
        #expect(measures.output.split(separator: "\n").contains("wins"))
    }

    @Test("the version is that of the changelog's newest release")
    func version() throws {
        let version = try Program.run(Repository.path("ops/packaging/version"), []).output
        let heading = try Repository.text("CHANGELOG.md").firstMatch(of: /(?m)^## (\S+) \((\S+)\)/)
        #expect(heading.map { "\($0.1)\n" } == version)
        #expect(version == (try Program.run("weir", ["--version"])).output)
    }
}
