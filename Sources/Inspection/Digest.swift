import AggregateStore
import Crypto

extension StoreSet {
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
                let dump = try view.dump(DumpPlan(stored: description))
                lines.add(description.name, Self.rows(of: dump))
            }
            for stream in Self.streams { try view.hashPartitions(of: stream, into: &lines) }
            return lines.finish()
        }
    }

    /// The rows of a dump without the texts for people, sorted as bytes.
    private static func rows(of dump: Dump) -> [[UInt8]] {
        let json = DumpRowJSON(dump, leavingOut: ["detail"])
        let rows = dump.rows.map { row in
            var text: [UInt8] = []
            json.append(row, to: &text)
            return text
        }
        return rows.sorted { $0.lexicographicallyPrecedes($1) }
    }
}

extension StoreView {
    fileprivate func hashPartitions(of stream: String, into lines: inout HashedLines) throws {
        let partitions = copies.filter { $0.stream == stream }
            .flatMap { copy in copy.partitions.map { (copy.snapshot, $0) } }
            .sorted { $0.1.partition < $1.1.partition }
        for (snapshot, state) in partitions {
            let place = "\(stream) \(state.partition)"
            lines.add("\(place) next_offset \(state.nextOffset)")
            for id in try snapshot.rememberedIDs(of: state) { lines.add("\(place) id \(id)") }
            for id in try snapshot.outboxIDs(of: state.partition) {
                lines.add("\(place) outbox \(id)")
            }
            for epoch in try snapshot.epochs(of: state.partition) {
                lines.add("\(place) epoch \(epoch.fromOffset) \(epoch.configuration.hash)")
            }
        }
    }
}

/// A hash of lines.
private struct HashedLines {
    private var hash = SHA256()

    mutating func add(_ line: String) {
        var line = line + "\n"
        line.withUTF8 { hash.update(bufferPointer: UnsafeRawBufferPointer($0)) }
    }

    mutating func add(_ name: String, _ rows: [[UInt8]]) {
        for row in rows {
            hash.update(data: Array("\(name) ".utf8))
            hash.update(data: row)
            hash.update(data: [UInt8(ascii: "\n")])
        }
    }

    consuming func finish() -> String {
        let digits = hash.finalize().map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
        return "sha256:" + digits.joined()
    }
}
