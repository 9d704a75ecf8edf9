import CPageChecksums
import Foundation
import GRDB

/// What an error of SQLite means for the file.
package enum FileFault: Equatable, Sendable {
    /// The file holds something else than what was written to it; the words name the page where it shows.
    case damaged(String)
    /// It is no database.
    case noDatabase
    /// The operating system refused; the words say what to do.
    case refused(String)
    /// Other programs keep it locked.
    case locked
    /// Anything else.
    case other(String)

    /// - Parameter path: the file's; what SQLite keeps beside it is meant too.
    package init(_ error: DatabaseError, path: String) {
        switch error.resultCode {
        case .SQLITE_CORRUPT: self = .damaged(Self.damage(of: path) ?? Self.words(error))
        case .SQLITE_NOTADB:
            self = Self.looksLikeDatabase(path) ? .damaged(Self.words(error)) : .noDatabase
        case .SQLITE_FULL: self = .refused(SystemRefusal.full.words)
        case .SQLITE_NOMEM: self = .refused(SystemRefusal.outOfMemory.words)
        case .SQLITE_BUSY, .SQLITE_LOCKED: self = .locked
        case .SQLITE_PERM, .SQLITE_READONLY, .SQLITE_CANTOPEN, .SQLITE_IOERR:
            self = Self.reading(error, path)
        default: self = .other(Self.words(error))
        }
    }

    private static func reading(_ error: DatabaseError, _ path: String) -> FileFault {
        var fault = weir_fault()
        let isKnown = weir_fault_take(path, &fault)
        if error.isOfDamagedPage {
            return .damaged(isKnown && fault.page > 0 ? words(fault) : words(error))
        }
        if isKnown, fault.page == 0,
            let refusal = SystemRefusal(errorNumber: fault.error_number)
        {
            // A directory opens, and then cannot be read or locked.
            return .refused((SystemRefusal(opening: path, writing: false) ?? refusal).words)
        }
        let isAboutRights = error.resultCode != .SQLITE_IOERR
        if let refusal = SystemRefusal(opening: path, writing: isAboutRights) {
            return .refused(refusal.words)
        }
        let byDefault: SystemRefusal = isAboutRights ? .permission : .failed
        return .refused("\(byDefault.words) (\(words(error)))")
    }

    /// What was found wrong with a file just now, in words; nil when that is not known.
    package static func damage(of path: String) -> String? {
        var fault = weir_fault()
        guard weir_fault_take(path, &fault), fault.page > 0 else { return nil }
        return words(fault)
    }

    private static func words(_ fault: weir_fault) -> String {
        fault.is_in_wal
            ? "the checksum of frame \(fault.page) of its -wal is wrong"
            : "the checksum of page \(fault.page) is wrong"
    }

    private static func words(_ error: DatabaseError) -> String {
        "\(error.message ?? "SQLite error") (SQLite \(error.extendedResultCode.rawValue))"
    }

    /// A damaged header is not that of another kind of file: most of its first bytes are as they were.
    private static func looksLikeDatabase(_ path: String) -> Bool {
        guard let file = FileHandle(forReadingAtPath: path),
            let bytes = try? file.read(upToCount: 16), bytes.count == 16
        else { return false }
        return zip(bytes, Array("SQLite format 3\0".utf8)).count { $0 != $1 } <= 4
    }
}

extension DatabaseError {
    /// Whether the checksum of a page is wrong: trying again does not help.
    package var isOfDamagedPage: Bool {
        extendedResultCode == .SQLITE_IOERR_DATA
    }
}
