import GRDB
import Streams

/// A folded record with what tells it from any other one in its place: a rung of the ladder by which a log is
/// recognised.
package struct Rung: Hashable, Sendable {
    /// The partition that it lies in.
    package var partition: Int32
    /// Its offset.
    package var offset: Int64
    /// What it was, as `RecordView.fingerprint` says it.
    package var fingerprint: String

    /// Describes a record.
    package init(partition: Int32, offset: Int64, fingerprint: String) {
        self.partition = partition
        self.offset = offset
        self.fingerprint = fingerprint
    }
}

extension PartitionState {
    /// The last folded record; nil when none was.
    package var lastRung: Rung? {
        guard !lastRecord.isEmpty else { return nil }
        return Rung(partition: partition, offset: nextOffset - 1, fingerprint: lastRecord)
    }
}

extension StoreSnapshot {
    /// So many hours before the last one are looked at.
    private static let steps = [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512]

    /// A few folded records of a partition at or after an offset, in order: the last one, the first of the
    /// last hour, the last ones of hours further and further back, and the oldest that is known.
    ///
    /// - Parameter hours: of so many last hours none is left out.
    package func rungs(
        of state: PartitionState, from offset: Int64, hours: Int = 0
    ) throws -> [Rung] {
        var rungs = Set([state.lastRung].compactMap { $0 })
        for step in Set(Self.steps).union(0..<hours).sorted() {
            let row = try Row.fetchOne(
                db.cachedStatement(
                    sql: """
                        SELECT * FROM hours WHERE partition = ? ORDER BY hour DESC LIMIT 1 OFFSET ?
                        """),
                arguments: [state.partition, step])
            guard let row else { break }
            rungs.insert(Self.last(row))
            if step == 0 { rungs.insert(Self.first(row)) }
        }
        let oldest = try Row.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT * FROM hours WHERE partition = ? AND first_offset >= ?
                    ORDER BY hour LIMIT 1
                    """),
            arguments: [state.partition, offset])
        if let oldest { rungs.insert(Self.first(oldest)) }
        return rungs.filter { $0.offset >= offset && !$0.fingerprint.isEmpty }
            .sorted { $0.offset < $1.offset }
    }

    /// All folded records of a partition that are told from others, in order: the first and the last of
    /// each hour, and the last of all.
    package func ladder(of state: PartitionState) throws -> [Rung] {
        var rungs = Set([state.lastRung].compactMap { $0 })
        let rows = try Row.fetchCursor(
            db, sql: "SELECT * FROM hours WHERE partition = ?", arguments: [state.partition])
        while let row = try rows.next() { rungs.formUnion([Self.first(row), Self.last(row)]) }
        return rungs.filter { !$0.fingerprint.isEmpty }.sorted { $0.offset < $1.offset }
    }

    private static func first(_ row: Row) -> Rung {
        Rung(
            partition: row["partition"], offset: row["first_offset"],
            fingerprint: row["first_record"])
    }

    private static func last(_ row: Row) -> Rung {
        Rung(
            partition: row["partition"], offset: row["last_offset"],
            fingerprint: row["last_record"])
    }
}
