import CPageChecksums
import Foundation
import GRDB

/// Consistent copies of files of SQLite, while others write them.
package enum FileCopy {
    private static let pagesAtOnce: Int32 = 1024

    /// Copies the state that a file has now to a new file, which is alone: without a write-ahead log. The
    /// copy has checksums although the original has none. Durable when it returns, but for its name.
    ///
    /// The original is read as every reader does, and never checkpointed. One with a rollback journal is not
    /// written meanwhile.
    ///
    /// - Parameter progress: is called with the pages that are copied, and all of them.
    package static func write(
        _ original: String, to copy: String, progress: @escaping (Int, Int) -> Void = { _, _ in }
    ) throws {
        let source = try CheckedPages.openToRead(original)
        if try source.inDatabase(CheckedPages.areThere) {
            var writing = Configuration()
            writing.prepareDatabase { db in
                try CheckedPages.prepare(db)
                try db.execute(sql: "PRAGMA synchronous = FULL")
            }
            let target = try DatabaseQueue(path: copy, configuration: writing)
            try target.writeWithoutTransaction { target in
                try source.read { source in
                    // One state for all steps.
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
