import EventLog
import Foundation
import GRDB
import Streams

/// A stored column value.
package enum StoredValue: Hashable, Comparable, Sendable {
    /// A 64-bit integer; booleans are 0 and 1.
    case integer(Int64)
    case text(String)

    /// Integers by value, texts by their bytes.
    package static func < (left: StoredValue, right: StoredValue) -> Bool {
        switch (left, right) {
        case (.integer(let left), .integer(let right)): left < right
        case (.text(let left), .text(let right)):
            left.utf8.lexicographicallyPrecedes(right.utf8)
        case (.integer, .text): true
        case (.text, .integer): false
        }
    }

    /// Texts are equal if their bytes are.
    package static func == (left: StoredValue, right: StoredValue) -> Bool {
        switch (left, right) {
        case (.integer(let left), .integer(let right)): left == right
        case (.text(let left), .text(let right)):
            left.withBytes { left in right.withBytes { left.elementsEqual($0) } }
        default: false
        }
    }

    package func hash(into hasher: inout Hasher) {
        switch self {
        case .integer(let integer): hasher.combine(integer)
        case .text(let text): text.withBytes { hasher.combine(bytes: $0) }
        }
    }
}

extension String {
    fileprivate func withBytes<Value>(_ body: (UnsafeRawBufferPointer) -> Value) -> Value {
        if let value = utf8.withContiguousStorageIfAvailable({ body(UnsafeRawBufferPointer($0)) }) {
            return value
        }
        return Array(utf8).withUnsafeBytes(body)
    }
}

package struct StoredRefusal: Sendable {
    package var partition: Int32
    package var offset: Int64
    package var timestampMilliseconds: Int64
    /// From its header.
    package var type: String
    package var reason: String
    package var detail: String
    package var key: [UInt8]?
    /// As `RecordHeaders` reads them.
    package var headers: [UInt8]
    /// Its value; nil for a tombstone, and if it was too large to keep.
    package var value: [UInt8]?
    /// SHA-256 in hex of a value that was too large to keep.
    package var valueSHA256: String?
}

