import GRDB

extension LogError {
    /// What SQLite's error means for the log. An error that is a `LogError` already stays as it is.
    init(_ error: any Error, operation: String, address: String) {
        if let error = error as? LogError {
            self = error
            return
        }
        guard let error = error as? DatabaseError else {
            self = .backend(operation: operation, address: address, detail: "\(error)")
            return
        }
        let detail = Self.oneLine(error)
        switch error.resultCode {
        case .SQLITE_NOTADB:
            self = .notALog(address: address, detail: "no SQLite database")
        case .SQLITE_CORRUPT:
            self = .notALog(address: address, detail: "damaged: \(detail)")
        case .SQLITE_BUSY, .SQLITE_LOCKED:
            self = .busy(operation: operation, address: address)
        case .SQLITE_FULL, .SQLITE_IOERR, .SQLITE_READONLY, .SQLITE_CANTOPEN, .SQLITE_PERM:
            self = .disk(operation: operation, address: address, detail: detail)
        default:
            self = .backend(operation: operation, address: address, detail: detail)
        }
    }

    private static func oneLine(_ error: DatabaseError) -> String {
        let words = error.message ?? "SQLite error"
        return "\(words) (SQLite \(error.extendedResultCode.rawValue))"
    }
}
