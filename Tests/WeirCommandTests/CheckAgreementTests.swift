import EventLog
import Foundation
import GRDB
import History
import TestKit
import Testing

@testable import weir

/// What `weir check` finds is what the other commands and programs find.
@Suite("weir check agrees with everything else")
struct CheckAgreementTests {
    private func check(_ workspace: UpWorkspace, _ more: String...) throws -> Program {
        try workspace.weir(
            ["check", "--data", workspace.data, "--pipelines", workspace.pipelines, "--topics"]
                + [Repository.path("topics")] + more)
    }

    private func lines(_ program: Program, _ begin: String) -> [String] {
        program.output.split(separator: "\n").filter { $0.hasPrefix(begin) }.map(String.init)
    }

    @Test(
        "a configuration that weir up refuses is wrong, in the same words",
        arguments: ["costs.yaml", "partner-postbacks.yaml", "bids.yaml"])
    func missingFile(_ name: String) throws {
        let workspace = try UpWorkspace()
        #expect(try check(workspace).status == 0)
        try FileManager.default.removeItem(atPath: "\(workspace.pipelines)/\(name)")
        let found = try check(workspace)
        #expect(found.status == 1)
        let wrong = lines(found, "wrong: ")
        #expect(
            wrong.count == 1 && wrong[0].contains("\(name): the file does not exist"),
            "\(found.output)")
        let up = try workspace.weir(
            "up", "--listen", "127.0.0.1:0", "--data", workspace.data, "--pipelines",
            workspace.pipelines,
            "--topics", Repository.path("topics"))
        #expect(up.status == 1)
        #expect(up.error.contains(wrong[0].dropFirst("wrong: ".count)), "\(up.error)")
        // Programs that run one by one do without it.
        #expect(try check(workspace, "--separate").status == 0)
    }

    @Test("topics and collector that weir up refuses are wrong, with no log yet")
    func otherFiles() throws {
        let workspace = try UpWorkspace()
        try workspace.files.write("asyncapi: 3.0.0\n", to: "topics/bids.yaml")
        let topics = workspace.files.path + "/topics"
        let found = try workspace.weir(
            "check", "--data", workspace.data, "--pipelines", workspace.pipelines, "--topics",
            topics)
        #expect(found.status == 1 && lines(found, "wrong: ").count == 1, "\(found.output)")
        let up = try workspace.weir(
            "up", "--listen", "127.0.0.1:0", "--data", workspace.data, "--pipelines",
            workspace.pipelines,
            "--topics", topics)
        #expect(up.status == 1 && up.error.contains("bids.yaml has no channels"), "\(up.error)")
        #expect(!FileManager.default.fileExists(atPath: workspace.log))
        try workspace.files.write("token_keys: [{id: a}]\n", to: "pipelines/collector.yaml")
        #expect(try check(workspace).status == 1)
        let refused = try workspace.weir(
            "up", "--listen", "127.0.0.1:0", "--data", workspace.data, "--pipelines",
            workspace.pipelines,
            "--topics", Repository.path("topics"))
        #expect(refused.status == 1 && refused.error.contains("collector.yaml:1"))
    }

    @Test(
        "without watch.yaml the page Warnings says that nothing is watched, and so does weir check")
    func missingWatch() throws {
        let workspace = try UpWorkspace()
        let found = try check(workspace)
        #expect(lines(found, "ok: Weir watches nothing").count == 1, "\(found.output)")
        let source = try Installation.parse([
            "--data", try ExampleStores.shared.get().data, "--pipelines", workspace.pipelines,
        ])
        let page = try PageAsker(source: source).page("/warnings")
        #expect(page.status == 200)
        #expect(page.text.contains("watch.yaml does not exist"))
    }

    @Test(
        "a watch.yaml that links to nothing is wrong to check, watch and up alike")
    func danglingWatch() throws {
        let workspace = try UpWorkspace()
        try FileManager.default.createSymbolicLink(
            atPath: workspace.pipelines + "/watch.yaml", withDestinationPath: "/nowhere/watch.yaml")
        let words =
            "\(workspace.pipelines)/watch.yaml: cannot be read (No such file or directory): allow this user to read it"
        #expect(lines(try check(workspace), "wrong: \(words)").count == 1)
        for command in [["watch"], ["up", "--topics", Repository.path("topics")]] {
            let ran = try workspace.weir(
                command + ["--data", workspace.data, "--pipelines", workspace.pipelines])
            #expect(ran.status == 1)
            #expect(ran.error.contains(words), "\(ran.error)")
        }
    }

    @Test("a damaged store is wrong, and what it says of numbers is what a dump does")
    func damagedStore() throws {
        let workspace = try UpWorkspace()
        let published = try workspace.weir(
            "publish", "--topic", "bids", Repository.path("examples/bids.ndjson"), "--topics",
            Repository.path("topics"), "--data", workspace.data)
        #expect(published.status == 0, "\(published.error)")
        #expect(
            try Program.shell(
                "weir-bids --until-end --data \(workspace.data) --pipelines \(workspace.pipelines)"
            ).status == 0)
        // A page of the rejected records: the dump of bids does not read it, that of rejected records does.
        let path = workspace.data + "/bids.sqlite"
        let queue = try DatabaseQueue(path: path)
        let (page, size) = try queue.inDatabase { db in
            try db.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)")
            return (
                try Int.fetchOne(
                    db, sql: "SELECT rootpage FROM sqlite_schema WHERE name = 'refused'"),
                try Int.fetchOne(db, sql: "PRAGMA page_size")
            )
        }
        try queue.close()
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        let offset = try UInt64(#require(page) - 1) * UInt64(#require(size)) + 100
        try file.seek(toOffset: offset)
        try file.write(contentsOf: Data([0xAA, 0x55, 0xAA]))
        try file.close()
        let found = try check(workspace)
        let wrong = lines(found, "wrong: \(path) is damaged")
        #expect(found.status == 1 && wrong.count == 1, "\(found.output)")
        #expect(wrong.first?.contains("other numbers can") == true)
        let bids = try workspace.weir("dump", "bids", "--by", "total", "--data", workspace.data)
        #expect(bids.status == 0 && !bids.output.isEmpty, "\(bids.error)")
        let rejected = try workspace.weir(
            "dump", "rejected", "--by", "reason", "--data", workspace.data)
        #expect(rejected.status == 1 && rejected.error.contains("is damaged"), "\(rejected.error)")
    }

    @Test("a -wal that a reader keeps from being written back is warned of")
    func writeAheadLog() throws {
        let workspace = try UpWorkspace()
        let path = workspace.data + "/bids.sqlite"
        try FileManager.default.createDirectory(
            atPath: workspace.data, withIntermediateDirectories: true)
        let queue = try DatabaseQueue(path: path)
        try queue.inDatabase { db in
            try db.execute(sql: "PRAGMA journal_mode = WAL; CREATE TABLE t (v BLOB)")
        }
        func warnings() throws -> [String] {
            lines(try check(workspace, "--quick"), "warning: ").filter { $0.contains("-wal has") }
        }
        #expect(try warnings().isEmpty)
        let reader = try DatabaseQueue(path: path)
        try reader.inDatabase { db in
            try db.execute(sql: "BEGIN; SELECT * FROM t")
            _ = try Row.fetchAll(db, sql: "SELECT * FROM t")
            try queue.inDatabase {
                for _ in 0..<40 {
                    try $0.execute(sql: "INSERT INTO t VALUES (randomblob(1 << 20))")
                }
            }
            let found = try warnings()
            #expect(found.count == 1)
            #expect(found.first?.contains("\(path)-wal has 4") == true, "\(found)")
            try db.execute(sql: "COMMIT")
        }
    }

    @Test(
        "what is not a regular file is an error at once, in whatever place of the configuration",
        arguments: [
            "bids.yaml", "catalog.yaml", "collector.yaml", "watch.yaml",
            "partners/acme.yaml", "costs/own.yaml", "conversion-models/525463029.yaml",
            "reports/daily.yaml",
        ])
    func notRegular(_ name: String) throws {
        let workspace = try UpWorkspace()
        let path = "\(workspace.pipelines)/\(name)"
        let directory = (path as NSString).deletingLastPathComponent
        for (make, kind) in [("mkfifo", "a FIFO"), ("mkdir", "a directory")] {
            let made = try Program.shell(
                "mkdir -p \(directory) && rm -rf \(path) && \(make) \(path)")
            #expect(made.status == 0)
            let began = ContinuousClock.now
            let found = try check(workspace)
            #expect(found.status == 1)
            #expect(
                found.output.contains("\(name): is not a regular file but \(kind)"),
                "\(found.output)")
            #expect(began.duration(to: .now) < .seconds(30))
        }
        guard name == "bids.yaml" else { return }
        let worker = try Program.run(
            "weir-bids", ["--data", workspace.data, "--pipelines", workspace.pipelines])
        #expect(worker.status == 1 && worker.error.contains("is not a regular file"))
    }

    @Test("a FIFO is read where data is asked for")
    func dataFromPipes() throws {
        let workspace = try UpWorkspace()
        let program = try Program.shell(
            """
            cd \(workspace.files.path) && mkfifo records postback &&
            (cat \(Repository.path("examples/bids.ndjson")) > records &
            weir publish --topic bids records --data data --topics \(Repository.path("topics"))) &&
            (cat \(Repository.path("examples/requests/postback-4.0.json")) > postback & weir verify postback)
            """)
        #expect(program.status == 0, "\(program.error)")
        #expect(program.output.contains("verdict: valid"))
    }

    @Test("a limit on the size of files is an error that names the file and the limit")
    func fileSizeLimit() throws {
        let workspace = try UpWorkspace()
        let value = String(repeating: "x", count: 100_000)
        let lines = (0..<40).map { #"{"key":"\#($0)","text":"\#(value)"}"# }
        let file = try workspace.files.write(lines.joined(separator: "\n"), to: "lines.ndjson")
        let limited = try Program.shell(
            "ulimit -f 2000; weir publish --topic bids \(file) --data \(workspace.data) --topics "
                + Repository.path("topics"))
        #expect(limited.process.terminationReason == .exit && limited.status == 1)
        #expect(
            limited.error.contains("log.sqlite")
                && limited.error.contains("the limit of this process is 1024000 bytes"),
            "\(limited.error)")
    }
}
