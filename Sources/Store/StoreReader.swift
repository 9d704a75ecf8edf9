import DatabaseFiles
import Foundation
import GRDB
import Streams

/// A store opened for reading, beside its worker. It never writes and never checkpoints.
package final class StoreReader {
    package let path: String
    package let stream: String
    let queue: DatabaseQueue
    private var isVerified = false

    package init(path: String) throws(StoreError) {
        self.path = path
        try Self.requireFile(path)
        try Self.requireStoreContent(path)
        (queue, stream) = try Self.open(path)
    }

    /// Caches up to 64 MiB of read pages, for several queries in a row.
    package func keepPages() throws(StoreError) {
        try StoreError.naming("read", path) {
            try queue.inDatabase { try $0.execute(sql: "PRAGMA cache_size = -65536") }
        }
    }

    /// Throws `noStore` if the file is missing, and `disk` if its existence is unknown.
    package static func requireFile(_ path: String) throws(StoreError) {
        guard access(path, F_OK) != 0 else { return }
        guard errno == ENOENT else {
            throw .disk(operation: "open", path: path, detail: SystemRefusal.explanation())
        }
        throw .noStore(path: path)
    }

    /// Throws `emptied` for an existing file of 0 bytes: SQLite would begin a new one in its place.
    package static func requireContent(_ path: String) throws(StoreError) {
        var found = stat()
        guard stat(path, &found) != 0 || found.st_size > 0 else { throw .emptied(path: path) }
    }

    /// The same for a store, which its worker can fold again.
    static func requireStoreContent(_ path: String) throws(StoreError) {
        do throws(StoreError) {
            try requireContent(path)
        } catch {
            throw .emptiedStore(path: path)
        }
    }

    private static func open(
        _ path: String
    ) throws(StoreError) -> (DatabaseQueue, stream: String) {
        // A worker that ends at this moment removes the write-ahead log that this connection opens. SQLite reports
        // this as a failed disk. A real disk failure occurs again.
        var triesLeft = 5
        while true {
            do {
                let queue = try CheckedPages.openToRead(path)
                let stream = try queue.inDatabase { db in
                    guard try StoreSchema.checkVersion(db, path: path) > 0 else {
                        throw StoreError.noStore(path: path)
                    }
                    return try String.fetchOne(db, sql: "SELECT stream FROM store") ?? ""
                }
                return (queue, stream)
            } catch let error as DatabaseError
                where error.resultCode == .SQLITE_IOERR && !error.isOfDamagedPage && triesLeft > 0
            {
                triesLeft -= 1
                usleep(20_000)
            } catch {
                throw StoreError(error, operation: "open", path: path)
            }
        }
    }

    /// Runs `body` against one consistent state of the store.
    func read<Result>(_ body: (Database) throws -> Result) throws(StoreError) -> Result {
        try StoreError.naming("read", path) { try queue.read(body) }
    }

    /// Throws `damaged` if the records of a partition do not match the sum of their outcomes, or of its hours. Then
    /// every page passes its checksum but the tables come from different points in time: for example an older file
    /// with a newer `-wal`.
    static func requireSums(_ db: Database, path: String) throws {
        let row = try Row.fetchOne(
            db,
            sql: """
                SELECT partition, CAST(sum(records) AS TEXT) AS record_sum,
                  CAST(sum(outcomes) AS TEXT) AS outcome_sum, CAST(sum(hours) AS TEXT) AS hour_sum
                FROM (
                  SELECT partition, records, 0 AS outcomes, 0 AS hours FROM partitions
                  UNION ALL
                  SELECT partition, 0,
                    sum(accepted + duplicates + conflicts + untrusted + rejected), 0
                  FROM outcomes_sums JOIN slots ON slot = number >> 32 GROUP BY partition
                  UNION ALL
                  SELECT partition, 0, 0, sum(records) FROM hours GROUP BY partition
                )
                WHERE \(try RestoredPartitions.exclusion(db))
                GROUP BY partition
                HAVING sum(records) <> sum(outcomes) OR sum(records) <> sum(hours)
                ORDER BY partition LIMIT 1
                """)
        guard let row else { return }
        let (records, outcomes): (String, String) = (row["record_sum"], row["outcome_sum"])
        let hours: String = row["hour_sum"]
        let other =
            outcomes == records
            ? "its hours add up to \(hours)" : "its outcomes add up to \(outcomes)"
        throw StoreError.damaged(
            path: path,
            detail: "partition \(row["partition"] as Int64) has folded \(records) records, "
                + "but \(other): the file and its -wal do not belong together")
    }

    static func partitionStates(_ db: Database) throws -> [PartitionState] {
        try Row.fetchAll(
            db.cachedStatement(sql: "SELECT * FROM partitions ORDER BY partition")
        ).map { row in
            PartitionState(
                partition: row["partition"], firstOffset: row["first_offset"],
                logStart: row["log_start"], nextOffset: row["next_offset"],
                watermarkMilliseconds: row["watermark_ms"],
                records: row["records"], emitFrom: row["emit_from"],
                deadLettersNext: row["dead_letters_next"], outboxNext: row["outbox_next"],
                outboxEmitted: row["outbox_emitted"], lastRecord: row["last_record"])
        }
    }

    static func epochs(_ db: Database, partition: Int32) throws -> [Epoch] {
        try Row.fetchAll(
            db, sql: "SELECT * FROM epochs WHERE partition = ? ORDER BY from_offset",
            arguments: [partition]
        ).map { row in
            Epoch(
                fromOffset: row["from_offset"],
                configuration: FoldConfiguration(
                    text: row["configuration"],
                    dedupeWindowMilliseconds: row["dedupe_window_ms"]))
        }
    }
}

extension StoreReader {
    /// Calls `body` with one consistent state of the store.
    ///
    /// - Parameter verifying: whether the first snapshot checks the store's sums. Not needed if nothing is counted.
    /// - Throws: `damaged` if the check fails.
    package func snapshot<Result>(
        verifying: Bool = true, _ body: (StoreSnapshot) throws -> Result
    ) throws(StoreError) -> Result {
        try read { db in
            if verifying, !isVerified {
                try Self.requireSums(db, path: path)
                isVerified = true
            }
            return try body(StoreSnapshot(db, path: path))
        }
    }
}
