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
        case _ where error.extendedResultCode == .SQLITE_READONLY_DBMOVED:
            self = .refused(Self.movedWords)
        case .SQLITE_PERM, .SQLITE_READONLY, .SQLITE_CANTOPEN, .SQLITE_IOERR:
            self = Self.reading(error, path)
        default: self = .other(Self.words(error))
        }
    }

    /// The words for a file that is not the one at its path any more.
    package static let movedWords =
        "the file was moved away, removed or replaced while this program had it open, and nothing more is read from it or written to it: put it back, or see that the one that is there is the right one, then start again"

    private static func reading(_ error: DatabaseError, _ path: String) -> FileFault {
        var fault = weir_fault()
        let isKnown = weir_fault_take(path, &fault)
        if error.isOfDamagedPage {
            return .damaged(isKnown && weir_fault_is_damage(fault) ? words(fault) : words(error))
        }
        if isKnown, !weir_fault_is_damage(fault),
            let refusal = SystemRefusal(errorNumber: fault.error_number)
        {
            // A directory opens, and then cannot be read or locked.
            return .refused((SystemRefusal(opening: path, writing: false) ?? refusal).words)
        }
        let isAboutRights = error.resultCode != .SQLITE_IOERR
        if let refusal = SystemRefusal(opening: path, writing: isAboutRights) {
            return .refused(refusal.words)
        }
        if !isAboutRights || error.resultCode == .SQLITE_CANTOPEN, SystemRefusal.isFull(at: path) {
            return .refused(SystemRefusal.full.words)
        }
        let byDefault: SystemRefusal = isAboutRights ? .permission : .failed
        return .refused("\(byDefault.words) (\(words(error)))")
    }

    /// What was found wrong with a file just now, in words; nil when that is not known.
    package static func damage(of path: String) -> String? {
        var fault = weir_fault()
        guard weir_fault_take(path, &fault), weir_fault_is_damage(fault) else { return nil }
        return words(fault)
    }

    private static func words(_ fault: weir_fault) -> String {
        if fault.is_in_wal, fault.page == 0 { return "the header of its -wal is wrong" }
        return fault.is_in_wal
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
