import Crypto
import Dispatch
import Foundation
import JSON
import Store

extension OpenStores {
    /// One text for all that the stores hold: equal for equal logs and configurations, however the
    /// records were folded.
    ///
    /// SHA-256 of lines: the rows of every dump (its name, a space, the row as JSON without `detail`,
    /// sorted as bytes), then for each stream and partition the next offset, the ids that are
    /// remembered, what is for partners, and the configurations that were in force.
    ///
    /// - Returns: `sha256:` and 64 hex digits.
    /// - Throws: `noStore` when there is no store at all.
    package func digest() throws(InspectionError) -> String {
        try view(of: Self.streams) { view in
            var lines = HashedLines()
            for description in DumpDescription.stored
            where !view.streams.isDisjoint(with: description.streams) {
                let number = try DumpNumber(DumpQuery(name: description.name), of: description)
                let written = WrittenDumps { lines.add("\(description.name) ", $0) }
                try view.forEachDump(of: number) { dump in
                    written.add { Self.rows(of: dump) }
                }
                written.finish()
            }
            for stream in Self.streams { try view.hashPartitions(of: stream, into: &lines) }
            return lines.finish()
        }
    }

    /// The rows of a dump without the texts for people, sorted as bytes.
    private static func rows(of dump: Dump) -> [[UInt8]] {
        let table = dump.reportColumns.map(\.name)
        let places = table.indices.filter { table[$0] != "detail" }
        let objects = JSONObjects(places.map { table[$0] })
        let rows = dump.rows.map { row in
            let values = dump.values(of: row)
            var text: [UInt8] = []
            objects.append(places.map { values[$0] }, to: &text)
            return text
        }
        return rows.sorted { $0.lexicographicallyPrecedes($1) }
    }
}

extension StoreView {
    /// Calls `body` with a dump hour by hour, in order of the lines that begin with the hour or its day, so that only
    /// the rows of one are in memory; refused records come at once.
    fileprivate func forEachDump(
        of number: DumpNumber, _ body: (Dump) throws -> Void
    ) throws {
        guard number.selection.columns.first?.kind.isTime == true else {
            return try body(try dump(number))
        }
        let hours = try slices.filter { number.streams.contains($0.stream) }
            .reduce(into: Set<String>()) { $0.formUnion(try $1.snapshot.hourTexts()) }
        for hour in hours.sorted(by: {
            ($0 + "\"").utf8.lexicographicallyPrecedes(($1 + "\"").utf8)
        }) {
            try body(try dump(number, whereHour: { $0 == hour }))
        }
    }

    fileprivate func hashPartitions(of stream: String, into lines: inout HashedLines) throws {
        let partitions = slices.filter { $0.stream == stream }
            .flatMap { slice in slice.partitions.map { (slice.snapshot, $0) } }
            .sorted { $0.1.partition < $1.1.partition }
        for (snapshot, state) in partitions {
            let partition = "\(stream) \(state.partition)"
            lines.add("\(partition) next_offset \(state.nextOffset)")
            for id in try snapshot.rememberedIDs(of: state) { lines.add("\(partition) id \(id)") }
            for id in try snapshot.outboxIDs(of: state.partition) {
                lines.add("\(partition) outbox \(id)")
            }
            for epoch in try snapshot.epochs(of: state.partition) {
                lines.add("\(partition) epoch \(epoch.fromOffset) \(epoch.configuration.hash)")
            }
        }
    }
}

/// Writes the rows of dumps on all cores while the next dump is read, and hands them on in order.
private final class WrittenDumps {
    /// Written by one thread, and read after it has left the group.
    private final class Rows: @unchecked Sendable {
        let group = DispatchGroup()
        var rows: [[UInt8]] = []
    }

    /// How many dumps are in memory at most.
    private static let limit = 2 * ProcessInfo.processInfo.activeProcessorCount

    private let body: ([UInt8]) -> Void
    private var pending: [Rows] = []

    init(_ body: @escaping ([UInt8]) -> Void) { self.body = body }

    func add(_ rows: @escaping @Sendable () -> [[UInt8]]) {
        if pending.count == Self.limit { takeFirst() }
        let written = Rows()
        DispatchQueue.global().async(group: written.group) { written.rows = rows() }
        pending.append(written)
    }

    func finish() {
        while !pending.isEmpty { takeFirst() }
    }

    private func takeFirst() {
        let first = pending.removeFirst()
        first.group.wait()
        for row in first.rows { body(row) }
    }
}

private struct HashedLines {
    private var hash = SHA256()

    mutating func add(_ line: String, _ rest: [UInt8] = []) {
        hash.update(data: Array(line.utf8) + rest + [UInt8(ascii: "\n")])
    }

    consuming func finish() -> String {
        "sha256:" + hash.finalize().hexDigits
    }
}
