import CPageChecksums
import DatabaseFiles
import Foundation
import GRDB
import TestKit
import Testing

@Suite("Checksums of pages")
struct PageTests {
    private let scratch: ScratchFile

    init() throws { scratch = try ScratchFile() }

    /// The sums as SQLite's documentation has them, word by word.
    private func sums(_ bytes: some Collection<UInt8>) -> [UInt8] {
        let bytes = Array(bytes)
        func word(_ at: Int) -> UInt32 {
            (0..<4).reduce(0) { $0 | UInt32(bytes[at + $1]) << UInt32(8 * $1) }
        }
        var (first, second): (UInt32, UInt32) = (0, 0)
        for at in stride(from: 0, to: bytes.count, by: 8) {
            first = first &+ word(at) &+ second
            second = second &+ word(at + 4) &+ first
        }
        return [first, second].flatMap { sum in
            (0..<4).map { UInt8(truncatingIfNeeded: sum >> (8 * $0)) }
        }
    }

    @Test(
        "sums that take many words at once are those of one word after another, whatever the length"
    )
    func lengths() {
        var generator = SeededGenerator(seed: 1)
        let around = [504, 1016, 2040, 2048, 2056, 4088, 8184, 65528]
        for count in Array(stride(from: 0, through: 256, by: 8)) + around {
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
            var found: [UInt32] = [0, 0]
            weir_sums_add(&found, bytes, bytes.count)
            let written = found.flatMap { sum in
                (0..<4).map { UInt8(truncatingIfNeeded: sum >> (8 * $0)) }
            }
            #expect(written == sums(bytes), "\(count)")
        }
    }

    @Test("what a writer left half done that was killed is taken back when the file is read")
    func killed() throws {
        let writer = try scratch.open()
        try writer.write {
            try $0.execute(
                sql: """
                    CREATE TABLE t (k INTEGER PRIMARY KEY, v BLOB);
                    WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < 100)
                    INSERT INTO t SELECT k, zeroblob(500) FROM n
                    """)
        }
        let rows = try writer.rows()
        try writer.inDatabase { db in
            try db.execute(sql: "BEGIN IMMEDIATE; UPDATE t SET v = zeroblob(400)")
            for end in ["", "-journal"] {
                try FileManager.default.copyItem(
                    atPath: scratch.path + end, toPath: "\(scratch.directory)/b.sqlite\(end)")
            }
            try db.execute(sql: "ROLLBACK")
        }
        #expect(try scratch.bytes("b.sqlite") != scratch.bytes())
        #expect(try CheckedPages.openToRead("\(scratch.directory)/b.sqlite").rows() == rows)
        #expect(try scratch.bytes("b.sqlite") == scratch.bytes())
    }

    @Test("what a record has not is another thing than what is empty in it")
    func records() {
        func sum(_ key: [UInt8]?, _ value: [UInt8]?, offset: Int64 = 1) -> Int64 {
            (key ?? []).withUnsafeBytes { keyBytes in
                (value ?? []).withUnsafeBytes { valueBytes in
                    RecordSum.of(
                        offset: offset, timestampMilliseconds: 2, key: key == nil ? nil : keyBytes,
                        headers: nil, value: value == nil ? nil : valueBytes)
                }
            }
        }
        let all = [
            sum(nil, nil), sum([], nil), sum(nil, []), sum([], []), sum([1], []), sum([], [1]),
            sum([1, 0], []), sum([], [1, 0]), sum([1], [2]), sum([1], [2], offset: 2),
        ]
        #expect(Set(all).count == all.count)
    }

    @Test(
        "every page of a file ends with the sums that SQLite's own checksum VFS looks for",
        arguments: [true, false])
    func layout(inWAL: Bool) throws {
        let queue = try scratch.open(inWAL: inWAL)
        try fill(queue)
        try queue.close()
        let bytes = try scratch.bytes()
        #expect(bytes[20] == 8)
        #expect(bytes.count > 200 * 1024)
        for start in stride(from: 0, to: bytes.count, by: 1024) {
            #expect(Array(bytes[start + 1016..<start + 1024]) == sums(bytes[start..<start + 1016]))
        }
        // SQLite alone reads it.
        let plain = try scratch.openPlainly("a")
        #expect(try plain.rows().count == 300)
        #expect(try plain.read { try String.fetchOne($0, sql: "PRAGMA integrity_check") } == "ok")
    }

