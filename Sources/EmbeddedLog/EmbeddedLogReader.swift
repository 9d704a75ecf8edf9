import EventLog
import Foundation
import GRDB
import GRDBSQLite

/// Reads one topic of an embedded log over its own read-only connection.
///
/// If the topic is deleted or recreated, reading fails instead of continuing with other records.
final class EmbeddedLogReader: LogReader {
    private struct Assigned {
        var ref: Int64
        var partition: Int32
        var nextOffset: Int64 = 0
        var isPaused = false
    }

    /// The state of the file when a read found no records.
    private struct Quiet {
        /// `PRAGMA data_version`: changes after a write of another connection.
        var version: Int64
        /// Whether all positions were moved to the ends of the partitions.
        var hasEnds = false
    }

    let topic: String
    let group: String?
    let log: EmbeddedLog
    let connection: DatabaseQueue
    /// In order of number, with the bounds at the time of opening.
    let partitions: [EmbeddedPartition]
    /// Opened by the first commit of offsets.
    var writing: EmbeddedWriteConnection?

    private let topicIdentity: String
    private var assigned: [Assigned] = []
    private var assignmentIsNew = false
    /// The index in `assigned` where the next read begins.
    private var next = 0
    private var quiet: Quiet?
    /// Whether records may have checksums. The first writer that opens an older log adds the column.
    private var hasChecksums = false
    private(set) var isCaughtUp = false

    /// Records and bytes read from one partition before the next one's turn.
    private static let recordsPerRead = 1024
    private static let bytesPerRead = 2 << 20
    /// Pauses between reads of an idle log.
    private static let pauseMilliseconds = 1...20

    init(
        topic: String, group: String?, log: EmbeddedLog, connection: DatabaseQueue
    ) throws(LogError) {
        self.topic = topic
        self.group = group
        self.log = log
        self.connection = connection
        (topicIdentity, partitions) = try connection.reading("read", log.address) { db in
            guard let identity = try Self.identity(db, topic) else {
                throw LogError.unknownTopic(topic, address: log.address)
            }
            return (identity, try EmbeddedPartition.all(db, topic: topic))
        }
    }

    func identity() throws(LogError) -> String {
        try connection.reading("read", log.address) { db in
            try requireSameTopic(db)
        }
        return topicIdentity
    }

    func subscribe(_ assignment: LogAssignment) throws(LogError) {
        let chosen: [EmbeddedPartition]
        switch assignment {
        case .all, .shared:
            chosen = partitions
        case .partitions(let numbers):
            chosen = try Set(numbers).sorted().map { (number) throws(LogError) in
                try partition(number)
            }
        }
        assigned = chosen.map { Assigned(ref: $0.ref, partition: $0.partition) }
        assignmentIsNew = true
        next = 0
        quiet = nil
    }

    func seek(partition number: Int32, to offset: Int64) throws(LogError) {
        _ = try partition(number)
        guard let index = assigned.firstIndex(where: { $0.partition == number }) else {
            throw notAssigned(number)
        }
        assigned[index].nextOffset = max(offset, 0)
        quiet = nil
    }

    func position(partition number: Int32) -> Int64? {
        assigned.first { $0.partition == number }?.nextOffset
    }

    func pause(partition number: Int32) throws(LogError) {
        try setPaused(true, number)
    }

    func resume(partition number: Int32) throws(LogError) {
        try setPaused(false, number)
    }

    func close() {
        assigned = []
        assignmentIsNew = false
    }

    private func setPaused(_ isPaused: Bool, _ number: Int32) throws(LogError) {
        guard let index = assigned.firstIndex(where: { $0.partition == number }) else {
            throw notAssigned(number)
        }
        assigned[index].isPaused = isPaused
        quiet = nil
    }

    func read(
        into batch: RecordBatch,
        maxRecords: Int,
        maxBytes: Int,
        waitMilliseconds: Int
    ) throws(LogError) -> LogReading {
        batch.removeAll()
        if assignmentIsNew {
            assignmentIsNew = false
            return .assigned(assigned.map(\.partition))
        }
        let deadline = ContinuousClock.now + .milliseconds(waitMilliseconds)
        var pauseMilliseconds = Self.pauseMilliseconds.lowerBound
        while true {
            let isLastLook = ContinuousClock.now >= deadline
            try look(batch, maxRecords: max(maxRecords, 1), maxBytes: max(maxBytes, 1))
            if !batch.isEmpty { return .records }
            if isLastLook { return try endsReached(batch, maxRecords, maxBytes) }
            let left = ContinuousClock.now.duration(to: deadline)
            let pause = min(.milliseconds(pauseMilliseconds), left)
            usleep(UInt32(max(pause / .microseconds(1), 0)))
            pauseMilliseconds = min(pauseMilliseconds * 2, Self.pauseMilliseconds.upperBound)
        }
    }

