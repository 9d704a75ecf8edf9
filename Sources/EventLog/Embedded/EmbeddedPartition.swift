import DatabaseFiles
import Foundation
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

    /// A copy of the last record of a partition; nil when there is none.
    static func lastRecord(
        _ db: Database, ref: Int64, of place: TopicPartition, address: String
    ) throws -> RecordCopy? {
        let columns = EmbeddedSchema.recordColumns(
            hasChecksums: try EmbeddedSchema.hasChecksums(db))
        let statement = try db.cachedStatement(
            sql: """
                SELECT \(columns) FROM records
                WHERE position >= ? AND position < ? ORDER BY position DESC LIMIT 1
                """
        )
        let first = EmbeddedSchema.position(ref: ref, offset: 0)
        let limit = (ref + 1) << EmbeddedSchema.offsetBits
        guard let row = try Row.fetchOne(statement, arguments: [first, limit]) else { return nil }
        let position: Int64 = row[0]
        let offset = position & (EmbeddedSchema.offsetLimit - 1)
        let key = (row[2] as Data?).map { [UInt8]($0) }
        let headers = (row[3] as Data?).map { [UInt8]($0) }
        let value = (row[4] as Data?).map { [UInt8]($0) }
        if let checksum = row[5] as Int64? {
            let found = key.withBytes { key in
                headers.withBytes { headers in
                    value.withBytes { value in
                        RecordSum.of(
                            offset: offset, timestampMilliseconds: row[1], key: key,
                            headers: headers, value: value)
                    }
                }
            }
            guard found == checksum else {
                throw LogError.damagedRecord(place, offset: offset, address: address)
            }
        }
        return RecordCopy(
            partition: place.partition, offset: offset, timestampMilliseconds: row[1], key: key,
            headers: headers ?? [], value: value)
    }

    /// A partition of a deleted topic, nil when nothing of any is left.
    static func deleted(_ db: Database) throws -> EmbeddedPartition? {
        try Row.fetchOne(db, sql: "SELECT * FROM partitions WHERE topic_id IS NULL LIMIT 1")
            .map(EmbeddedPartition.init)
    }
}
