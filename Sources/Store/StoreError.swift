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
    case newerVersion(path: String, found: Int, supported: Int)
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
            "\(path) is not a store (\(detail)): give another --data directory, or move the file away and fold again"
        case .damaged(let path, let detail):
            "\(path) is damaged (\(detail)). Numbers from the damaged part cannot be read; other numbers can. Restore the file from a backup, or delete it and fold again: ops/runbooks/damaged-file.md"
        case .emptied(let path):
            "\(path) is damaged (it is empty): restore it from a backup; without a backup, see ops/runbooks/damaged-file.md"
        case .emptiedStore(let path):
            "\(path) is damaged (it is empty): restore it from a backup, or delete it and fold the log again (ops/runbooks/damaged-file.md)"
        case .otherStream(let path, let found, let wanted):
            "\(path) is a store of '\(found)', not of '\(wanted)': give another --data directory"
        case .newerVersion(let path, let found, let supported):
            "\(path) has schema \(found), but this program knows only \(supported): use the newer program"
        case .olderVersion(let path, let found):
            "\(path) has schema \(found): an earlier version of Weir folded it with other rules. Use that version, or move the file away and fold again"
        case .otherColumns(let path, let table, let columns):
            "\(path) was folded by another version of Weir: its table \(table) differs in \(columns.joined(separator: ", ")). Fold the log again with weir upgrade, or use that version"
        case .locked(let path, let owner):
            "\(path) is in use by another worker\(owner): stop it, or give another --data directory"
        case .fenced(let path, let partition, let expected):
            "\(path): partition \(partition) is no longer at offset \(expected), because another worker has folded it; this batch was not stored"
        case .badSets(let path, let detail):
            "\(path) cannot be read (\(detail)): restore it from a backup; without it, the stores from before any promotion would be in force"
        case .promotionUnderWay(let path):
            "\(path) is locked by another promotion: wait until it is done"
        case .promotedStoreGone(let path, let journal):
            "\(path) is missing, but it is in force according to \(journal): restore it (check that its disk is mounted), or return to the previous stores (weir promote --back)"
        case .correctionsGone(let path):
            "\(path) is missing. It contains the revisions of this set that partners received: restore it from a backup; without a backup, see ops/runbooks/damaged-file.md"
        case .disk(let operation, let path, let detail),
            .moved(let operation, let path, let detail),
            .backend(let operation, let path, let detail):
            "cannot \(operation) \(path): \(detail)"
        case .overflow:
            "a sum exceeds 64 bits"
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
        case .noDatabase: self = .notAStore(path: path, detail: "not an SQLite database")
        case .refused(let detail): self = .disk(operation: operation, path: path, detail: detail)
        case .moved(let detail): self = .moved(operation: operation, path: path, detail: detail)
        case .locked:
            self = .backend(
                operation: operation, path: path,
                detail: "another program keeps it locked; close that program, then try again")
        case .other(let detail):
            self = .backend(operation: operation, path: path, detail: detail)
        }
    }
}
