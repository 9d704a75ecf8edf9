import Foundation
import GRDB

extension EmbeddedLog {
    /// Names of topics as Kafka allows them, so that a log can move there.
    private static let longestName = 249
    /// So many partitions a topic at most.
    private static let mostPartitions: Int32 = 10_000

    /// Creates a topic unless it exists; says whether it was created. An existing topic is left as it
    /// is.
    ///
    /// - Parameters:
    ///   - name: 1 to 249 of `a-z A-Z 0-9 . _ -`, and neither `.` nor `..`.
    ///   - partitionCount: 1 to 10,000.
    ///   - settings: nothing is made of them.
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
                detail: "a topic has a name of 1 to \(Self.longestName) of a-z A-Z 0-9 . _ - "
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

    /// Notes a topic, without partitions, unless it is there; says whether it was not.
    static func insertTopic(_ name: String, identity: String, in db: Database) throws -> Bool {
        let createdMilliseconds = Int64(Date().timeIntervalSince1970 * 1000)
        try db.execute(
            sql: """
                INSERT INTO topics (name, identity, created_ms) VALUES (?, ?, ?)
                ON CONFLICT DO NOTHING
                """,
            arguments: [name, identity, createdMilliseconds]
        )
        return db.changesCount == 1
    }

    /// Adds empty partitions to a topic.
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
                detail: "the log has had too many partitions; begin a new one"
            )
        }
    }

    /// Nil: an embedded log has no settings.
    package func settings(ofTopic name: String) throws(LogError) -> [String: String]? { nil }

    /// Deletes a topic with its records and its consumer groups' offsets; says whether there was one.
    ///
    /// The topic is gone at once; its records then go piece by piece. If that is interrupted, the next
    /// deletion or trim goes on with it.
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