/// One consistent state of a store, for reading.
package struct StoreSnapshot {
    let db: Database
    let stream: String
    package let path: String
    private let rows: RowReading
    /// The folded topic.
    package let topic: String
    /// The topic's identity when the store began, which distinguishes it from others of its name.
    package let logIdentity: String

    init(_ db: Database, path: String) throws {
        self.db = db
        self.path = path
        let row = try Row.fetchOne(db, sql: "SELECT stream, topic, log_identity FROM store")
        stream = row?["stream"] ?? ""
        topic = row?["topic"] ?? ""
        logIdentity = row?["log_identity"] ?? ""
        rows = RowReading(db, path: path)
    }

    /// An error of SQLite as an error of this store; nil if it belongs to another. With several open stores the error
    /// does not identify its store.
    package func fault(_ error: any Error) -> StoreError? {
        guard let error = error as? DatabaseError,
            db.lastErrorCode.primaryResultCode == error.resultCode
        else { return nil }
        return StoreError(error, operation: "read", path: path)
    }

    /// The partitions in the store, in order of their numbers.
    package func partitionStates() throws -> [PartitionState] {
        try StoreReader.partitionStates(db)
    }

    package func epochs(of partition: Int32) throws -> [Epoch] {
        try StoreReader.epochs(db, partition: partition)
    }

    /// The configuration of a partition's last folded record; nil without one. A later configuration without folded
    /// records does not count.
    package func configurationOfLastRecord(
        of partition: PartitionState
    ) throws -> FoldConfiguration? {
        try epochs(of: partition.partition)
            .last { $0.fromOffset < partition.nextOffset }?.configuration
    }

    /// The hours in which a partition has accepted postbacks of an app.
    package func hours(ofPostbacksOfApp app: Int64, partition: Int32) throws -> [Hour] {
        try String.fetchAll(
            db,
            sql: "SELECT DISTINCT hour FROM postbacks WHERE partition = ? AND app_id = ?",
            arguments: [partition, app]
        ).map { text in
            // Years of more than four digits come after every version.
            UTC.milliseconds(text: text).map(Hour.init(containing:))
                ?? Hour(hoursSince1970: .max)
        }
    }

    /// The hours that rows may count, in any order.
    package func hourTexts() throws -> [String] { try rows.hours().map(\.text) }

    /// Calls `body` with the partition, the columns and the sums of each row of an aggregate in these partitions,
    /// in any order.
    package func forEachRow(
        of table: AggregateTable, partitions: Set<Int32>, _ choice: RowChoice = RowChoice(),
        _ body: (_ partition: Int32, _ columns: [StoredValue], _ sums: StoredSums) throws -> Void
    ) throws {
        try rows.forEach(of: table, partitions: partitions, choice) { try body($1, $2, $3) }
    }

    /// The same, with the numbers of the rows.
    package func forEachNumberedRow(
        of table: AggregateTable, partitions: Set<Int32>, _ choice: RowChoice = RowChoice(),
        _ body: (
            _ number: RowNumber, _ partition: Int32, _ columns: [StoredValue], _ sums: StoredSums
        ) throws -> Void
    ) throws {
        try rows.forEach(of: table, partitions: partitions, choice, body)
    }

    /// The slots of a partition's hours, and of days that begin with them.
    func slots(of partition: Int32) throws -> [(hour: String, slot: Int64)] {
        try rows.hours().flatMap { hour in
            hour.slots.filter { $0.partition == partition }.map { (hour.text, $0.number) }
        }
    }

    /// Calls `body` with each key of an aggregate and its columns, with an empty time.
    package func forEachKey(
        of table: AggregateTable, _ body: (_ key: Int64, _ columns: [StoredValue]) throws -> Void
    ) throws {
        try rows.forEachKey(of: table, body)
    }

    /// Calls `body` with the key and the sums of each row of an hour in these partitions, in any order.
    package func forEachRow(
        of table: AggregateTable, partitions: Set<Int32>, inHour hour: String,
        _ body: (_ key: Int64, _ sums: StoredSums) throws -> Void
    ) throws {
        try rows.forEach(of: table, partitions: partitions, inHour: hour, body)
    }

    /// Calls `body` with the sums of each day's rows that differ only in hour and partition; in any order. The hour
    /// column is one of the day's hours. If a sum would not fit 64 bits, there are several.
    ///
    /// - Parameter day: the day of an hour; nil for days in UTC. The hours of a day must be adjacent. Rows of tables
    ///   with days always have their own.
    package func forEachDay(
        of table: AggregateTable, partitions: Set<Int32>, _ choice: RowChoice = RowChoice(),
        by day: ((_ hour: String) -> String)? = nil,
        _ body: (_ columns: [StoredValue], _ sums: StoredSums) throws -> Void
    ) throws {
        try rows.forEachDay(of: table, partitions: partitions, choice, by: day) {
            _, sums, columns in
            try sums.forEach { try body(columns($0), $1) }
        }
    }

    /// Calls `body` with the sums of each day's rows that differ only in hour and partition, in the order of days: one
    /// of the day's hours, and the sums by key.
    ///
    /// - Parameters:
    ///   - day: the day of an hour; nil for days in UTC. The hours of a day must be adjacent.
    ///   - body: can ask for the columns of a key.
    package func forEachDaySums(
        of table: AggregateTable, partitions: Set<Int32>, _ choice: RowChoice = RowChoice(),
        by day: ((_ hour: String) -> String)? = nil,
        _ body: (
            _ hour: String, _ sums: DaySums, _ columns: (_ key: Int64) throws -> [StoredValue]
        ) throws -> Void
    ) throws {
        try rows.forEachDay(of: table, partitions: partitions, choice, by: day, body)
    }

    /// Calls `body` with the sums of each day's rows of some keys in one partition: the hours and slots with such rows,
    /// and the sums by key.
    package func forEachDaySums(
        of table: AggregateTable, partition: Int32, isHourWanted: (_ hour: String) -> Bool,
        isKeyWanted: (_ key: Int64) -> Bool,
        _ body: (_ slots: [(hour: String, slot: Int64)], _ sums: DaySums) throws -> Void
    ) throws {
        try rows.forEachDay(
            of: table, partition: partition, isHourWanted: isHourWanted, isKeyWanted: isKeyWanted,
            body)
    }

    /// The refused records of a partition from an offset on, in order, without their bytes; at most `limit` of them.
    package func refused(
        partition: Int32, from offset: Int64 = .min, limit: Int = .max
    ) throws -> [StoredRefusal] {
        try StoredRefusal.fetch(
            db, partition: partition, from: offset, limit: limit, withBytes: false)
    }

    /// A refused record with its bytes; otherwise nil.
    package func refusal(partition: Int32, offset: Int64) throws -> StoredRefusal? {
        let found = try StoredRefusal.fetch(
            db, partition: partition, from: offset, limit: 1, withBytes: true)
        return found.first { $0.offset == offset }
    }

    /// Calls `body` with each remembered id of a partition, as text that is equal for equal memory, in order.
    package func forEachRememberedID(
        of partition: PartitionState, _ body: (String) -> Void
    ) throws {
        guard try db.tableExists("dedupe") else {
            return try forEachDigest(of: partition.partition, body)
        }
        let window = DedupeWindow(
            // The last configuration may have no folded records yet.
            windowMilliseconds: try epochs(of: partition.partition)
                .last { $0.fromOffset < partition.nextOffset }?
                .configuration.dedupeWindowMilliseconds ?? 0,
            watermarkMilliseconds: partition.watermarkMilliseconds)
        for entry in try DedupeBlock.entries(of: partition.partition, in: db) {
            window.restore(entry)
        }
        for entry in window.aliveEntries() {
            body("\(entry.id.high)/\(entry.id.low)@\(entry.timestampMilliseconds)")
        }
    }

    /// Those of these ids that the fold remembers permanently, in any partition. Reads all ids of the store.
    package func remembered(among ids: Set<RecordID>) throws -> Set<RecordID> {
        var found: Set<RecordID> = []
        for table in Streams.stream(named: stream)?.memoryTables ?? [] where table.hasIDs {
            let row = StatementRow(
                try db.cachedStatement(sql: "SELECT \(table.columns[0].name) FROM \(table.name)"))
            row.begin()
            while try row.next() {
                let id = row.withBlob(0) { $0.count >= 16 ? RecordID($0) : nil }
                if let id, ids.contains(id) { found.insert(id) }
            }
        }
        return found
    }

    /// Ids, revisions and partners of a partition's documents, in order.
    package func outboxIDs(of partition: Int32) throws -> [String] {
        guard try db.tableExists("outbox") else { return [] }
        return try String.fetchAll(
            db,
            sql: """
                SELECT partner || ' ' || id || ' ' || revision || ' ' || origin_offset || ' '
                  || document
                FROM outbox WHERE partition = ? ORDER BY sequence
                """,
            arguments: [partition])
    }

    /// Calls `body` with the parts of a fold's memory that belong to the digest, in order.
    private func forEachDigest(of partition: Int32, _ body: (String) -> Void) throws {
        var parts: [String] = []
        let fold = Streams.stream(named: stream)
        for table in fold?.memoryTables ?? [] {
            guard let digest = table.digest else { continue }
            parts.append("SELECT \(digest) FROM \(table.name) WHERE partition = ?1")
        }
        guard !parts.isEmpty else { return }
        let digests = try String.fetchCursor(
            db, sql: parts.joined(separator: " UNION ALL ") + " ORDER BY 1",
            arguments: [partition])
        while let digest = try digests.next() { body(digest) }
    }

    /// A text that was read as bytes, because GRDB would end it at a NUL.
    static func text(_ bytes: Data) -> String { String(decoding: bytes, as: UTF8.self) }
}

