import CPageChecksums
import Foundation
import GRDB

/// SQLite files with a checksum on each page. `CPageChecksums`, the layer below SQLite, writes and verifies the
/// checksums for all connections of the process.
///
/// The module has everything that stores share as files: checksums of pages and records, consistent copies
/// (`FileCopy`), and explained errors of SQLite and of the operating system (`FileFault`, `SystemRefusal`).
///
///     let queue = try DatabaseQueue(path: path, configuration: CheckedPages.configuration())
///
///     let damage = try queue.read { db in try CheckedPages.findDamage(db, path: path) }
///     try FileCopy.write(path, to: copy)
package enum CheckedPages {
    /// Adds checksums to a file that this connection creates; an existing file stays as it is. Call it while
    /// preparing the connection, after setting the page size.
    package static func prepare(_ db: Database) throws {
        try check(weir_pages_prepare(db.sqliteConnection), db)
    }

    /// The configuration for writing: new files get checksums, and connections wait for locked files.
    ///
    /// - Parameter pragmas: run on the connection after `pageSize` is set.
    package static func configuration(
        pageSize: Int? = nil, pragmas: String = "PRAGMA synchronous = FULL",
        busySeconds: TimeInterval = 10
    ) -> Configuration {
        var configuration = Configuration()
        configuration.busyMode = .timeout(busySeconds)
        configuration.prepareDatabase { db in
            if let pageSize { try db.execute(sql: "PRAGMA page_size = \(pageSize)") }
            try prepare(db)
            try db.execute(sql: pragmas)
        }
        return configuration
    }

    /// Whether the pages of the file carry checksums.
    package static func areThere(_ db: Database) throws -> Bool {
        // The answer is known only after the first page was read.
        _ = try Int.fetchOne(db, sql: "PRAGMA user_version")
        return weir_pages_are_checked(db.sqliteConnection)
    }

    /// Checks all used pages of a file. Describes the damage; nil if it finds none.
    package static func findDamage(_ db: Database, path: String) throws -> String? {
        // Without page checksums, damage can make an index disagree with its table.
        let check = try areThere(db) ? "quick_check" : "integrity_check"
        do {
            let found = try String.fetchAll(db, sql: "PRAGMA \(check)(1)")
            guard found != ["ok"] else { return nil }
            return FileFault.damage(of: path) ?? found.first ?? "PRAGMA \(check) returned nothing"
        } catch let error as DatabaseError {
            guard case .damaged(let explanation) = FileFault(error, path: path) else { throw error }
            return explanation
        }
    }

    /// Throws `SQLITE_READONLY_DBMOVED` if the connection's file, or its `-wal` or `-shm`, is not the one at its path
    /// any more: the next start would not find anything written to it.
    package static func requireInPlace(_ db: Database) throws {
        guard let end = weir_moved_file(db.sqliteConnection) else { return }
        throw DatabaseError(
            resultCode: .SQLITE_READONLY_DBMOVED, message: String(cString: end))
    }

    /// Opens a file for reading while another process may write it. Rolls back the unfinished transaction of a killed
    /// writer.
    package static func openToRead(
        _ path: String, busySeconds: TimeInterval = 10
    ) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.busyMode = .timeout(busySeconds)
        func open() throws -> DatabaseQueue {
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            // The first read finds the journal of an unfinished transaction.
            try queue.inDatabase { _ = try Row.fetchOne($0, sql: "PRAGMA schema_version") }
            return queue
        }
        configuration.readonly = true
        do { return try open() } catch let error as DatabaseError
            where error.extendedResultCode == .SQLITE_READONLY_ROLLBACK
        {
            configuration.readonly = false
            try open().close()
            configuration.readonly = true
            return try open()
        }
    }

    /// The names of the tables of a file.
    package static func tables(at path: String) throws -> Set<String> {
        try openToRead(path).read { db in
            try String.fetchSet(db, sql: "SELECT name FROM sqlite_schema WHERE type = 'table'")
        }
    }

    static func check(_ code: Int32, _ db: Database) throws {
        guard code == 0 else {
            throw DatabaseError(
                resultCode: ResultCode(rawValue: code), message: db.lastErrorMessage)
        }
    }
}

/// The checksum of a record in a log.
package enum RecordSum {
    /// Covers the offset, the time and all bytes. An absent part differs from an empty one.
    package static func of(
        offset: Int64, timestampMilliseconds: Int64, key: UnsafeRawBufferPointer?,
        headers: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?
    ) -> Int64 {
        var record = weir_record(
            offset: offset, timestamp: timestampMilliseconds, key: key?.baseAddress,
            key_count: key?.count ?? 0, headers: headers?.baseAddress,
            headers_count: headers?.count ?? 0, value: value?.baseAddress,
            value_count: value?.count ?? 0, has_key: key != nil, has_value: value != nil)
        return weir_record_sum(&record)
    }
}

/// Consistent copies of SQLite files during writes of other connections.
package enum FileCopy {
    private static let pagesAtOnce: Int32 = 1024

    /// Copies the present state of a file to a new file without a write-ahead log. The copy always has checksums.
    /// When this returns, the copy is durable, except for its name in the directory.
    ///
    /// It reads the original as any reader does and never checkpoints it. A file with a rollback journal cannot be
    /// written during the copy.
    ///
    /// - Parameter progress: called with the numbers of copied pages and of all pages.
    package static func write(
        _ original: String, to copy: String, progress: @escaping (Int, Int) -> Void = { _, _ in }
    ) throws {
        let source = try CheckedPages.openToRead(original)
        if try source.inDatabase(CheckedPages.areThere) {
            let target = try DatabaseQueue(
                path: copy, configuration: CheckedPages.configuration())
            try target.writeWithoutTransaction { target in
                try source.read { source in
                    // Opens the read transaction, so that all steps copy one state.
                    _ = try Int.fetchOne(source, sql: "SELECT count(*) FROM sqlite_schema")
                    try source.backup(to: target, pagesPerStep: pagesAtOnce) { step in
                        progress(step.completedPageCount, step.totalPageCount)
                    }
                }
                try target.execute(sql: "PRAGMA journal_mode = DELETE")
            }
            try target.close()
        } else {
            let address = URL(fileURLWithPath: copy).absoluteString + "?weir_pages=1"
            try source.inDatabase { db in
                try CheckedPages.check(weir_pages_request(db.sqliteConnection), db)
                try db.execute(sql: "VACUUM INTO ?", arguments: [address])
            }
        }
        try source.close()
    }
}
