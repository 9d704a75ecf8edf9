import DatabaseFiles
import Foundation
import GRDB
import Wording

/// A fault of a store, its place and the remedy.
package enum StoreError: OperatorError, Equatable, Sendable {
    case noStore(path: String)
    case notAStore(path: String, detail: String)
    /// The file does not hold the bytes that were written to it.
    case damaged(path: String, detail: String)
    /// The file exists but is empty.
    case emptied(path: String)
    /// The same for a store that its worker can fold again.
    case emptiedStore(path: String)
    case otherStream(path: String, found: String, wanted: String)
    case newerVersion(path: String, found: Int, known: Int)
    /// The store has a schema from before the first release, which is not migrated.
    case olderVersion(path: String, found: Int)
    /// A table has other columns than the program declares: another version of Weir folded the store.
    case otherColumns(path: String, table: String, columns: [String])
    case locked(path: String, owner: String)
    /// Another worker has folded records of the partition at the same time.
    case fenced(path: String, partition: Int32, expected: Int64)
    /// The journal of promotions is not readable.
    case badSets(path: String, detail: String)
    case promotionUnderWay(path: String)
    /// A promoted store is missing.
    case promotedStoreGone(path: String, journal: String)
    /// The corrections of the set in force are missing.
    case correctionsGone(path: String)
    case disk(operation: String, path: String, detail: String)
    /// The file, or a companion file of SQLite, was moved, removed or replaced while open.
    case moved(operation: String, path: String, detail: String)
    /// Anything else that SQLite reported.
    case backend(operation: String, path: String, detail: String)
    case overflow

    package var description: String {
        switch self {
        case .noStore(let path):
            "no store at \(path): run the stream's worker first, or give --data"
        case .notAStore(let path, let detail):
            "\(path) is not a store (\(detail)): give --data another directory, or move the file away and fold again"
        case .damaged(let path, let detail):
            "\(path) is damaged (\(detail)). What reads the damaged part fails, and numbers of other parts are still printed. Restore the file from a backup, or delete it and fold again: ops/runbooks/damaged-file.md"
        case .emptied(let path):
            "\(path) is damaged (it is empty): put it back from a backup; ops/runbooks/damaged-file.md says what to do without one"
        case .emptiedStore(let path):
            "\(path) is damaged (it is empty): put it back from a backup, or remove it and fold the log anew (ops/runbooks/damaged-file.md)"
        case .otherStream(let path, let found, let wanted):
            "\(path) is a store of '\(found)', not of '\(wanted)': give --data another directory"
        case .newerVersion(let path, let found, let known):
            "\(path) has schema \(found) and this program knows \(known): use the newer program"
        case .olderVersion(let path, let found):
            "\(path) has schema \(found): an earlier version of Weir folded it by other rules. Use that version, or move the file away and fold again"
        case .otherColumns(let path, let table, let columns):
            "\(path) was folded by another version of Weir: \(table) there differs in \(columns.joined(separator: ", ")); use that version, or move the file away and fold again"
        case .locked(let path, let owner):
            "\(path) is in use by another worker\(owner): stop it, or give --data another directory"
        case .fenced(let path, let partition, let expected):
            "\(path): partition \(partition) is no longer at offset \(expected), another worker has folded it; nothing of this batch was stored"
        case .badSets(let path, let detail):
            "\(path) is not understood (\(detail)): bring it back from a backup; without it, the stores and numbers of before any promotion would be in force"
        case .promotionUnderWay(let path):
            "\(path) is held by another promotion: wait until it is done"
        case .promotedStoreGone(let path, let journal):
            "\(path) is gone, and \(journal) says that it is in force: put it back (is its disk mounted?), or go back to the stores before (weir promote --back)"
        case .correctionsGone(let path):
            "\(path) is gone, which has the revisions that partners were told of this set: put it back from a backup; ops/runbooks/damaged-file.md says what to do without one"
        case .disk(let operation, let path, let detail),
            .moved(let operation, let path, let detail),
            .backend(let operation, let path, let detail):
            "cannot \(operation) \(path): \(detail)"
        case .overflow:
            "a sum would no longer fit 64 bits"
        }
    }
}

extension StoreError {
    /// Runs `body`. Its errors contain the operation and the file.
    package static func naming<Result>(
        _ operation: String, _ path: String, _ body: () throws -> Result
    ) throws(StoreError) -> Result {
        do {
            return try body()
        } catch {
            throw StoreError(error, operation: operation, path: path)
        }
    }

    package init(_ error: any Error, operation: String, path: String) {
        if let error = error as? StoreError {
            self = error
            return
        }
        if let error = error as? CocoaError {
            self = .disk(
                operation: operation, path: path, detail: SystemRefusal.explanation(of: error))
            return
        }
        guard let error = error as? DatabaseError else {
            self = .backend(operation: operation, path: path, detail: "\(error)")
            return
        }
        switch FileFault(error, path: path) {
        case .damaged(let detail): self = .damaged(path: path, detail: detail)
        case .noDatabase: self = .notAStore(path: path, detail: "no SQLite database")
        case .refused(let detail): self = .disk(operation: operation, path: path, detail: detail)
        case .moved(let detail): self = .moved(operation: operation, path: path, detail: detail)
        case .locked:
            self = .backend(
                operation: operation, path: path,
                detail: "another program keeps it locked; close that, then start again")
        case .other(let detail):
            self = .backend(operation: operation, path: path, detail: detail)
        }
    }
}