    @Test("a changed bit or byte is the same rows or an error, never others, and a check finds it")
    func flips() throws {
        try fill(try scratch.open())
        let expected = try scratch.open().rows()
        var refused = 0
        try DamagedBytes.each(200, in: scratch.path, seed: 2) { index in
            let queue = try? CheckedPages.openToRead(scratch.path)
            do {
                let rows = try queue?.rows() ?? expected
                #expect(rows == expected, "byte \(index)")
            } catch let error as DatabaseError {
                guard case .damaged(let words) = FileFault(error, path: scratch.path) else {
                    Issue.record("byte \(index): \(error)")
                    return
                }
                if error.isOfDamagedPage {
                    #expect(words == "the checksum of page \(index / 1024 + 1) is wrong")
                }
                refused += 1
            }
            let isFound = try isFound()
            #expect(isFound, "byte \(index)")
        }
        #expect(refused > 150)
        #expect(try !isFound())
    }

    @Test("the page that is damaged is named, whatever is refused of other files meanwhile")
    func meanwhile() throws {
        try fill(try scratch.open())
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: scratch.path))
        try file.seek(toOffset: 1024 + 500)
        try file.write(contentsOf: [0xA5])
        try file.close()
        let error = #expect(throws: DatabaseError.self) {
            try CheckedPages.openToRead(scratch.path).rows()
        }
        for _ in 0..<100 { _ = try? DatabaseQueue(path: scratch.directory) }
        for _ in 0..<20 { _ = try? DatabaseQueue(path: "\(scratch.directory)/none/b.sqlite") }
        let fault = FileFault(try #require(error), path: scratch.path)
        #expect(fault == .damaged("the checksum of page 2 is wrong"), "\(fault)")
    }

    /// Whether a check finds damage; a file that cannot be opened as it should be is found too.
    private func isFound() throws -> Bool {
        do {
            return try CheckedPages.openToRead(scratch.path).inDatabase {
                try CheckedPages.findDamage($0, path: scratch.path)
            } != nil
        } catch let error as DatabaseError {
            if case .damaged = FileFault(error, path: scratch.path) { return true }
            throw error
        }
    }

    @Test("a file of before stays as it is, byte for byte where nothing was written, and says so")
    func olderFiles() throws {
        try fill(try scratch.openPlainly("a"))
        let before = try scratch.bytes()
        #expect(before[20] == 0)
        let queue = try scratch.open()
        #expect(try !queue.inDatabase(CheckedPages.areThere))
        try queue.write { try $0.execute(sql: "UPDATE t SET w = 'other' WHERE k = 7") }
        #expect(try queue.read { try String.fetchOne($0, sql: "PRAGMA integrity_check") } == "ok")
        #expect(try scratch.bytes().count == before.count)
        #expect(try scratch.openPlainly("a").rows() == queue.rows())
    }

    @Test("a copy of a file is one state of it, has checksums, and leaves the file as it is")
    func copies() throws {
        for (name, queue) in [
            ("wal", try scratch.open("wal", inWAL: true)), ("journal", try scratch.open("journal")),
            ("old", try scratch.openPlainly("old")),
        ] {
            try fill(queue)
            let copy = "\(scratch.directory)/copy-\(name).sqlite"
            try FileCopy.write("\(scratch.directory)/\(name).sqlite", to: copy)
            let found = try CheckedPages.openToRead(copy)
            #expect(try found.rows() == queue.rows(), "\(name)")
            #expect(try found.inDatabase(CheckedPages.areThere), "\(name)")
            #expect(
                try found.inDatabase { try CheckedPages.findDamage($0, path: copy) } == nil,
                "\(name)")
            try queue.write { try $0.execute(sql: "DELETE FROM t") }
            #expect(try found.rows().count == 300)
            #expect(!FileManager.default.fileExists(atPath: copy + "-wal"))
        }
    }

    /// 300 rows, some of them longer than a page, in one transaction that spills.
    private func fill(_ queue: DatabaseQueue) throws {
        var generator = SeededGenerator(seed: 3)
        try queue.write { db in
            try db.execute(
                sql:
                    "CREATE TABLE t (k INTEGER PRIMARY KEY, v BLOB, w TEXT); CREATE INDEX i ON t(w)"
            )
            for key in 0..<300 {
                let count = [10, 200, 3000][key % 3]
                let bytes = Data(
                    (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) })
                try db.execute(
                    sql: "INSERT INTO t VALUES (?, ?, ?)", arguments: [key, bytes, "word \(key)"])
            }
        }
    }
}
