import Foundation
import GRDB
import TestKit
import Testing

@testable import DatabaseFiles

@Suite("Errors of the operating system")
struct SystemRefusalTests {
    private let scratch: ScratchFile

    init() throws { scratch = try ScratchFile() }

    @Test("the page of the documentation has every error with the sentence that is printed")
    func page() throws {
        let page = try Repository.text("docs/reference/operating-system-errors.md")
        let rows = page.split(separator: "\n").filter { $0.hasPrefix("| `E") }.map(String.init)
        let expected = SystemRefusal.allCases.map { refusal in
            let names = refusal.errors.map { "`\($0.name)`" }.joined(separator: ", ")
            return "| \(names) | \(refusal.explanation) |"
        }
        #expect(rows == expected)
    }

    @Test("each error has one sentence, and no two mean the same")
    func sentences() {
        let numbers = SystemRefusal.allCases.flatMap { $0.errors.map(\.number) }
        #expect(Set(numbers).count == numbers.count)
        #expect(
            Set(SystemRefusal.allCases.map(\.explanation)).count == SystemRefusal.allCases.count)
        for refusal in SystemRefusal.allCases {
            for error in refusal.errors {
                #expect(SystemRefusal(errorNumber: error.number) == refusal)
            }
        }
    }

    private func words(_ code: ResultCode) -> String? {
        let fault = FileFault(DatabaseError(resultCode: code), path: scratch.path)
        guard case .refused(let words) = fault else { return nil }
        return words
    }

    @Test("what SQLite says of a disk becomes the sentence of its cause")
    func resultCodes() throws {
        _ = try scratch.open()
        #expect(words(.SQLITE_FULL) == SystemRefusal.full.explanation)
        #expect(words(.SQLITE_NOMEM) == SystemRefusal.outOfMemory.explanation)
        #expect(words(.SQLITE_IOERR_READ)?.hasPrefix(SystemRefusal.failed.explanation) == true)
        #expect(words(.SQLITE_READONLY)?.hasPrefix(SystemRefusal.permission.explanation) == true)
        #expect(words(.SQLITE_PERM)?.hasPrefix(SystemRefusal.permission.explanation) == true)
    }

    @Test("opening says which of a missing directory, a directory and a file in the way it is")
    func opening() throws {
        func words(_ path: String) throws -> String {
            do { try DatabaseQueue(path: path).read { _ in } } catch let error as DatabaseError {
                guard case .refused(let words) = FileFault(error, path: path) else { return "" }
                return words
            }
            return ""
        }
        try "text".write(toFile: "\(scratch.directory)/file", atomically: true, encoding: .utf8)
        #expect(try words(scratch.directory) == SystemRefusal.directory.explanation)
        #expect(
            try words("\(scratch.directory)/none/a.sqlite")
                == SystemRefusal.missingDirectory.explanation)
        #expect(
            try words("\(scratch.directory)/file/a.sqlite") == SystemRefusal.noDirectory.explanation
        )
        #expect(
            try words("\(scratch.directory)/\(String(repeating: "a", count: 300))")
                == SystemRefusal.tooLong.explanation)
    }

    @Test("a file without rights is a matter of permission")
    func rights() async throws {
        _ = try scratch.open().rowsOrNothing()
        _ = try scratch.open("open").rowsOrNothing()
        chmod(scratch.directory, 0o755)
        chmod("\(scratch.directory)/open.sqlite", 0o644)
        chmod(scratch.path, 0o000)
        defer { chmod(scratch.path, 0o600) }
        await #expect(processExitsWith: .success) { [directory = scratch.directory as String] in
            // Root may all, so that it becomes somebody else here.
            if geteuid() == 0 { guard seteuid(65_534) == 0 else { exit(3) } }
            let open = SystemRefusal(opening: "\(directory)/open.sqlite", writing: false)
            let shut = SystemRefusal(opening: "\(directory)/a.sqlite", writing: false)
            exit(open == nil && shut == .permission ? 0 : 1)
        }
    }

    @Test("a file of shared memory that cannot grow is a matter of its cause, and no failed disk")
    func sharedMemory() async throws {
        let queue = try scratch.open(inWAL: true)
        try queue.inDatabase { try $0.execute(sql: "CREATE TABLE t (k INTEGER PRIMARY KEY)") }
        try queue.close()
        let path = scratch.path
        await #expect(processExitsWith: .success) { [path = path as String] in
            signal(SIGXFSZ, SIG_IGN)
            var limit = rlimit(rlim_cur: 100, rlim_max: 100)
            setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
            do {
                try DatabaseQueue(path: path).inDatabase { db in
                    _ = try Row.fetchAll(db, sql: "SELECT * FROM t")
                }
                exit(2)
            } catch let error as DatabaseError {
                let isShared = error.extendedResultCode == .SQLITE_IOERR_SHMSIZE
                let refused = FileFault.refused(
                    SystemRefusal.tooLarge.explanation
                        + " (the limit of this process is 100 bytes)")
                exit(isShared && FileFault(error, path: path) == refused ? 0 : 1)
            }
        }
    }

    @Test(
        "a -wal or -shm that is larger than a limit allows is a matter of the limit, also where a file is only read",
        arguments: [(UInt(100), ResultCode.SQLITE_IOERR_SHMSIZE), (40_000, .SQLITE_IOERR_WRITE)])
    func leftLog(limit: UInt, code: ResultCode) async throws {
        let queue = try scratch.open(inWAL: true)
        try queue.inDatabase { db in
            try db.execute(sql: "CREATE TABLE t (k INTEGER PRIMARY KEY, v TEXT)")
            for key in 0..<100 {
                try db.execute(
                    sql: "INSERT INTO t VALUES (?, ?)",
                    arguments: [key, String(repeating: "x", count: 500)])
            }
        }
        // As a writer leaves them that is killed.
        let left = "\(scratch.directory)/left.sqlite"
        for end in ["", "-wal"] {
            try FileManager.default.copyItem(atPath: scratch.path + end, toPath: left + end)
        }
        try queue.close()
        await #expect(processExitsWith: .success) {
            [left = left as String, limit = limit as UInt, code = code.rawValue as Int32] in
            signal(SIGXFSZ, SIG_IGN)
            var bound = rlimit(rlim_cur: limit, rlim_max: limit)
            setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &bound)
            do {
                _ = try CheckedPages.openToRead(left)
                exit(2)
            } catch let error as DatabaseError {
                let refused = FileFault.refused(
                    SystemRefusal.tooLarge.explanation
                        + " (the limit of this process is \(limit) bytes)")
                let isCode = error.extendedResultCode.rawValue == code
                exit(isCode && FileFault(error, path: left) == refused ? 0 : 1)
            }
        }
    }

    @Test("an error of Foundation is the same sentence")
    func foundation() throws {
        #expect {
            try FileManager.default.createDirectory(
                atPath: "/proc/none/x", withIntermediateDirectories: false)
        } throws: { error in SystemRefusal.explanation(of: error) != error.localizedDescription }
    }
}

extension DatabaseQueue {
    fileprivate func rowsOrNothing() throws -> Int {
        try read { try Int.fetchOne($0, sql: "SELECT count(*) FROM sqlite_schema") } ?? 0
    }
}