extension StoredRefusal {
    /// The stored row of a refused record, without its bytes.
    package init(_ refusal: RefusedRecord, of record: RecordView) {
        self.init(
            partition: record.partition, offset: record.offset,
            timestampMilliseconds: max(record.timestampMilliseconds, 0), type: refusal.type,
            reason: refusal.reason, detail: refusal.detail, key: nil, headers: [], value: nil,
            valueSHA256: nil)
    }

    static func fetch(
        _ db: Database, partition: Int32, from offset: Int64, limit: Int, withBytes: Bool
    ) throws -> [StoredRefusal] {
        let bytes = withBytes ? "key, headers, value" : "NULL AS key, x'' AS headers, NULL AS value"
        return try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT partition, offset, timestamp_ms, reason, value_sha256, \(bytes),
                      CAST(type AS BLOB) AS type_bytes, CAST(detail AS BLOB) AS detail_bytes
                    FROM refused WHERE partition = ? AND offset >= ? ORDER BY offset LIMIT ?
                    """),
            arguments: [partition, offset, limit]
        ).map { row in
            StoredRefusal(
                partition: row["partition"], offset: row["offset"],
                timestampMilliseconds: row["timestamp_ms"],
                type: StoreSnapshot.text(row["type_bytes"]),
                reason: row["reason"], detail: StoreSnapshot.text(row["detail_bytes"]),
                key: (row["key"] as Data?).map { [UInt8]($0) },
                headers: [UInt8](row["headers"] as Data),
                value: (row["value"] as Data?).map { [UInt8]($0) },
                valueSHA256: row["value_sha256"])
        }
    }
}

extension AggregateStore {
    /// Calls `body` with the present state of the store, for reading.
    package func snapshot<Result>(
        _ body: (StoreSnapshot) throws -> Result
    ) throws(StoreError) -> Result {
        try read { try body(StoreSnapshot($0, path: path)) }
    }
}
