import Crypto
import Dispatch
import Foundation
import JSON
import Store
import Streams

extension OpenStores {
    /// One digest for all contents of the stores: equal for equal logs and configurations, independent of how the
    /// records were folded.
    ///
    /// SHA-256 of lines. First come the rows of every dump: its name, a space, the row as JSON without `detail`, sorted
    /// as bytes. Then for each stream and partition: the next offset, the remembered ids, the documents for partners,
    /// and the configurations that were in force.
    ///
    /// - Returns: `sha256:` and 64 hex digits.
    /// - Throws: `noStore` without any store.
    package func digest() throws(InspectionError) -> String {
        try view(of: Self.streams) { view in
            var lines = HashedLines()
            for description in DumpDescription.stored
            where !view.streams.isDisjoint(with: description.streams) {
                if case .aggregate(let table) = description.source {
                    try view.hashRows(of: table, streams: description.streams, into: &lines)
                } else {
                    let figure = try DumpFigure(
                        ReportRequest(name: description.name), of: description)
                    for row in Self.rows(of: try view.dump(figure)) {
                        lines.add("\(description.name) ", row)
                    }
                }
            }
            for stream in Self.streams { try view.hashPartitions(of: stream, into: &lines) }
            return lines.finish()
        }
    }

    /// The rows of a dump without the descriptive texts, sorted as bytes.
    private static func rows(of dump: Dump) -> [[UInt8]] {
        let table = dump.reportColumns.map(\.name)
        let indices = table.indices.filter { table[$0] != "detail" }
        let objects = JSONObjects(indices.map { table[$0] })
        let rows = dump.rows.map { row in
            let values = dump.values(of: row)
            var text: [UInt8] = []
            objects.append(indices.map { values[$0] }, to: &text)
            return text
        }
        return rows.sorted { $0.lexicographicallyPrecedes($1) }
    }
}

extension StoreView {
    /// Hashes the rows of an aggregate hour by hour, so that only a few hours are in memory. Other threads format their
    /// lines while the next hours are read.
    fileprivate func hashRows(
        of table: AggregateTable, streams: [String], into lines: inout HashedLines
    ) throws {
        let slices = slices.filter { streams.contains($0.stream) }
        let keys = try HashedKeys(table, slices)
        // In the order of the lines, which begin with the hour or its day.
        let hours = try slices.reduce(into: Set<String>()) {
            $0.formUnion(try $1.snapshot.hourTexts())
        }.sorted {
            ($0 + "\"").utf8.lexicographicallyPrecedes(($1 + "\"").utf8)
        }
        var starts = keys.noStarts
        var pending: [WrittenLines] = []
        for hour in hours {
            let rows = try keys.rows(in: hour, slices, starts: &starts)
            guard !rows.keys.isEmpty else { continue }
            if pending.count == WrittenLines.limit { lines.add(pending.removeFirst().wait()) }
            pending.append(WrittenLines { keys.lines(of: rows, in: hour) })
        }
        for written in pending { lines.add(written.wait()) }
    }

    fileprivate func hashPartitions(of stream: String, into lines: inout HashedLines) throws {
        // A partition without folded records has a start offset only, which does not describe its records.
        var partitions: [(snapshot: StoreSnapshot, state: PartitionState)] = []
        for slice in slices where slice.stream == stream {
            for state in slice.partitions where state.records > 0 {
                partitions.append((slice.snapshot, state))
            }
        }
        partitions.sort { $0.state.partition < $1.state.partition }
        for (snapshot, state) in partitions {
            let partition = "\(stream) \(state.partition)"
            lines.add("\(partition) next_offset \(state.nextOffset)")
            try snapshot.forEachRememberedID(of: state) {
                lines.add("\(partition) id ", Array($0.utf8))
            }
            for id in try snapshot.outboxIDs(of: state.partition) {
                lines.add("\(partition) outbox \(id)")
            }
            // A worker may have started with a configuration and folded nothing.
            for epoch in try snapshot.epochs(of: state.partition)
            where epoch.fromOffset < state.nextOffset {
                lines.add("\(partition) epoch \(epoch.fromOffset) \(epoch.configuration.hash)")
            }
        }
    }
}

/// The keys of an aggregate in some stores, each as the text that follows the time in the lines of its rows.
private struct HashedKeys: Sendable {
    /// Indices of keys, in order, and the sums of all measures of each.
    struct Rows: Sendable {
        fileprivate(set) var keys: [Int32] = []
        fileprivate var sums: [Int128] = []
        /// The unknown sums of each key, as bits.
        fileprivate var unknown: [UInt64] = []
    }

    private let table: AggregateTable
    private let objects: JSONObjects
    private let columnCount: Int
    /// In the order of the lines. Keys that differ only in hidden columns are merged.
    private let texts: [[UInt8]]
    /// For each store, the index of each of its keys, by number.
    private let ranks: [[Int32]]

