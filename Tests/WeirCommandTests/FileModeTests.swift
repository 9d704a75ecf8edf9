import Foundation
import TestKit
import Testing

@Suite("Modes of files")
struct FileModeTests {
    /// Modes below a directory, by path; itself is `.`.
    private func modes(_ directory: String) throws -> [String: Int] {
        let manager = FileManager.default
        let paths = try [""] + manager.subpathsOfDirectory(atPath: directory)
        return try paths.reduce(into: [:]) { modes, path in
            let attributes = try manager.attributesOfItem(atPath: "\(directory)/\(path)")
            let mode = try #require(attributes[.posixPermissions] as? Int)
            let isDirectory = attributes[.type] as? FileAttributeType == .typeDirectory
            modes[isDirectory ? path + "/" : path] = mode
        }
    }

    /// Lets the programs make everything that they make: log, stores, deliveries, corrections, conversions, sets,
    /// an archive, a backup, evidence, a key.
    private func makeAll(_ workspace: TemporaryDirectory, under prefix: String) throws {
        try FileManager.default.copyItem(
            atPath: Repository.path("pipelines"), toPath: "\(workspace.path)/pipelines")
        let shared = "--topics \(Repository.path("topics")) --data new/data"
        let program = try Program.shell(
            """
            cd \(workspace.path) && \(prefix) set -e
            weir publish --topic postbacks \(Repository.path("examples/postbacks.ndjson")) \(shared)
            weir-postbacks --data new/data --until-end
            weir-partner-postbacks --data new/data --until-end
            weir archive --topic postbacks --from sqlite:new/data/log.sqlite --to sqlite:new/archive/a.sqlite
            weir replay --topic postbacks --into new/data/sets/a --data new/data
            weir promote new/data/sets/a --data new/data
            weir backup new/backup --data new/data
            weir evidence postbacks --where verdict=valid --out new/evidence.tar --data new/data
            weir token new-key --out new/keys/k1
            weir up --data new/up --topics \(Repository.path("topics")) --listen 127.0.0.1:0 &
            for turn in $(seq 600); do [ -s new/up/costs.sqlite ] && [ -s new/up/conversions.sqlite ] && break; sleep 0.1; done
            sleep 0.5; ls -lR new > listed
            kill %1 || kill $!; wait $! || true
            """)
        try #require(program.status == 0, "\(program.error)")
    }

    @Test(
        "only the owner has access to what the programs make, whatever mask they are started with",
        arguments: ["000", "0777"])
    func owner(_ mask: String) throws {
        let workspace = try TemporaryDirectory()
        try makeAll(workspace, under: "umask \(mask); weir --version >&2; umask \(mask);")
        let modes = try modes("\(workspace.path)/new").filter { $0.key != "/" }
        #expect(modes.count > 30)
        for (path, mode) in modes {
            #expect(mode == (path.hasSuffix("/") ? 0o700 : 0o600), "\(path)")
        }
        // While `weir up` worked: its locks, -wal and -shm files.
        let listed = try String(contentsOfFile: "\(workspace.path)/listed", encoding: .utf8)
        #expect(listed.contains("-wal") && listed.contains("-shm") && listed.contains(".lock"))
        for line in listed.split(separator: "\n") where line.contains(".sqlite") {
            #expect(line.hasPrefix("-rw------- "), "\(line)")
        }
    }

    @Test("with --group, or WEIR_GROUP, the owning group reads and enters")
    func group() throws {
        for (prefix, option) in [("export WEIR_GROUP=1;", ""), ("", "--group")] {
            let workspace = try TemporaryDirectory()
            let program = try Program.shell(
                """
                cd \(workspace.path) && umask 000; \(prefix)
                weir publish --topic bids \(Repository.path("examples/bids.ndjson")) --data new/data \
                    --topics \(Repository.path("topics")) \(option) &&
                weir-bids --data new/data --until-end --pipelines \(Repository.path("pipelines")) \(option)
                """)
            #expect(program.status == 0, "\(program.error)")
            for (path, mode) in try modes("\(workspace.path)/new") {
                #expect(mode == (path.hasSuffix("/") ? 0o750 : 0o640), "\(path)")
            }
        }
    }

    @Test("files and directories that exist keep their modes")
    func existing() throws {
        let workspace = try TemporaryDirectory()
        let program = try Program.shell(
            """
            cd \(workspace.path) && mkdir -m 755 data && weir publish --topic bids --data data \
                --topics \(Repository.path("topics")) \(Repository.path("examples/bids.ndjson")) &&
            chmod 644 data/log.sqlite && weir-bids --data data --until-end \
                --pipelines \(Repository.path("pipelines"))
            """)
        #expect(program.status == 0, "\(program.error)")
        let modes = try modes("\(workspace.path)/data")
        #expect(modes["/"] == 0o755)
        #expect(modes["log.sqlite"] == 0o644)
        #expect(modes["bids.sqlite"] == 0o600)
    }

    @Test("weir check warns of stores and logs that other users can read, and only of these")
    func readers() throws {
        let workspace = try TemporaryDirectory()
        let made = try Program.shell(
            "cd \(workspace.path) && weir publish --topic bids --data data --topics "
                + "\(Repository.path("topics")) \(Repository.path("examples/bids.ndjson"))")
        #expect(made.status == 0, "\(made.error)")
        func warnings(_ change: String) throws -> [Substring] {
            try Program.shell("cd \(workspace.path) && \(change) weir check --quick --data data")
                .output.split(separator: "\n").filter { $0.contains("other users") }
        }
        #expect(try warnings("chmod 755 . data && ").isEmpty)
        let found = try warnings("chmod 644 data/log.sqlite && ")
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix("warning: data/log.sqlite: ") == true)
        #expect(found.first?.hasSuffix("chmod o= data/log.sqlite") == true)
        #expect(try warnings("chmod 750 data && ").isEmpty)
    }
}
