import DatabaseFiles
import Foundation
import GRDB

extension StoreError {
    /// What SQLite's error means for a store.
    package init(_ error: any Error, operation: String, path: String) {
        if let error = error as? StoreError {
            self = error
            return
        }
        if let error = error as? CocoaError {
            self = .disk(operation: operation, path: path, detail: SystemRefusal.words(of: error))
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
