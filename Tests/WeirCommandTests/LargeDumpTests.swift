import Foundation
import GRDB
import TestKit
import Testing

@testable import weir

/// A store of bids with many rows, which were never folded.
final class LargeStore {
    let workspace: Workspace
    var data: String { "\(workspace.path)/data" }

    /// - Parameter rows: of different keys, in one hour.
    init(rows: Int) throws {
        workspace = try Workspace()
        try workspace.publishAuctions("a")
        try workspace.foldBids()
        try workspace.execute(
            """
            INSERT INTO bids_keys SELECT 1000 + value, 'seat-' || value, 'network-' || (value % 97) || '.example',
                CAST(value % 9999 AS TEXT), value % 50 + 1, value % 1000, '4.0', 'USD'
            FROM (WITH RECURSIVE n(value) AS (SELECT 0 UNION ALL SELECT value + 1 FROM n WHERE value < \(rows - 1)) SELECT value FROM n)
            """.replacing(
                "INSERT INTO bids_keys SELECT",
                with: "INSERT INTO bids_keys (\(try columns())) SELECT"),
            stream: "bids")
        let measures = try workspace.texts(
            "SELECT name FROM pragma_table_info('bids_sums') WHERE name <> 'number'", stream: "bids"
        )
        let slot = try #require(
            try workspace.integer("SELECT max(slot) FROM slots", stream: "bids"))
        try workspace.execute(
            """
            INSERT INTO bids_sums (number, \(measures.joined(separator: ", ")))
            SELECT (\(slot) << 32) | key, \(measures.map { _ in "key" }.joined(separator: ", "))
            FROM bids_keys WHERE key >= 1000
            """, stream: "bids")
    }

    private func columns() throws -> String {
        try workspace.texts("SELECT name FROM pragma_table_info('bids_keys')", stream: "bids")
            .joined(separator: ", ")
    }

    /// Runs `weir` with its output to a file, and returns the largest memory that it took, in MiB.
    func run(_ arguments: [String], to path: String) throws -> (mebibytes: Int, status: Int32) {
        _ = FileManager.default.createFile(atPath: path, contents: nil)
        let output = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        let program = try Program(
            "weir", arguments + ["--data", data, "--pipelines", workspace.pipelines], output: output
        )
        var largest = 0
        while program.process.isRunning {
            largest = max(largest, Self.peak(of: program.process.processIdentifier))
            Thread.sleep(forTimeInterval: 0.02)
        }
        return (largest, program.status)
    }

    /// The largest memory of a process so far, in MiB.
    static func peak(of process: Int32) -> Int {
        let status = (try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)) ?? ""
        let kibibytes = status.firstMatch(of: #/VmHWM:\s*(\d+) kB/#).flatMap { Int($0.1) }
        return (kibibytes ?? 0) / 1024
    }
}

@Suite("Large dumps", .timeLimit(.minutes(15)))
struct LargeDumpTests {
    private static let rows = 150_000
    /// Held whole, each row takes about two kilobytes.
    private static let mostMebibytes = 220

    @Test("are written in bounded memory by the command, and by the dashboard, the same bytes")
    func memory() throws {
        let store = try LargeStore(rows: Self.rows)
        let file = "\(store.workspace.path)/rows.ndjson"
        let (mebibytes, status) = try store.run(["dump", "bids", "--format", "ndjson"], to: file)
        #expect(status == 0)
        #expect(mebibytes < Self.mostMebibytes, "the command took \(mebibytes) MiB")
        let written = try Data(contentsOf: URL(fileURLWithPath: file))
        let lines = written.withUnsafeBytes { $0.count { $0 == 0x0A } }
        #expect(lines == Self.rows + 2)

        let program = try Program(
            "weir",
            [
                "dashboard", "--listen", "127.0.0.1:0", "--data", store.data, "--pipelines",
                store.workspace.pipelines,
            ])
        let port = try program.port(after: "dashboard: http://127.0.0.1:")
        let columns =
            "hour,seat,ad_network_id,campaign,app_id,source_app_id,skan_version,currency"
        let (body, isWhole) = try Self.download(
            port, "/dump/bids.ndjson?by=\(columns)")
        try #require(isWhole)
        // What differs in so many bytes would be looked for longer than the test may take.
        let isSame = body == written
        #expect(isSame)
        let page = try Self.download(port, "/dump/bids?by=\(columns)")
        let notice = Data("149,002 more rows are in the files below.".utf8)
        #expect(page.body.range(of: notice) != nil)
        let peak = LargeStore.peak(of: program.process.processIdentifier)
        #expect(peak < Self.mostMebibytes + 60, "the dashboard took \(peak) MiB")
        #expect(try program.stop() == 0)
    }

    /// The body of an answer, and whether it came to its end.
    static func download(_ port: UInt16, _ target: String) throws -> (body: Data, isWhole: Bool) {
        let files = try TemporaryDirectory()
        let curl = Process()
        curl.executableURL = URL(fileURLWithPath: "/usr/bin/curl")
        curl.arguments = [
            "-s", "-o", "\(files.path)/body", "--max-time", "300",
            "http://127.0.0.1:\(port)\(target)",
        ]
        try Spawning.apart { try curl.run() }
        curl.waitUntilExit()
        let body = try Data(contentsOf: URL(fileURLWithPath: "\(files.path)/body"))
        return (body, curl.terminationStatus == 0)
    }
}
