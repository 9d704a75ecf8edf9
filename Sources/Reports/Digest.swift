import Crypto
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
                try view.forEachDump(of: number) { dump in
                    for row in Self.rows(of: dump) { lines.add("\(description.name) ", row) }
                }
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
    /// Calls `body` with a dump hour by hour, in order of the lines that begin with the hour, so that only the
    /// rows of one are in memory; refused records come at once.
    fileprivate func forEachDump(
        of number: DumpNumber, _ body: (Dump) throws -> Void
    ) throws {
        guard number.selection.columns.first?.kind == .hour else {
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

private struct HashedLines {
    private var hash = SHA256()

    mutating func add(_ line: String, _ rest: [UInt8] = []) {
        hash.update(data: Array(line.utf8) + rest + [UInt8(ascii: "\n")])
    }

    consuming func finish() -> String {
        "sha256:" + hash.finalize().hexDigits
    }
}
