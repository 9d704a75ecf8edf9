import DatabaseFiles
import EventLog
import Foundation
import GRDB
import GRDBSQLite

extension EmbeddedLog {
    /// Records emptied in one transaction; the bound limits how long appends wait.
    private static let eraseChunk = 256
    /// How long truncation of the write-ahead log waits for readers.
    private static let truncateSeconds = 10.0

    /// Empties records in place: offset, time and partition stay, and `ErasedRecord` is what is left of the bytes.
    /// Others can append between the pieces. After an interruption some records are emptied and the others are whole.
    ///
    /// The old bytes are overwritten in the pages of the file. They remain in the write-ahead log until
    /// `truncateWriteAheadLog`.
    ///
    /// - Parameters:
    ///   - identity: of the topic in which the records were found.
    ///   - offsets: of the records. Offsets without a record, and erased ones, are skipped.
    ///   - id: a digest of the id that is kept of a record; nil for none.
    ///   - didErase: called after each transaction with the number of emptied records.
    /// - Throws: `unknownTopic`, `unknownPartition`, `damagedRecord`; `backend` if the topic was recreated; and the
    ///   errors of every write.
    package func erase(
        topic: String, identity: String, partition: Int32, offsets: [Int64],
        keeping id: (RecordView) -> String? = { _ in nil },
        didErase: (Int) -> Void = { _ in }
    ) throws(LogError) {
        let connection = try openForWriting()
        var rest = offsets[...]
        while !rest.isEmpty {
            let chunk = rest.prefix(Self.eraseChunk)
            rest = rest.dropFirst(chunk.count)
            let count = try connection.transaction("erase records of") { db in
                let found = try String.fetchOne(
                    db, sql: "SELECT identity FROM topics WHERE name = ?", arguments: [topic])
                guard found == identity else {
                    throw LogError.backend(
                        operation: "erase records of", address: address,
                        detail:
                            "topic '\(topic)' was recreated in the meantime; run the command again")
                }
                let row = try EmbeddedPartition.find(
                    db, topic: topic, partition: partition, address: address)
                return try chunk.reduce(0) { count, offset in
                    let topicPartition = TopicPartition(topic: topic, partition: partition)
                    let isErased = try Self.erase(
                        db, offset, ref: row.ref, of: topicPartition, address: address, id)
                    return count + (isErased ? 1 : 0)
                }
            }
            didErase(count)
        }
    }

    /// Copies everything into the file and truncates the write-ahead log, so that no erased bytes remain in it.
    ///
    /// - Returns: false if readers of an older state prevented it for 10 seconds.
    package func truncateWriteAheadLog() throws(LogError) -> Bool {
        let connection = try openForWriting()
        let deadline = ContinuousClock.now + .seconds(Self.truncateSeconds)
        while true {
            if try connection.truncateWriteAheadLog() { return true }
            guard ContinuousClock.now < deadline else { return false }
            usleep(50_000)
        }
    }

    /// Returns whether there was something to empty.
    private static func erase(
        _ db: Database, _ offset: Int64, ref: Int64, of topicPartition: TopicPartition,
        address: String, _ id: (RecordView) -> String?
    ) throws -> Bool {
        guard let headers = try headers(db, offset, ref: ref, of: topicPartition, address, id)
        else { return false }
        let position = EmbeddedSchema.position(ref: ref, offset: offset)
        let timestamp =
            try Int64.fetchOne(
                db.cachedStatement(sql: "SELECT timestamp_ms FROM records WHERE position = ?"),
                arguments: [position]) ?? 0
        let checksum = headers.withUnsafeBytes {
            RecordSum.of(
                offset: offset, timestampMilliseconds: timestamp, key: nil, headers: $0, value: nil)
        }
        try db.cachedStatement(
            sql: """
                UPDATE records SET key = NULL, headers = ?, value = NULL, checksum = ?
                WHERE position = ?
                """
        ).execute(arguments: [Data(headers), checksum, position])
        return true
    }

    /// The headers of the emptied record; nil without a record, or if it is emptied already.
    private static func headers(
        _ db: Database, _ offset: Int64, ref: Int64, of topicPartition: TopicPartition,
        _ address: String, _ id: (RecordView) -> String?
    ) throws -> [UInt8]? {
        let statement = try EmbeddedRecord.select(
            db, ref: ref, from: offset, hasChecksums: EmbeddedSchema.hasChecksums(db),
            order: "position LIMIT 1")
        defer { sqlite3_reset(statement) }
        guard let record = try EmbeddedRecord.next(statement, db), record.offset == offset else {
            return nil
        }
        guard record.isIntact else {
            throw LogError.damagedRecord(topicPartition, offset: offset, address: address)
        }
        let view = RecordView(
            partition: topicPartition.partition, offset: offset,
            timestampMilliseconds: record.timestampMilliseconds, key: record.key,
            headers: RecordHeaders(
                encoded: record.headers ?? UnsafeRawBufferPointer(start: nil, count: 0)),
            value: record.value)
        return ErasedRecord(view) == nil
            ? ErasedRecord.headers(erasing: view, id: id(view)) : nil
    }
}
