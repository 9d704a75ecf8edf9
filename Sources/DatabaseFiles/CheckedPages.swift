import CPageChecksums
import GRDB

/// Files of SQLite whose pages carry checksums. The layer below SQLite, `CPageChecksums`, writes and
/// verifies them; all connections of the process go through it.
package enum CheckedPages {
    /// Gives the file of a connection checksums when this connection makes it. To be called as the
    /// connection is prepared, after the page size was set; a file that is there stays what it is.
    package static func prepare(_ db: Database) throws {
        try check(weir_pages_prepare(db.sqliteConnection), db)
    }

    /// Whether the pages of the connection's file carry checksums.
    package static func areThere(_ db: Database) throws -> Bool {
        // What the file says is known once its first page is read.
        _ = try Int.fetchOne(db, sql: "PRAGMA user_version")
        return weir_pages_are_checked(db.sqliteConnection)
    }

    /// Looks at all pages of a file that hold anything: what is damaged, in words; nil when nothing is.
    ///
    /// - Parameter path: the file's.
    package static func findDamage(_ db: Database, path: String) throws -> String? {
        // With checksums an index that does not fit its table cannot come of damage; without them it can.
        let check = try areThere(db) ? "quick_check" : "integrity_check"
        do {
            let found = try String.fetchAll(db, sql: "PRAGMA \(check)(1)")
            guard found != ["ok"] else { return nil }
            return FileFault.damage(of: path) ?? found.first ?? "PRAGMA \(check) says nothing"
        } catch let error as DatabaseError {
            guard case .damaged(let words) = FileFault(error, path: path) else { throw error }
            return words
        }
    }

    /// Throws `SQLITE_READONLY_DBMOVED` when the connection's file is not the one at its path any more: what
    /// is written to it then is not found at the next start.
    package static func requireInPlace(_ db: Database) throws {
        guard weir_file_is_moved(db.sqliteConnection) else { return }
        throw DatabaseError(resultCode: .SQLITE_READONLY_DBMOVED)
    }

    /// Opens a file only to look at it, beside whoever writes it.
    package static func openToRead(_ path: String) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(10)
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    static func check(_ code: Int32, _ db: Database) throws {
        guard code == 0 else {
            throw DatabaseError(
                resultCode: ResultCode(rawValue: code), message: db.lastErrorMessage)
        }
    }
}
