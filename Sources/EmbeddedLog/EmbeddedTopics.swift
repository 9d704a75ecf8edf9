import EventLog
import Foundation
import GRDB

extension EmbeddedLog {
    /// Names follow Kafka's rules, so that a log can move there.
    private static let longestName = 249
    private static let mostPartitions: Int32 = 10_000

    /// Creates a topic unless it exists; returns whether it was created. Never changes an existing topic.
    ///
    /// - Parameters:
    ///   - name: 1 to 249 of `a-z A-Z 0-9 . _ -`, except `.` and `..`.
    ///   - partitionCount: 1 to 10,000.
    ///   - settings: ignored.
    @discardableResult
    package func createTopic(
        _ name: String, partitionCount: Int32, settings: [String: String]
    ) throws(LogError) -> Bool {
        if try topics().contains(where: { $0.name == name }) { return false }
        let operation = "create topic '\(name)' in"
        guard Self.isLegalName(name), (1...Self.mostPartitions).contains(partitionCount) else {
            throw .backend(
                operation: operation,
                address: address,
                detail:
                    "a topic needs a name of 1 to \(Self.longestName) characters from a-z A-Z 0-9 . _ - "
                    + "and 1 to \(Self.mostPartitions) partitions"
            )
        }
        let connection = try openForWriting()
        return try connection.transaction(operation) { db in
            let identity = try String.fetchOne(db, sql: "SELECT lower(hex(randomblob(16)))")
            guard try Self.insertTopic(name, identity: identity ?? "", in: db) else { return false }
            try Self.addPartitions(0..<partitionCount, to: name, in: db, address: address)
            return true
        }
    }

    /// Inserts a topic without partitions; returns whether it is new.
    static func insertTopic(_ name: String, identity: String, in db: Database) throws -> Bool {
        let createdMilliseconds = WallClock.milliseconds
        try db.execute(
            sql: """
                INSERT INTO topics (name, identity, created_ms) VALUES (?, ?, ?)
                ON CONFLICT DO NOTHING
                """,
            arguments: [name, identity, createdMilliseconds]
        )
        return db.changesCount == 1
    }

    static func addPartitions(
        _ partitions: Range<Int32>, to topic: String, in db: Database, address: String
    ) throws {
        for partition in partitions {
            try db.execute(
                sql: """
                    INSERT INTO partitions (topic_id, partition, earliest_offset, end_offset)
                    SELECT id, ?, 0, 0 FROM topics WHERE name = ?
                    """,
                arguments: [partition, topic]
            )
        }
        guard partitions.isEmpty || db.lastInsertedRowID < EmbeddedSchema.refLimit else {
            throw LogError.backend(
                operation: "create topic '\(topic)' in",
                address: address,
                detail: "the log has had too many partitions; create a new log"
            )
        }
    }

    package func settings(ofTopic name: String) throws(LogError) -> [String: String]? { nil }

    /// Deletes a topic with its records and the offsets of its consumer groups; returns whether it existed.
    ///
    /// The topic disappears at once and its records piece by piece. After an interruption the next deletion or trim
    /// continues.
    @discardableResult
    package func deleteTopic(_ name: String) throws(LogError) -> Bool {
        let connection = try openForWriting()
        let existed = try connection.transaction("delete topic '\(name)' from") { db in
            try db.execute(
                sql: """
                    UPDATE partitions SET topic_id = NULL
                    WHERE topic_id = (SELECT id FROM topics WHERE name = ?)
                    """,
                arguments: [name]
            )
            try db.execute(sql: "DELETE FROM topics WHERE name = ?", arguments: [name])
            return db.changesCount == 1
        }
        try Self.sweepDeletedTopics(connection)
        return existed
    }

    private static func isLegalName(_ name: String) -> Bool {
        guard (1...longestName).contains(name.utf8.count), name != ".", name != ".." else {
            return false
        }
        return name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "-"):
                true
            default: false
            }
        }
    }
}

extension EmbeddedLog {
    /// The lowest offset from which keys, headers and values together have at most `limit` bytes; the end of the
    /// partition if the last record alone has more.
    ///
    /// Throws `unknownTopic` or `unknownPartition`.
    package func offset(
        topic: String, partition: Int32, keepingBytes limit: Int64
    ) throws(LogError) -> Int64 {
        try connection.reading("read", address) { db in
            let row = try EmbeddedPartition.find(
                db, topic: topic, partition: partition, address: address)
            // SQLite reads the length of a column without its overflow pages.
            let sizes = try Row.fetchCursor(
                db,
                sql: """
                    SELECT position & ?, coalesce(length(key), 0) + coalesce(length(headers), 0)
                      + coalesce(length(value), 0)
                    FROM records WHERE position >= ? AND position < ? ORDER BY position DESC
                    """,
                arguments: [
                    EmbeddedSchema.offsetLimit - 1,
                    EmbeddedSchema.position(ref: row.ref, offset: row.earliestOffset),
                    EmbeddedSchema.position(ref: row.ref, offset: row.endOffset),
                ])
            var sum: Int64 = 0
            while let size = try sizes.next() {
                sum += size[1] as Int64
                if sum > limit { return (size[0] as Int64) + 1 }
            }
            return row.earliestOffset
        }
    }

    /// Committed offsets of a topic, by consumer group and partition.
    package func groupOffsets(ofTopic topic: String) throws(LogError) -> [String: [Int32: Int64]] {
        try connection.reading("read", address) { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT consumer_group, partition, next_offset FROM topics
                    JOIN partitions ON topic_id = id JOIN group_offsets USING (ref)
                    WHERE name = ?
                    """,
                arguments: [topic]
            ).reduce(into: [:]) { groups, row in
                groups[row["consumer_group"], default: [:]][row["partition"]] = row["next_offset"]
            }
        }
    }
}

extension EmbeddedLog {
    /// Offsets deleted in one transaction; the bound limits how long appends wait.
    private static let trimChunk: Int64 = 4096

    /// Deletes the records of a partition below an offset. Returns the earliest remaining offset, which never
    /// decreases and is at most the end of the partition.
    ///
    /// It works in pieces, so that others can append between them. An interrupted trim keeps its progress. The file
    /// keeps its size, and later appends reuse its free pages.
    ///
    /// Throws `unknownTopic` or `unknownPartition`, and the errors of every write.
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

    /// Removes the remaining records of deleted topics.
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

    /// Deletes the oldest records below `target`, at most a chunk, and returns where it stopped.
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
