import DatabaseFiles
import EventLog
import Foundation
import GRDB

extension LogError {
    /// Translates an error of SQLite. A `LogError` stays as it is.
    package init(_ error: any Error, operation: String, address: String) {
        if let error = error as? LogError {
            self = error
            return
        }
        guard let error = error as? DatabaseError else {
            self = .backend(operation: operation, address: address, detail: "\(error)")
            return
        }
        switch FileFault(error, path: Self.path(address)) {
        case .damaged(let detail): self = .damaged(address: address, detail: detail)
        case .noDatabase: self = .notALog(address: address, detail: "not an SQLite database")
        case .refused(let detail):
            self = .disk(operation: operation, address: address, detail: detail)
        case .moved(let detail):
            self = .moved(operation: operation, address: address, detail: detail)
        case .locked: self = .busy(operation: operation, address: address)
        case .other(let detail):
            self = .backend(operation: operation, address: address, detail: detail)
        }
    }

    /// `noLog` if the file is missing, `emptyLog` if it exists.
    static func noLog(at path: String, address: String) -> LogError {
        access(path, F_OK) == 0 ? .emptyLog(address: address) : .noLog(address: address)
    }

    private static func path(_ address: String) -> String {
        address.hasPrefix("sqlite:") ? String(address.dropFirst("sqlite:".count)) : address
    }
}