    /// Moves every position to the end of its partition, unless new records have arrived: in a copy of another log
    /// the last offsets may have no records.
    private func endsReached(
        _ batch: RecordBatch, _ maxRecords: Int, _ maxBytes: Int
    ) throws(LogError) -> LogReading {
        guard quiet?.hasEnds != true else { return .idle }
        let ends = try bounds()
        try fill(batch, maxRecords: max(maxRecords, 1), maxBytes: max(maxBytes, 1))
        guard batch.isEmpty else {
            quiet = nil
            return .records
        }
        for index in assigned.indices where !assigned[index].isPaused {
            let end = ends[Int(assigned[index].partition)].endOffset
            assigned[index].nextOffset = max(assigned[index].nextOffset, end)
        }
        quiet?.hasEnds = true
        return .idle
    }

    func partition(_ number: Int32) throws(LogError) -> EmbeddedPartition {
        guard number >= 0, number < partitions.count else {
            throw .unknownPartition(
                TopicPartition(topic: topic, partition: number),
                partitionCount: Int32(partitions.count)
            )
        }
        return partitions[Int(number)]
    }

    private func notAssigned(_ number: Int32) -> LogError {
        .backend(
            operation: "read", address: log.address,
            detail: "partition \(topic)/\(number) is not assigned to this reader")
    }

    /// Throws if the topic is not the one that was opened.
    func requireSameTopic(_ db: Database) throws {
        guard let found = try Self.identity(db, topic) else {
            throw LogError.unknownTopic(topic, address: log.address)
        }
        guard found == topicIdentity else {
            throw LogError.backend(
                operation: "read",
                address: log.address,
                detail: "topic '\(topic)' was recreated in the meantime; restart"
            )
        }
    }

    private static func identity(_ db: Database, _ topic: String) throws -> String? {
        let statement = try db.cachedStatement(sql: "SELECT identity FROM topics WHERE name = ?")
        return try String.fetchOne(statement, arguments: [topic])
    }

    /// Fills the batch, unless nothing was written since the last empty read: each reader polls an idle log many
    /// times a second.
    private func look(_ batch: RecordBatch, maxRecords: Int, maxBytes: Int) throws(LogError) {
        let version = try connection.reading("read", log.address) { db in
            try Int64.fetchOne(db.cachedStatement(sql: "PRAGMA data_version"))
        }
        if let version, version == quiet?.version { return }
        quiet = nil
        try fill(batch, maxRecords: maxRecords, maxBytes: maxBytes)
        if batch.isEmpty { quiet = version.map { Quiet(version: $0) } }
    }

    /// Reads the partitions in turns until the batch is full or nothing is left. After an error the batch is empty
    /// and the positions are unchanged.
    private func fill(_ batch: RecordBatch, maxRecords: Int, maxBytes: Int) throws(LogError) {
        let before = (assigned, next)
        do {
            try connection.inDatabase { db in
                var partitionsWithoutMore = 0
                isCaughtUp = false
                if !hasChecksums { hasChecksums = try EmbeddedSchema.hasChecksums(db) }
                while partitionsWithoutMore < assigned.count,
                    batch.count < maxRecords, batch.byteCount < maxBytes
                {
                    if assigned[next].isPaused {
                        partitionsWithoutMore += 1
                        next = (next + 1) % assigned.count
                        continue
                    }
                    let recordLimit = min(maxRecords, batch.count + Self.recordsPerRead)
                    let byteLimit = min(maxBytes, batch.byteCount + Self.bytesPerRead)
                    let found = try readOn(db, &assigned[next], batch, recordLimit, byteLimit)
                    partitionsWithoutMore = found ? 0 : partitionsWithoutMore + 1
                    next = (next + 1) % assigned.count
                }
                isCaughtUp = partitionsWithoutMore == assigned.count
                // Checked last: while the topic exists, none of its records have been swept away.
                try requireSameTopic(db)
            }
        } catch {
            batch.removeAll()
            (assigned, next) = before
            throw LogError(error, operation: "read", address: log.address)
        }
    }

    /// Copies records of one partition from SQLite's pages into the batch up to a limit; returns whether there were
    /// any.
    private func readOn(
        _ db: Database,
        _ from: inout Assigned,
        _ batch: RecordBatch,
        _ recordLimit: Int,
        _ byteLimit: Int
    ) throws -> Bool {
        let statement = try EmbeddedRecord.select(
            db, ref: from.ref, from: from.nextOffset, hasChecksums: hasChecksums)
        defer { sqlite3_reset(statement) }
        let countBefore = batch.count
        while batch.count < recordLimit, batch.byteCount < byteLimit,
            let record = try EmbeddedRecord.next(statement, db)
        {
            guard record.isIntact else {
                throw LogError.damagedRecord(
                    TopicPartition(topic: topic, partition: from.partition), offset: record.offset,
                    address: log.address)
            }
            batch.append(
                partition: from.partition, offset: record.offset,
                timestampMilliseconds: record.timestampMilliseconds, key: record.key,
                headers: record.headers ?? UnsafeRawBufferPointer(start: nil, count: 0),
                value: record.value)
            from.nextOffset = record.offset + 1
        }
        return batch.count > countBefore
    }
}
