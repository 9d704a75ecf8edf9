import DatabaseFiles
import Foundation
import GRDB
import TestKit
import Testing

@Suite("Checksums in a write-ahead log")
struct WriteAheadLogTests {
    private let scratch: ScratchFile

    init() throws { scratch = try ScratchFile() }

    @Test(
        "transactions that spill, savepoints and rollbacks give what SQLite alone gives",
        arguments: [11, 12, 13] as [UInt64])
    func soundness(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let writers = [try scratch.open(inWAL: true), try scratch.open(inWAL: true)]
        let plain = try scratch.openPlainly("plain")
        let reader = try CheckedPages.openToRead(scratch.path)
        let table = "CREATE TABLE t (k INTEGER PRIMARY KEY, v BLOB, w TEXT); CREATE INDEX i ON t(w)"
        try writers[0].write { try $0.execute(sql: table) }
        try plain.inDatabase { try $0.execute(sql: "PRAGMA synchronous = OFF; " + table) }
        for round in 0..<60 {
            let writer = writers[Int.random(in: 0..<2, using: &generator)]
            let statements = Self.transaction(&generator)
            for queue in [writer, plain] {
                try queue.inDatabase { db in
                    for statement in statements {
                        try db.execute(sql: statement)
                        if statement.hasPrefix("SAVEPOINT") {
                            // The transaction reads its own frames.
                            _ = try Int.fetchOne(db, sql: "SELECT sum(length(v)) FROM t")
                        }
                    }
                }
            }
            if round % 7 == 3 {
                let mode = ["PASSIVE", "TRUNCATE", "RESTART"].randomElement(using: &generator)
                try writer.inDatabase {
                    _ = try Row.fetchAll($0, sql: "PRAGMA wal_checkpoint(\(mode ?? "FULL"))")
                }
            }
            #expect(try reader.rows() == plain.rows(), "turn \(round)")
        }
        let damage = try reader.inDatabase { try CheckedPages.findDamage($0, path: scratch.path) }
        #expect(damage == nil)
    }

    /// The statements of one transaction.
    private static func transaction(_ generator: inout SeededGenerator) -> [String] {
        var statements = ["BEGIN IMMEDIATE"]
        var savepoints = 0
        for _ in 0..<Int.random(in: 1...60, using: &generator) {
            let key = Int.random(in: 0..<400, using: &generator)
            let length = [3, 60, 400, 3000][Int.random(in: 0..<4, using: &generator)]
            let digit = Int.random(in: 0..<10, using: &generator)
            switch Int.random(in: 0..<20, using: &generator) {
            case 0..<13:
                statements.append(
                    "INSERT OR REPLACE INTO t VALUES (\(key), replace(hex(zeroblob(\(length))), '0', '\(digit)'), 'w\(key * digit)')"
                )
            case 13..<15: statements.append("DELETE FROM t WHERE k BETWEEN \(key) AND \(key + 9)")
            case 15: statements.append("UPDATE t SET w = 'u\(digit)' WHERE k % 7 = \(digit)")
            case 16, 17:
                savepoints += 1
                statements.append("SAVEPOINT s\(savepoints)")
            case 18 where savepoints > 0: statements.append("ROLLBACK TO s\(savepoints)")
            case 19 where savepoints > 0:
                statements.append("RELEASE s\(savepoints)")
                savepoints -= 1
            default: break
            }
        }
        return statements + [Int.random(in: 0..<4, using: &generator) == 0 ? "ROLLBACK" : "COMMIT"]
    }

