import DatabaseFiles
import EventLog
import Foundation
import GRDB

/// The bytes of refused records in a file: a store, a copy of one, or a segment of a snapshot.
package struct RefusedBytes {
    /// A refused record's place in its file.
    package struct Place: Hashable, Sendable {
        package let partition: Int32
        package let offset: Int64

        package init(partition: Int32, offset: Int64) {
            self.partition = partition
            self.offset = offset
        }
    }

    package let path: String

    package init(path: String) { self.path = path }

    /// The topic of a store, and its identity in the log.
    package func origin() throws(StoreError) -> (topic: String, logIdentity: String) {
        try StoreError.naming("read", path) {
            try CheckedPages.openToRead(path).read { db in
                let row = try Row.fetchOne(db, sql: "SELECT topic, log_identity FROM store")
                return (row?["topic"] ?? "", row?["log_identity"] ?? "")
            }
        }
    }

    /// The records that are selected and not erased yet, in order. None in a file without the table of refused records.
    package func places(where isWanted: (RecordView) -> Bool) throws(StoreError) -> [Place] {
        try StoreError.naming("read", path) {
            try CheckedPages.openToRead(path).read { db in
                guard try db.tableExists("refused") else { return [] }
                var places: [Place] = []
                let rows = try Row.fetchCursor(
                    db,
                    sql: """
                        SELECT partition, offset, timestamp_ms, key, headers, value FROM refused
                        WHERE key IS NOT NULL OR value IS NOT NULL OR length(headers) > 0
                        ORDER BY partition, offset
                        """)
                while let row = try rows.next() {
                    let isFound = Self.withRecord(row) {
                        ErasedRecord($0) == nil && ErasureNotice.digest(in: $0) == nil
                            && isWanted($0)
                    }
                    guard isFound else { continue }
                    places.append(Place(partition: row["partition"], offset: row["offset"]))
                }
                return places
            }
        }
    }

    /// Empties records and overwrites their bytes in the file and its write-ahead log. Outcome, reason and detail stay,
    /// so no number and no digest changes. Durable when it returns.
    ///
    /// - Parameter lock: of the store, so that no worker uses it.
    package func erase(_ places: [Place], holding lock: StoreLock) throws(StoreError) {
        defer { withExtendedLifetime(lock) {} }
        try StoreError.naming("erase from", path) {
            let queue = try DatabaseQueue(
                path: path,
                configuration: CheckedPages.configuration(
                    pragmas: "PRAGMA synchronous = FULL; PRAGMA secure_delete = ON"))
            try queue.write { db in
                for place in places { try Self.erase(place, in: db) }
            }
            try queue.writeWithoutTransaction { db in _ = try db.checkpoint(.truncate) }
            try queue.close()
        }
    }

    private static func erase(_ place: Place, in db: Database) throws {
        let row = try Row.fetchOne(
            db, sql: "SELECT * FROM refused WHERE partition = ? AND offset = ?",
            arguments: [place.partition, place.offset])
        guard let row else { return }
        let headers = withRecord(row) { ErasedRecord.headers(erasing: $0) }
        try db.execute(
            sql: """
                UPDATE refused SET key = NULL, headers = ?, value = NULL
                WHERE partition = ? AND offset = ?
                """,
            arguments: [Data(headers), place.partition, place.offset])
    }

    private static func withRecord<Value>(_ row: Row, _ body: (RecordView) -> Value) -> Value {
        let key = (row["key"] as Data?).map { [UInt8]($0) }
        let value = (row["value"] as Data?).map { [UInt8]($0) }
        return key.withBytes { key in
            [UInt8](row["headers"] as Data).withUnsafeBytes { headers in
                value.withBytes { value in
                    body(
                        RecordView(
                            partition: row["partition"], offset: row["offset"],
                            timestampMilliseconds: row["timestamp_ms"], key: key,
                            headers: RecordHeaders(encoded: headers), value: value))
                }
            }
        }
    }
}
