import DatabaseFiles
import Foundation
import GRDB
import TestKit

/// A directory for one test, with files of SQLite in it.
final class ScratchFile {
    private let files: TemporaryDirectory
    var directory: String { files.path }
    var path: String { "\(directory)/a.sqlite" }

    init() throws { files = try TemporaryDirectory() }

    /// A connection that makes its file with checksums. Its cache is so small that transactions spill.
    func open(_ name: String = "a", inWAL: Bool = false) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        configuration.prepareDatabase { db in
            try db.execute(sql: "PRAGMA page_size = 1024")
            try CheckedPages.prepare(db)
            try db.execute(sql: "PRAGMA cache_size = 8; PRAGMA synchronous = OFF")
            if inWAL {
                try db.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0")
            }
        }
        return try DatabaseQueue(path: "\(directory)/\(name).sqlite", configuration: configuration)
    }

    /// A connection of SQLite alone.
    func openPlainly(_ name: String) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        return try DatabaseQueue(
            path: "file:\(directory)/\(name).sqlite?vfs=unix", configuration: configuration)
    }

    func bytes(_ name: String = "a.sqlite") throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(fileURLWithPath: "\(directory)/\(name)")))
    }
}

extension DatabaseQueue {
    /// Every row of the table `t`.
    func rows() throws -> [Row] {
        try read { try Row.fetchAll($0, sql: "SELECT * FROM t ORDER BY k") }
    }
}