    init(_ table: AggregateTable, _ slices: [StoreSlice]) throws {
        // The first column is the time.
        let shown = table.columns.indices.filter { table.columns[$0].isDefault }
        let objects = JSONObjects(shown.map { table.columns[$0].name } + table.measures)
        var numbers: [[UInt8]: [(store: Int, key: Int)]] = [:]
        for (store, slice) in slices.enumerated() {
            try slice.snapshot.forEachKey(of: table) { key, columns in
                let values = shown.dropFirst().map { table.columns[$0].reportValue(columns[$0]) }
                let text = objects.text(of: values, from: 1)
                numbers[text, default: []].append((store, Int(key)))
            }
        }
        self.table = table
        self.objects = objects
        columnCount = shown.count
        let sorted = numbers.sorted { $0.key.lexicographicallyPrecedes($1.key) }
        texts = sorted.map(\.key)
        var ranks: [[Int32]] = slices.map { _ in [] }
        for (rank, entry) in sorted.enumerated() {
            for (store, key) in entry.value {
                while ranks[store].count <= key { ranks[store].append(-1) }
                ranks[store][key] = Int32(rank)
            }
        }
        self.ranks = ranks
    }

    /// Where the sums of each key begin; -1 for none.
    var noStarts: [Int32] { [Int32](repeating: -1, count: texts.count) }

    /// The nonzero sums of an hour's rows, and the unknown ones.
    ///
    /// - Parameter starts: equals `noStarts` on entry and on return.
    func rows(
        in hour: String, _ slices: [StoreSlice], starts: inout [Int32]
    ) throws -> Rows {
        let count = table.measures.count
        var keys: [Int32] = []
        var sums: [Int128] = []
        var unknown: [Int32: UInt64] = [:]
        for (store, slice) in slices.enumerated() {
            try slice.snapshot.forEachRow(of: table, partitions: slice.numbers, inHour: hour) {
                key, row in
                let rank = Int(ranks[store][Int(key)])
                if row.unknown != 0 { unknown[Int32(rank), default: 0] |= row.unknown }
                if starts[rank] < 0 {
                    starts[rank] = Int32(sums.count)
                    keys.append(Int32(rank))
                    for amount in row.amounts { sums.append(Int128(amount)) }
                } else {
                    let start = Int(starts[rank])
                    for (index, amount) in row.amounts.enumerated() {
                        sums[start + index] += Int128(amount)
                    }
                }
            }
        }
        var rows = Rows()
        keys.sort()
        for key in keys {
            let start = Int(starts[Int(key)])
            starts[Int(key)] = -1
            let row = sums[start..<start + count]
            let bits = unknown[key] ?? 0
            guard bits != 0 || row.contains(where: { $0 != 0 }) else { continue }
            rows.keys.append(key)
            rows.sums += row
            rows.unknown.append(bits)
        }
        return rows
    }

    /// The lines of an hour's rows, in order.
    func lines(of rows: Rows, in hour: String) -> [UInt8] {
        let time = table.hasDays ? String(hour.prefix { $0 != "T" }) : hour
        let begin = Array("\(table.name) ".utf8) + objects.text(of: [.text(time)], from: 0)
        var lines: [UInt8] = []
        let count = table.measures.count
        for (index, key) in rows.keys.enumerated() {
            lines += begin
            lines += texts[Int(key)]
            let sums = rows.sums[index * count..<(index + 1) * count]
            if rows.unknown[index] == 0 {
                objects.append(integers: sums, from: columnCount, to: &lines)
            } else {
                let exact = ExactSums(Array(sums), unknown: rows.unknown[index])
                objects.append(exact.map(\.reportValue), from: columnCount, to: &lines)
            }
            lines.append(UInt8(ascii: "}"))
            lines.append(UInt8(ascii: "\n"))
        }
        return lines
    }
}

/// Lines that another thread writes.
///
/// `@unchecked Sendable`: one thread writes, and the lines are read once, after that thread has left the group.
private final class WrittenLines: @unchecked Sendable {
    /// The maximum number in memory.
    static let limit = 2 * ProcessInfo.processInfo.activeProcessorCount

    private let group = DispatchGroup()
    private var lines: [UInt8] = []

    init(_ write: @escaping @Sendable () -> [UInt8]) {
        DispatchQueue.global().async(group: group) { self.lines = write() }
    }

    func wait() -> [UInt8] {
        group.wait()
        return lines
    }
}

private struct HashedLines {
    private var hash = SHA256()

    mutating func add(_ line: String, _ rest: [UInt8] = []) {
        hash.update(data: line.utf8 + rest + [UInt8(ascii: "\n")])
    }

    /// Adds whole lines.
    mutating func add(_ lines: [UInt8]) {
        hash.update(data: lines)
    }

    consuming func finish() -> String {
        "sha256:" + hash.finalize().hexDigits
    }
}
