import GRDB

extension EmbeddedLog {
    /// So many offsets are deleted in one transaction, so that appends need not wait long.
    private static let trimChunk: Int64 = 4096

    /// Deletes the records of a partition below an offset, and returns the earliest offset that is
    /// then left: at most the end of the partition, and never less than before.
    ///
    /// Works in pieces that appends may come between; what an interrupted trim has deleted stays
    /// deleted. The file keeps its size, and its free pages are used by later appends.
    ///
    /// Throws `unknownTopic` or `unknownPartition`, and what any write throws.
    @discardableResult
    package func trim(
        topic: String,
        partition: Int32,
        before offset: Int64
    ) throws(LogError) -> Int64 {
        let connection = try openForWriting()
        try Self.sweepDeletedTopics(connection)
        var earliest: Int64 = 0
        var isDone = false
        while !isDone {
            (earliest, isDone) = try connection.transaction("trim") { db in
                let row = try EmbeddedPartition.find(
                    db,
                    topic: topic,
                    partition: partition,
                    address: address
                )
                let target = min(offset, row.endOffset)
                let reached = try Self.deleteChunk(db, of: row, before: target)
                return (reached, reached >= target)
            }
        }
        return earliest
    }

    /// Removes what is left of deleted topics.
    static func sweepDeletedTopics(_ connection: EmbeddedWriteConnection) throws(LogError) {
        var isDone = false
        while !isDone {
            isDone = try connection.transaction("delete old records from") { db in
                guard let row = try EmbeddedPartition.deleted(db) else { return true }
                guard try deleteChunk(db, of: row, before: row.endOffset) >= row.endOffset else {
                    return false
                }
                for table in ["times", "group_offsets", "partitions"] {
                    try db.execute(sql: "DELETE FROM \(table) WHERE ref = ?", arguments: [row.ref])
                }
                return false
            }
        }
    }

    /// Deletes the oldest records below `target`, at most a chunk, and says up to where.
    private static func deleteChunk(
        _ db: Database,
        of row: EmbeddedPartition,
        before target: Int64
    ) throws -> Int64 {
        guard row.earliestOffset < target else { return row.earliestOffset }
        let reached = min(row.earliestOffset + trimChunk, target)
        try db.execute(
            sql: "DELETE FROM records WHERE position >= ? AND position < ?",
            arguments: [
                EmbeddedSchema.position(ref: row.ref, offset: row.earliestOffset),
                EmbeddedSchema.position(ref: row.ref, offset: reached),
            ]
        )
        try db.execute(
            sql: "DELETE FROM times WHERE ref = ? AND block < ?",
            arguments: [row.ref, reached >> EmbeddedSchema.blockBits]
        )
        try db.execute(
            sql: "UPDATE partitions SET earliest_offset = ? WHERE ref = ?",
            arguments: [reached, row.ref]
        )
        return reached
    }
}
