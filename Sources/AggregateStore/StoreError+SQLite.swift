import GRDB

extension StoreError {
    /// What SQLite's error means for a store.
    package init(_ error: any Error, operation: String, path: String) {
        if let error = error as? StoreError {
            self = error
            return
        }
        guard let error = error as? DatabaseError else {
            self = .backend(operation: operation, path: path, detail: "\(error)")
            return
        }
        let detail = error.message ?? "SQLite code \(error.extendedResultCode.rawValue)"
        switch error.resultCode {
        case .SQLITE_FULL, .SQLITE_IOERR, .SQLITE_READONLY, .SQLITE_CANTOPEN, .SQLITE_PERM:
            self = .disk(operation: operation, path: path, detail: detail)
        case .SQLITE_NOTADB, .SQLITE_CORRUPT:
            self = .notAStore(path: path, detail: detail)
        case .SQLITE_BUSY, .SQLITE_LOCKED:
            self = .backend(
                operation: operation, path: path,
                detail: "another program keeps it locked; close that, then start again")
        default:
            self = .backend(operation: operation, path: path, detail: detail)
        }
    }
}