    @Test("a changed bit or byte in it is the same rows or an error, and not brought into the file")
    func flips() throws {
        let writer = try scratch.open(inWAL: true)
        try writer.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE t (k INTEGER PRIMARY KEY, v BLOB, w TEXT);
                    WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < 200)
                    INSERT INTO t SELECT k, hex(zeroblob(50 + k * 5)), 'w' || k FROM n
                    """)
        }
        let expected = try writer.rows()
        var refused = 0
        try DamagedBytes.each(100, in: scratch.path + "-wal", seed: 4) { index in
            do {
                let rows = try CheckedPages.openToRead(scratch.path).rows()
                #expect(rows == expected, "byte \(index)")
            } catch let error as DatabaseError {
                #expect(error.isOfDamagedPage, "byte \(index): \(error)")
                guard case .damaged(let words) = FileFault(error, path: scratch.path) else {
                    Issue.record("byte \(index): \(error)")
                    return
                }
                #expect(words.hasPrefix("the checksum of frame"))
                refused += 1
            }
        }
        #expect(refused > 50)
        try DamagedBytes.each(20, in: scratch.path + "-wal", seed: 5) { _ in
            _ = try? writer.inDatabase {
                try Row.fetchAll($0, sql: "PRAGMA wal_checkpoint(PASSIVE)")
            }
        }
        #expect(try CheckedPages.openToRead(scratch.path).rows() == expected)
    }

    @Test("connections that come and go do not take a file's -wal and -shm for moved ones")
    func comingAndGoing() throws {
        let keeper = try scratch.open(inWAL: true)
        try keeper.write { try $0.execute(sql: "CREATE TABLE t (k INTEGER PRIMARY KEY)") }
        for key in 0..<20 {
            let other = try scratch.open(inWAL: true)
            let reader = try CheckedPages.openToRead(scratch.path)
            for queue in [keeper, other] {
                try queue.inDatabase { db in
                    try CheckedPages.requireInPlace(db)
                    try db.execute(
                        sql: "INSERT OR REPLACE INTO t VALUES (?); PRAGMA wal_checkpoint(TRUNCATE)",
                        arguments: [key])
                    try CheckedPages.requireInPlace(db)
                }
            }
            #expect(try reader.rows().count == key + 1)
            try reader.inDatabase(CheckedPages.requireInPlace)
            try other.close()
            try reader.close()
            try keeper.inDatabase(CheckedPages.requireInPlace)
        }
        // With the last connection they go, and the next makes others.
        try keeper.close()
        #expect(!FileManager.default.fileExists(atPath: scratch.path + "-wal"))
        let next = try scratch.open(inWAL: true)
        try next.write { try $0.execute(sql: "DELETE FROM t") }
        try next.inDatabase { db in
            try CheckedPages.requireInPlace(db)
            try db.execute(sql: "PRAGMA journal_mode = TRUNCATE")
            try db.execute(sql: "INSERT INTO t VALUES (1)")
            try CheckedPages.requireInPlace(db)
        }
    }

    @Test("whoever closes a file last leaves a -wal alone that was put in the place of its own")
    func foreignLog() throws {
        let writer = try openWriter(isReset: false)
        let log = URL(fileURLWithPath: scratch.path + "-wal")
        try FileManager.default.removeItem(at: log)
        try Data("another's".utf8).write(to: log)
        try writer.close()
        #expect(try scratch.bytes("a.sqlite-wal") == Array("another's".utf8))
    }

    // MARK: What a killed program leaves

    /// Files as they are while `writer` has them open, as a program leaves them that is killed.
    private func leave() throws {
        for end in ["", "-wal"] {
            try Data(try scratch.bytes("a.sqlite\(end)"))
                .write(to: URL(fileURLWithPath: "\(scratch.directory)/left.sqlite\(end)"))
        }
    }

    private var left: String { "\(scratch.directory)/left.sqlite" }

    private func rowsLeft() throws -> [Row] { try CheckedPages.openToRead(left).rows() }

    /// Where the frames end that carry the salts of the log's header.
    private func liveEnd() throws -> Int {
        let bytes = try scratch.bytes("a.sqlite-wal")
        var end = 32
        while end + 1048 <= bytes.count, bytes[end + 8..<end + 16] == bytes[16..<24] { end += 1048 }
        return end
    }

    /// Commits transactions of 1 to 40 rows. Returns the length of the log after each, and its rows.
    private func commit(
        _ count: Int, to writer: DatabaseQueue, seed: UInt64
    ) throws -> [(end: Int, rows: [Row])] {
        var generator = SeededGenerator(seed: seed)
        return try (0..<count).map { _ in
            try writer.write { db in
                for _ in 0..<Int.random(in: 1...40, using: &generator) {
                    let key = Int.random(in: 0..<300, using: &generator)
                    let length = Int.random(in: 1...600, using: &generator)
                    try db.execute(
                        sql: "INSERT OR REPLACE INTO t VALUES (?, zeroblob(?), ?)",
                        arguments: [key, length, "w\(key)"])
                }
            }
            return (try liveEnd(), try writer.rows())
        }
    }

    /// A writer with a table. Its log was begun anew over a longer one when `isReset`.
    private func openWriter(isReset: Bool) throws -> DatabaseQueue {
        let writer = try scratch.open(inWAL: true)
        try writer.write {
            try $0.execute(sql: "CREATE TABLE t (k INTEGER PRIMARY KEY, v BLOB, w TEXT)")
        }
        if isReset {
            _ = try commit(60, to: writer, seed: 1)
            try writer.inDatabase {
                _ = try Row.fetchAll($0, sql: "PRAGMA wal_checkpoint(RESTART)")
            }
        }
        return writer
    }

    @Test(
        "a changed bit or byte before the last transaction of a log that a killed program left is found",
        arguments: [false, true])
    func leftDamaged(isReset: Bool) throws {
        let writer = try openWriter(isReset: isReset)
        let commits = try commit(12, to: writer, seed: 6)
        try leave()
        let last = try #require(commits.last)
        let before = commits[commits.count - 2]
        #expect(try rowsLeft() == last.rows)
        var found = 0
        try DamagedBytes.each(600, in: left + "-wal", seed: 7) { index in
            // How large the database was after it makes a frame that of a commit. Without it, nothing says
            // that the frame is not one of the last transaction.
            let commit = before.end - 1048
            let isUnknown = (commit + 4..<commit + 8).contains(index)
            do {
                let rows = try rowsLeft()
                #expect(index >= before.end || isUnknown, "byte \(index)")
                #expect(rows == last.rows || rows == before.rows || isUnknown, "byte \(index)")
            } catch let error as DatabaseError {
                #expect(error.isOfDamagedPage, "byte \(index): \(error)")
                guard case .damaged(let words) = FileFault(error, path: left) else {
                    Issue.record("byte \(index): \(error)")
                    return
                }
                #expect(
                    index < 32
                        ? words == "the header of its -wal is wrong"
                        : words
                            == "the checksum of frame \((index - 32) / 1048 + 1) of its -wal is wrong"
                )
                found += 1
            }
        }
        #expect(found > (isReset ? 20 : 400))
        #expect(try rowsLeft() == last.rows)
    }

    @Test("so is one in a frame that ends a transaction wherever its header lies on the disk")
    func leftDamagedInCommit() throws {
        let writer = try openWriter(isReset: false)
        var end = 0
        var count = 0
        for number in 0..<80 {
            // Two pages each: that of the table's end, and that of the row.
            try writer.write {
                try $0.execute(sql: "INSERT INTO t VALUES (\(number), zeroblob(900), 'w')")
            }
            // The last frame of the transaction before, and its header in two sectors.
            let commit = end - 1048
            end = try liveEnd()
            guard number > 2, commit % 512 > 512 - 24 else { continue }
            count += 1
            try leave()
            var bytes = try scratch.bytes("left.sqlite-wal")
            bytes[commit + 600] ^= 1
            try Data(bytes).write(to: URL(fileURLWithPath: left + "-wal"))
            #expect { _ = try rowsLeft() } throws: {
                ($0 as? DatabaseError)?.isOfDamagedPage == true
            }
        }
        #expect(count > 1)
    }

    @Test(
        "a log that ends in a torn transaction is recovered up to the one before",
        arguments: [false, true])
    func torn(isReset: Bool) throws {
        let writer = try openWriter(isReset: isReset)
        let commits = try commit(12, to: writer, seed: 8)
        try leave()
        let last = try #require(commits.last)
        let before = commits[commits.count - 2]
        let whole = try scratch.bytes("left.sqlite-wal")
        let old = try scratch.bytes("left.sqlite-wal").map { $0 ^ 0x5a }
        var generator = SeededGenerator(seed: 9)
        for round in 0..<60 {
            var bytes = whole
            // Sectors of the last transaction that did not reach the disk hold zeros, or what was there before.
            for sector in before.end / 512...last.end / 512 where Bool.random(using: &generator) {
                let range = max(sector * 512, before.end)..<min(sector * 512 + 512, last.end)
                guard !range.isEmpty else { continue }
                bytes.replaceSubrange(
                    range,
                    with: round % 2 == 0
                        ? [UInt8](repeating: 0, count: range.count) : Array(old[range]))
            }
            if round % 3 == 0 {
                bytes.removeLast(Int.random(in: 0...(whole.count - before.end), using: &generator))
            }
            try Data(bytes).write(to: URL(fileURLWithPath: left + "-wal"))
            let rows = try rowsLeft()
            #expect(rows == before.rows || rows == last.rows, "turn \(round)")
        }
    }

    @Test("what a rolled back transaction left in the log is not taken for damage")
    func rolledBack() throws {
        let writer = try openWriter(isReset: false)
        for round in 0..<10 {
            let expected = try #require(try commit(2, to: writer, seed: UInt64(round)).last).rows
            try rollBack(in: writer)
            try leave()
            #expect(try rowsLeft() == expected, "turn \(round)")
        }
    }

    /// Begins a transaction that spills, and rolls it back: its frames stay.
    private func rollBack(in writer: DatabaseQueue) throws {
        try writer.inDatabase { db in
            try db.execute(
                sql: """
                    BEGIN IMMEDIATE;
                    WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < 300)
                    INSERT OR REPLACE INTO t SELECT k, zeroblob(500), 'r' FROM n;
                    ROLLBACK
                    """)
        }
    }

    @Test("nor is a commit that was torn within its header, over what was rolled back")
    func tornOverRolledBack() throws {
        let writer = try openWriter(isReset: false)
        var end = try liveEnd()
        var count = 0
        for number in 0..<120 {
            try rollBack(in: writer)
            let before = try (bytes: scratch.bytes("a.sqlite-wal"), rows: writer.rows())
            try writer.write {
                try $0.execute(
                    sql: "INSERT INTO t VALUES (\(1000 + number), zeroblob(900), 'w')")
            }
            var bytes = try scratch.bytes("a.sqlite-wal")
            let begin = end
            var commit = begin
            while bytes[commit + 4..<commit + 8].allSatisfy({ $0 == 0 }) { commit += 1048 }
            end = commit + 1048
            guard commit > begin, commit % 512 > 512 - 24, end < before.bytes.count else {
                continue
            }
            let torn = commit / 512 * 512 + 512..<end
            bytes.replaceSubrange(torn, with: before.bytes[torn])
            try leave()
            try Data(bytes).write(to: URL(fileURLWithPath: left + "-wal"))
            #expect(try rowsLeft() == before.rows, "transaction \(number)")
            count += 1
        }
        #expect(count > 0)
    }
}
