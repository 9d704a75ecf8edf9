import EventLog
import GRDB

/// Bounds, times and committed offsets of a reader's topic.
extension EmbeddedLogReader {
    func partitionCount() throws(LogError) -> Int32 { Int32(partitions.count) }

    func bounds(of numbers: [Int32]) throws(LogError) -> [PartitionBounds] {
        for number in numbers { _ = try partition(number) }
        return try connection.reading("read", log.address) { db in
            try requireSameTopic(db)
            return try EmbeddedPartition.all(db, topic: topic)
                .filter { numbers.contains($0.partition) }
                .map { row in
                    PartitionBounds(
                        partition: row.partition, earliestOffset: row.earliestOffset,
                        endOffset: row.endOffset)
                }
        }
    }

    func offset(
        partition number: Int32,
        atOrAfter timestampMilliseconds: Int64
    ) throws(LogError) -> Int64? {
        let ref = try partition(number).ref
        return try connection.reading("read", log.address) { db in
            try requireSameTopic(db)
            var block = try Self.block(db, ref, from: 0, timestampMilliseconds)
            while let candidate = block {
                if let offset = try Self.offset(db, ref, in: candidate, timestampMilliseconds) {
                    return offset
                }
                // The record with that time was trimmed.
                block = try Self.block(db, ref, from: candidate + 1, timestampMilliseconds)
            }
            return nil
        }
    }

    /// Nil when the partition is empty.
    func lastOffset(partition number: Int32) throws(LogError) -> Int64? {
        let ref = try partition(number).ref
        return try connection.reading("read", log.address) { db in
            try EmbeddedPartition.lastRecord(
                db, ref: ref, of: TopicPartition(topic: topic, partition: number),
                address: log.address)?.offset
        }
    }

    func committedOffsets() throws(LogError) -> [Int32: GroupOffset] {
        guard let group else { return [:] }
        return try connection.reading("read", log.address) { db in
            try requireSameTopic(db)
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT partition, next_offset FROM topics
                    JOIN partitions ON topic_id = id JOIN group_offsets USING (ref)
                    WHERE name = ? AND consumer_group = ?
                    """,
                arguments: [topic, group]
            )
            return Dictionary(
                uniqueKeysWithValues: rows.map { ($0["partition"], GroupOffset($0["next_offset"])) }
            )
        }
    }

    func commit(_ offsets: [Int32: GroupOffset]) throws(LogError) {
        guard let group, !offsets.isEmpty else { return }
        var changes: [(ref: Int64, next: Int64)] = []
        for (number, offset) in offsets {
            changes.append((try partition(number).ref, offset.next))
        }
        try connectionForCommits().transaction("commit offsets to") { db in
            try requireSameTopic(db)
            for change in changes {
                try db.execute(
                    sql: """
                        INSERT INTO group_offsets (consumer_group, ref, next_offset)
                        VALUES (?, ?, ?)
                        ON CONFLICT DO UPDATE SET next_offset = excluded.next_offset
                        """,
                    arguments: [group, change.ref, change.next]
                )
            }
        }
    }

    private func connectionForCommits() throws(LogError) -> EmbeddedWriteConnection {
        if let writing { return writing }
        let opened = try log.openForWriting()
        writing = opened
        return opened
    }

    /// The first block at or after `from` that ever held a record with that time or a later one.
    private static func block(
        _ db: Database,
        _ ref: Int64,
        from: Int64,
        _ timestampMilliseconds: Int64
    ) throws -> Int64? {
        try Int64.fetchOne(
            db,
            sql: """
                SELECT block FROM times WHERE ref = ? AND block >= ? AND latest_ms >= ?
                ORDER BY block LIMIT 1
                """,
            arguments: [ref, from, timestampMilliseconds]
        )
    }

    private static func offset(
        _ db: Database,
        _ ref: Int64,
        in block: Int64,
        _ timestampMilliseconds: Int64
    ) throws -> Int64? {
        let first = block << EmbeddedSchema.blockBits
        let next = first + 1 << EmbeddedSchema.blockBits
        return try Int64.fetchOne(
            db,
            sql: """
                SELECT position & ? FROM records
                WHERE position >= ? AND position < ? AND timestamp_ms >= ?
                ORDER BY position LIMIT 1
                """,
            arguments: [
                EmbeddedSchema.offsetLimit - 1,
                EmbeddedSchema.position(ref: ref, offset: first),
                EmbeddedSchema.position(ref: ref, offset: next),
                timestampMilliseconds,
            ]
        )
    }
}
