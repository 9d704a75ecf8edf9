import GRDB

/// A row of `partitions`.
struct EmbeddedPartition {
    /// What its records' row numbers begin with.
    var ref: Int64
    /// Number of the partition, from 0.
    var partition: Int32
    /// Records below were trimmed away.
    var earliestOffset: Int64
    /// The offset that the next record gets.
    var endOffset: Int64

    private init(_ row: Row) {
        ref = row["ref"]
        partition = row["partition"]
        earliestOffset = row["earliest_offset"]
        endOffset = row["end_offset"]
    }

    /// The partitions of a topic in order of their numbers; none when it does not exist.
    static func all(_ db: Database, topic: String) throws -> [EmbeddedPartition] {
        let statement = try db.cachedStatement(
            sql: """
                SELECT ref, partition, earliest_offset, end_offset
                FROM topics JOIN partitions ON topic_id = id WHERE name = ? ORDER BY partition
                """
        )
        return try Row.fetchAll(statement, arguments: [topic]).map(EmbeddedPartition.init)
    }

    /// One partition of a topic. Throws `unknownTopic` or `unknownPartition`.
    static func find(
        _ db: Database,
        topic: String,
        partition: Int32,
        address: String
    ) throws -> EmbeddedPartition {
        let partitions = try all(db, topic: topic)
        guard !partitions.isEmpty else { throw LogError.unknownTopic(topic, address: address) }
        guard let found = partitions.first(where: { $0.partition == partition }) else {
            throw LogError.unknownPartition(
                TopicPartition(topic: topic, partition: partition),
                partitionCount: Int32(partitions.count)
            )
        }
        return found
    }

    /// A partition of a deleted topic, nil when nothing of any is left.
    static func deleted(_ db: Database) throws -> EmbeddedPartition? {
        try Row.fetchOne(db, sql: "SELECT * FROM partitions WHERE topic_id IS NULL LIMIT 1")
            .map(EmbeddedPartition.init)
    }
}
