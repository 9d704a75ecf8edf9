import DatabaseFiles
import Foundation
import GRDB
import Simulation
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
        for turn in 0..<60 {
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
            if turn % 7 == 3 {
                let mode = ["PASSIVE", "TRUNCATE", "RESTART"].randomElement(using: &generator)
                try writer.inDatabase {
                    _ = try Row.fetchAll($0, sql: "PRAGMA wal_checkpoint(\(mode ?? "FULL"))")
                }
            }
            #expect(try reader.rows() == plain.rows(), "turn \(turn)")
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
        try DamagedBytes.each(100, in: scratch.path + "-wal", seed: 4) { place in
            do {
                let rows = try CheckedPages.openToRead(scratch.path).rows()
                #expect(rows == expected, "byte \(place)")
            } catch let error as DatabaseError {
                #expect(error.isOfDamagedPage, "byte \(place): \(error)")
                guard case .damaged(let words) = FileFault(error, path: scratch.path) else {
                    Issue.record("byte \(place): \(error)")
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
}
