import EventLog
import GRDB

/// Writes an archive: a copy of another log's topic in an embedded log, with the same identity, partitions, offsets
/// and timestamps.
///
/// Each call is one transaction and durable when it returns. An interrupted archive ends after a record and continues
/// there.
final class ArchiveWriter {
    let topic: String
    let log: EmbeddedLog
    /// The partitions after the last write, in order of number.
    private(set) var partitions: [EmbeddedPartition]
    private let connection: EmbeddedWriteConnection

    /// Opens the archive of a topic and creates missing parts.
    ///
    /// Throws `badArchive` if the topic has records of its own, is a copy from another log, or has more partitions
    /// than its source.
    init(
        _ log: EmbeddedLog, topic: String, identity: String, partitionCount: Int32
    ) throws(LogError) {
        self.topic = topic
        self.log = log
        let connection = try log.openForWriting()
        self.connection = connection
        partitions = try connection.transaction("archive to") { db in
            try db.execute(sql: EmbeddedSchema.archivesTable)
            if try EmbeddedLog.insertTopic(topic, identity: identity, in: db) {
                try db.execute(
                    sql:
                        "INSERT INTO archives (name, identity) VALUES (?, ?) ON CONFLICT DO NOTHING",
                    arguments: [topic, identity])
            }
            try Self.check(db, topic: topic, identity: identity, address: log.address)
            let count = Int32(try EmbeddedPartition.all(db, topic: topic).count)
            guard count <= partitionCount else {
                throw LogError.badArchive(
                    address: log.address,
                    detail: "has \(count) partitions of '\(topic)', but the topic has "
                        + "\(partitionCount): it was recreated; archive it to another file")
            }
            try EmbeddedLog.addPartitions(
                count..<partitionCount, to: topic, in: db, address: log.address)
            return try EmbeddedPartition.all(db, topic: topic)
        }
    }

    private static func check(
        _ db: Database, topic: String, identity: String, address: String
    ) throws {
        guard try EmbeddedSchema.isArchive(db, topic: topic) else {
            throw LogError.badArchive(
                address: address,
                detail: "has its own topic '\(topic)' with published records: "
                    + "archive to another file")
        }
        let found = try String.fetchOne(
            db, sql: "SELECT identity FROM topics WHERE name = ?", arguments: [topic])
        guard found == identity else {
            throw LogError.badArchive(
                address: address,
                detail: "contains topic '\(topic)' of another log, or from before it was recreated "
                    + "(\(found ?? ""), not \(identity)): archive to another file")
        }
    }

    /// Merges the archive into one file that can be copied, as far as readers allow.
    func mergeWriteAheadLog() throws(LogError) { try connection.mergeWriteAheadLog() }

    /// A copy of the last record of a partition; nil if it is empty.
    func lastRecord(of partition: Int32) throws(LogError) -> RecordCopy? {
        let ref = partitions[Int(partition)].ref
        return try connection.transaction("read") { db in
            try EmbeddedPartition.lastRecord(
                db, ref: ref, of: TopicPartition(topic: topic, partition: partition),
                address: log.address)
        }
    }

    /// Sets the first offset of an empty partition.
    func begin(_ partition: Int32, at offset: Int64) throws(LogError) {
        let before = partitions[Int(partition)]
        partitions = try connection.transaction("archive to") { db in
            try requireUnchanged(before, in: db)
            try db.execute(
                sql: """
                    UPDATE partitions SET earliest_offset = ?1, end_offset = ?1
                    WHERE ref = ?2 AND earliest_offset = end_offset
                    """,
                arguments: [offset, before.ref])
            return try EmbeddedPartition.all(db, topic: topic)
        }
    }

    /// Appends records at their own offsets, which are at or after the end of their partition.
    ///
    /// - Parameter positions: how far partitions were read. Lower offsets that are missing in `batch` have no record.
    func append(_ batch: RecordBatch, positions: [Int32: Int64]) throws(LogError) {
        let tails = try connection.transaction("archive to") { db in
            var tails: [EmbeddedTail] = []
            for partition in partitions {
                if positions[partition.partition] != nil {
                    try requireUnchanged(partition, in: db)
                }
                tails.append(EmbeddedTail(partition))
            }
            try insert(batch, &tails, in: db)
            for (partition, position) in positions { tails[Int(partition)].extend(to: position) }
            for tail in tails { try tail.write(in: db) }
            return tails
        }
        partitions = tails.map(\.partition)
    }

    private func insert(
        _ batch: RecordBatch, _ tails: inout [EmbeddedTail], in db: Database
    ) throws {
        let insertion = try EmbeddedInsertion(db)
        defer { insertion.finish() }
        var headerBytes: [UInt8] = []
        for index in 0..<batch.count {
            let record = batch[index]
            let place = Int(record.partition)
            let partition = tails[place].partition
            guard record.offset >= partition.endOffset,
                record.offset < EmbeddedSchema.offsetLimit - 1
            else { throw misplaced(record, end: partition.endOffset) }
            headerBytes.removeAll(keepingCapacity: true)
            record.headers.encode(onto: &headerBytes)
            try (headerBytes.isEmpty ? nil : headerBytes).withBytes { headers in
                try insertion.insert(
                    at: EmbeddedSchema.position(ref: partition.ref, offset: record.offset),
                    timestampMilliseconds: record.timestampMilliseconds, key: record.key,
                    headers: headers, value: record.value)
            }
            try tails[place].append(
                offset: record.offset, timestampMilliseconds: record.timestampMilliseconds, in: db)
        }
    }

    /// Throws if another process has written to the partition since the last write.
    private func requireUnchanged(_ partition: EmbeddedPartition, in db: Database) throws {
        let end = try Int64.fetchOne(
            db.cachedStatement(sql: "SELECT end_offset FROM partitions WHERE ref = ?"),
            arguments: [partition.ref])
        guard end == partition.endOffset else {
            throw LogError.badArchive(
                address: log.address,
                detail:
                    "is also written by another process: archive '\(topic)' with only one process")
        }
    }

    private func misplaced(_ record: RecordView, end: Int64) -> LogError {
        let place = TopicPartition(topic: topic, partition: record.partition)
        return .badArchive(
            address: log.address,
            detail:
                "ends at offset \(end) of \(place) and cannot continue with offset \(record.offset)"
        )
    }
}
