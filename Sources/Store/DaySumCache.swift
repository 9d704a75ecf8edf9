import Crypto
import DatabaseFiles
import Foundation
import GRDB
import Synchronization

/// A cache of day sums, for pages that show the same ones repeatedly.
///
/// A row of a table without days belongs to the hour of its records. So a worker that continues a store changes the
/// rows of a day only with records of its hours, and the store has their numbers. Sums stay valid as long as
/// these numbers are the same and only the end of the write-ahead log was written: a file that was replaced, restored
/// or folded again may have the same numbers of other records.
package final class DaySumCache: Sendable {
    struct Key: Hashable {
        let path: String
        /// The aggregate, its columns and its measures.
        let table: [String]
        /// The columns of the keys of these rows; nil for all.
        let keys: [[StoredValue]]?
        let day: String
    }

    /// The inputs that determine a day's sums.
    struct Origin: Equatable {
        let key: Key
        let file: FileState
        /// SHA-256 of the day's hours in the store, with their records and fingerprints.
        let records: SHA256Digest
        let configurations: SHA256Digest
    }

    /// A row of a day: its columns, with any time of the day, and its sums.
    typealias DayRow = (columns: [StoredValue], sums: StoredSums)

    private struct Entry {
        let origin: Origin
        let rows: [DayRow]
        var lastUse: Int

        /// Its size in memory, as a number of rows.
        var size: Int { rows.count + 8 }
    }

    private struct State {
        var entries: [Key: Entry] = [:]
        var size = 0
        var uses = 0

        mutating func remove(_ key: Key) {
            size -= entries.removeValue(forKey: key)?.size ?? 0
        }
    }

    /// About a hundred megabytes.
    private static let mostRows = 400_000

    private let state = Mutex(State())

    package init() {}

    func rows(of origin: Origin) -> [DayRow]? {
        state.withLock { state in
            state.uses += 1
            guard let entry = state.entries[origin.key], entry.origin == origin else {
                return nil
            }
            state.entries[origin.key]?.lastUse = state.uses
            return entry.rows
        }
    }

    func keep(_ rows: [DayRow], of origin: Origin) {
        state.withLock { state in
            state.remove(origin.key)
            state.uses += 1
            let entry = Entry(origin: origin, rows: rows, lastUse: state.uses)
            guard entry.size <= Self.mostRows else { return }
            while state.size + entry.size > Self.mostRows {
                guard let oldest = state.entries.min(by: { $0.value.lastUse < $1.value.lastUse })
                else { break }
                state.remove(oldest.key)
            }
            state.entries[origin.key] = entry
            state.size += entry.size
        }
    }
}

/// The inputs that determine the sums of each day of some partitions, in one state of a store.
struct DayOrigins {
    private let path: String
    /// Nil if the file is not the one at its path any more.
    private let file: FileState?
    private let records: [String: SHA256Digest]
    private let configurations: SHA256Digest

    init(of partitions: Set<Int32>, _ db: Database, path: String) throws {
        self.path = path
        file = (try? CheckedPages.requireInPlace(db)).flatMap { FileState(path) }
        let wanted = partitions.sorted().map(String.init).joined(separator: ", ")
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT day, group_concat(mark) FROM (
                  SELECT substr(hour, 1, instr(hour, 'T') - 1) AS day,
                    partition || ' ' || hour || ' ' || records || ' ' || first_offset || ' ' || last_offset
                      || ' ' || first_record || ' ' || last_record AS mark
                  FROM hours WHERE partition IN (\(wanted)) ORDER BY hour, partition)
                GROUP BY day
                """)
        records = Dictionary(
            uniqueKeysWithValues: rows.map {
                ($0[0], SHA256.hash(data: Data(($0[1] as String).utf8)))
            }
        )
        let text =
            try String.fetchOne(
                db,
                sql: """
                    SELECT group_concat(mark) FROM (
                      SELECT partition || ' ' || from_offset || ' ' || configuration_hash AS mark
                      FROM epochs WHERE partition IN (\(wanted)) ORDER BY partition, from_offset)
                    """) ?? ""
        configurations = SHA256.hash(data: Data(text.utf8))
    }

    /// Nil for a day without known records.
    func origin(
        of day: String, in table: [String], keys: [[StoredValue]]?
    ) -> DaySumCache.Origin? {
        guard let file else { return nil }
        return records[day].map {
            DaySumCache.Origin(
                key: DaySumCache.Key(path: path, table: table, keys: keys, day: day),
                file: file,
                records: $0, configurations: configurations)
        }
    }
}

/// Changes with each write to a store's file, including a checkpoint, and with each new write-ahead log, but not with
/// a worker's appends to that log.
struct FileState: Equatable {
    private let numbers: [Int]
    /// The header of the log, which has its salts; empty without a log.
    private let log: Data

    /// Nil if the file is missing or the disk fails.
    init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        numbers = [
            Int(status.st_dev), Int(status.st_ino), Int(status.st_size), status.st_ctim.tv_sec,
            status.st_ctim.tv_nsec,
        ]
        guard let file = FileHandle(forReadingAtPath: path + "-wal") else {
            log = Data()
            return
        }
        defer { try? file.close() }
        guard let header = try? file.read(upToCount: 32) ?? Data() else { return nil }
        log = header
    }
}
