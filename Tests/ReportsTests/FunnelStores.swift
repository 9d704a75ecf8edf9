import ConfigurationFiles
import ConfigurationValues
import ConversionModels
import Foundation
import GRDB
import Reports
import Store
import Streams
import TestKit

/// Stores with rows that a test writes, and a catalog.
final class FunnelStores {
    let sample = SampleStores()
    private(set) var catalog = Catalog()
    private let hour = "2026-11-21T05:00:00Z"

    /// 2026-11-21T05:00:00Z.
    static let morning = SampleStores.noon - 7 * SampleStores.hour

    func setCatalog(_ text: String) throws {
        let directory = sample.directory("pipelines")
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: URL(filePath: "\(directory)/catalog.yaml"))
        catalog = try PipelineDirectory(directory).catalog()
    }

    /// A store of bids with these rows: columns that are not given are empty.
    func bids(_ rows: [String: Any]...) throws {
        if !FileManager.default.fileExists(atPath: try path("bids")) { try sample.foldBids([]) }
        for row in rows { try insert(row, into: BidsFold.tables[0], of: "bids") }
    }

    /// A store of postbacks with these rows of `postbacks`, folded up to an instant.
    func postbacks(watermark: Int64 = SampleStores.noon, _ rows: [String: Any]...) throws {
        try begin(watermark)
        for row in rows {
            let defaults: [String: Any] = [
                "framework": "skadnetwork", "version": "4.0", "conversion_type": "download",
                "did_win": 1, "verdict": "valid", "postbacks": 1,
            ]
            try insert(defaults.merging(row) { $1 }, into: PostbacksFold.tables[0], of: "postbacks")
        }
    }

    /// Rows of another table of the store of postbacks.
    func decoded(_ name: String, _ rows: [String: Any]...) throws {
        try begin(nil)
        guard let table = PostbacksFold.tables.first(where: { $0.name == name }) else { return }
        for row in rows {
            let defaults = ["has_source_identifier": 1].merging(row) { $1 }
            try insert(defaults, into: table, of: "postbacks")
        }
    }

    /// The models that were in force when the postbacks were folded.
    func record(_ models: [ConversionModel]) throws {
        let texts = models.map(\.canonicalText).joined(separator: ",")
        try sample.change(
            "UPDATE epochs SET configuration = '{\"models\":[\(texts)]}'", stream: "postbacks")
    }

    /// Rows of `conversion-values`.
    func conversionValues(_ rows: [String: Any]...) throws {
        try begin(nil)
        for row in rows { try insert(row, into: ConversionValuesKey.table, of: "postbacks") }
    }

    /// A store of a stream with these rows of its aggregate: columns that are not given are empty.
    func store(_ name: String, _ rows: [String: Any]...) throws {
        guard let stream = Streams.stream(named: name), let table = stream.tables.first else {
            return
        }
        _ = try AggregateStore(
            path: path(name), fold: stream, topic: name, logIdentity: "log", partitionCount: 4)
        for row in rows { try insert(row, into: table, of: name) }
    }

    func funnel(
        by: String? = nil, where conditions: [(String, String)] = [],
        date: ReportRequest.DateRule = .arrival, since: Int64? = nil, until: Int64? = nil,
        trustsDevelopment: Bool = false, estimates: Bool = false, in zone: ReportTimeZone = .utc,
        apps: [String: Int64] = ["com.example": 1], directories: [String] = ["data"]
    ) throws -> Funnel {
        var request = ReportRequest(
            name: "funnel", grouping: try by.map { try ReportRequest.Grouping($0) } ?? .all,
            sinceMilliseconds: since, untilMilliseconds: until,
            conditions: conditions.map { .init(column: $0.0, value: $0.1) })
        request.dateRule = date
        request.estimates = estimates
        request.timeZone = zone
        return try OpenStores(directories: directories.map(sample.directory)).funnel(
            request,
            ReportConfiguration(
                catalog: catalog, trustsDevelopment: trustsDevelopment, appsByBundle: apps))
    }

    private func path(_ stream: String) throws -> String {
        try OpenStores.path(of: stream, in: sample.directory("data"))
    }

    private func begin(_ watermark: Int64?) throws {
        if !FileManager.default.fileExists(atPath: try path("postbacks")) {
            try sample.foldPostbacks([.losingPostback(0)])
        }
        if let watermark {
            try sample.change(
                "UPDATE partitions SET watermark_ms = \(watermark)", stream: "postbacks")
        }
    }

    private func insert(
        _ row: [String: Any], into table: AggregateTable, of stream: String
    ) throws {
        if stream != "postbacks" {
            try sample.change(
                "INSERT OR IGNORE INTO partitions VALUES (0, 0, 0, 1, 0, 0, 0, 0, 0, 0, '')",
                stream: stream)
        }
        let columns = table.columns.dropFirst()
        let keys = columns.map { literal(row[$0.name] ?? ($0.kind == .text ? "" : 0) as Any) }
        let sums = table.measures.map { literal(row[$0] ?? 0) }
        let midnight = row["day"].map { "\($0)" == "" ? "" : "\($0)T00:00:00Z" }
        let begin = midnight ?? row["hour"] ?? hour
        let workspace = "(\(row["partition"] ?? 0), \(literal(begin)))"
        let names = columns.map(\.name).joined(separator: ", ")
        try sample.change(
            """
            INSERT OR IGNORE INTO slots (partition, hour) VALUES \(workspace);
            INSERT OR IGNORE INTO \(table.sqlName)_keys (\(names)) VALUES (\(keys.joined(separator: ", ")));
            INSERT INTO \(table.sqlName)_sums
            SELECT slot << 32 | key, \(sums.joined(separator: ", ")) FROM slots, \(table.sqlName)_keys
            WHERE (partition, hour) = \(workspace) AND (\(names)) = (\(keys.joined(separator: ", ")))
            """, stream: stream)
    }

    private func literal(_ value: Any) -> String { value is String ? "'\(value)'" : "\(value)" }
}

extension Funnel {
    /// The values of some columns of each row, in the form of CSV.
    func rows(_ columns: String...) -> [[String]] {
        let indices = columns.compactMap { name in table.columns.firstIndex { $0.name == name } }
        return table.rows.map { row in indices.map { row[$0].plainText } }
    }

    var lines: [String] { table.text(as: .ndjson).split(separator: "\n").map(String.init) }
}
