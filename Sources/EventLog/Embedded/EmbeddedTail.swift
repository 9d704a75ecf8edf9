import GRDB

/// Where a partition ends within a transaction that appends to it, and what of it is to be written back.
struct EmbeddedTail {
    private(set) var partition: EmbeddedPartition
    private let endBefore: Int64
    /// The block of the time index that the last record fell into, with its largest timestamp.
    private var block: Int64 = -1
    private var latestMilliseconds = Int64.min

    init(_ partition: EmbeddedPartition) {
        self.partition = partition
        endBefore = partition.endOffset
    }

    /// Moves the end behind a record.
    mutating func append(
        offset: Int64, timestampMilliseconds: Int64, in db: Database
    ) throws {
        let block = offset >> EmbeddedSchema.blockBits
        if block != self.block {
            try writeTime(in: db)
            self.block = block
            latestMilliseconds = timestampMilliseconds
        } else if timestampMilliseconds > latestMilliseconds {
            latestMilliseconds = timestampMilliseconds
        }
        partition.endOffset = offset + 1
    }

    /// Moves the end over offsets of no record; never back.
    mutating func extend(to end: Int64) {
        partition.endOffset = max(partition.endOffset, end)
    }

    /// Writes back what has changed.
    func write(in db: Database) throws {
        guard partition.endOffset > endBefore else { return }
        try writeTime(in: db)
        try db.cachedStatement(sql: "UPDATE partitions SET end_offset = ? WHERE ref = ?")
            .execute(arguments: [partition.endOffset, partition.ref])
    }

    private func writeTime(in db: Database) throws {
        guard block >= 0 else { return }
        try db.cachedStatement(
            sql: """
                INSERT INTO times (ref, block, latest_ms) VALUES (?, ?, ?)
                ON CONFLICT DO UPDATE SET latest_ms = max(latest_ms, excluded.latest_ms)
                """
        ).execute(arguments: [partition.ref, block, latestMilliseconds])
    }
}
