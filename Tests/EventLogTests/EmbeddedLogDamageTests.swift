import Foundation
import GRDB
import TestKit
import Testing

@testable import EmbeddedLog
@testable import EventLog

@Suite("A damaged EmbeddedLog")
struct EmbeddedLogDamageTests {
    private let temporary: TemporaryLog
    private let log: EmbeddedLog

    /// A log of 200 records of some length, the rest of which is in its write-ahead log while `writer` lives.
    init() throws {
        temporary = try TemporaryLog()
        log = try temporary.open(topic: "bids", partitionCount: 2)
    }

    private func fill(_ writer: any LogWriter, _ count: Int = 200) throws {
        try writer.append(
            (0..<count).map { number in
                record(
                    String(repeating: "\(number)-", count: number * 5),
                    partition: Int32(number % 2), timestamp: Int64(number))
            })
    }

    /// Damages a file of the log and reads everything each time.
    private func read(_ count: Int, damaging file: String, seed: UInt64) throws -> Int {
        let expected = try log.allRecords(of: "bids")
        var refused = 0
        try DamagedBytes.each(count, in: file, seed: seed) { index in
            do {
                let found = try EmbeddedLog(path: temporary.path, mode: .existing)
                    .allRecords(of: "bids")
                #expect(found == expected, "byte \(index)")
            } catch LogError.damaged, LogError.damagedRecord { refused += 1 } catch {
                Issue.record("byte \(index): \(error)")
            }
        }
        return refused
    }

    @Test("a changed bit or byte is the same records or an error that says so, never other records")
    func file() throws {
        try fill(try log.writer())
        try log.openForWriting().mergeWriteAheadLog()
        #expect(try read(200, damaging: temporary.path, seed: 1) > 150)
        #expect(try log.verifyRecords() == 200)
    }

    @Test("a changed bit or byte in its write-ahead log is that too")
    func writeAheadLog() throws {
        let writer = try log.writer()
        try fill(writer)
        #expect(try read(100, damaging: temporary.path + "-wal", seed: 2) > 50)
        withExtendedLifetime(writer) {}
    }

    @Test(
        "a changed bit or byte in the log that a killed writer left loses no record without a word")
    func left() throws {
        let writer = try log.writer()
        var end = 0
        for number in 0..<12 {
            end = try Data(contentsOf: URL(fileURLWithPath: temporary.path + "-wal")).count
            try writer.append((0..<20).map { record("\(number)-\($0)", partition: Int32($0 % 2)) })
        }
        let expected = try log.allRecords(of: "bids")
        let path = temporary.directory + "/left.sqlite"
        for file in ["", "-wal"] {
            try FileManager.default.copyItem(atPath: temporary.path + file, toPath: path + file)
        }
        withExtendedLifetime(writer) {}
        #expect(try EmbeddedLog(path: path, mode: .existing).allRecords(of: "bids") == expected)
        var refused = 0
        try DamagedBytes.each(200, in: path + "-wal", seed: 3) { index in
            do {
                let found = try EmbeddedLog(path: path, mode: .existing).allRecords(of: "bids")
                #expect(
                    found == expected || index >= end,
                    "byte \(index): \(found.count) of \(expected.count) records")
            } catch LogError.damaged(let address, let words) {
                #expect(address == "sqlite:\(path)")
                #expect(words.contains("of its -wal is wrong"))
                // Nothing is appended after records that are missing.
                #expect("byte \(index)") {
                    _ = try EmbeddedLog(path: path, mode: .create).writer()
                } throws: { error in
                    if case LogError.damaged = error { true } else { false }
                }
                refused += 1
            } catch {
                Issue.record("byte \(index): \(error)")
            }
        }
        #expect(refused > 100)
        #expect(try EmbeddedLog(path: path, mode: .existing).allRecords(of: "bids") == expected)
    }

    /// Changes a record as a fault of a program would: pages have the right sums.
    private func change(_ sql: String) throws {
        try DatabaseQueue(path: temporary.path).writeWithoutTransaction { try $0.execute(sql: sql) }
    }

    @Test("a record that was changed is named by topic, partition and offset, and not archived")
    func records() throws {
        try fill(try log.writer(), 20)
        try change(
            "UPDATE records SET value = CAST('other' AS BLOB) WHERE position & 0xffffffffff = 7 AND timestamp_ms = 15"
        )
        let error = LogError.damagedRecord(
            TopicPartition(topic: "bids", partition: 1), offset: 7, address: log.address)
        #expect(throws: error) { try log.allRecords(of: "bids") }
        #expect(throws: error) { try log.verifyRecords() }
        let archive = try EmbeddedLog(path: temporary.directory + "/archive.sqlite", mode: .create)
        #expect(throws: error) {
            try ArchiveCopy(from: log.reader(topic: "bids"), to: archive).copyToEnd()
        }
    }

    @Test("an archive has checksums of its own")
    func archives() throws {
        try fill(try log.writer(), 20)
        let path = temporary.directory + "/archive.sqlite"
        let archive = try EmbeddedLog(path: path, mode: .create)
        try ArchiveCopy(from: log.reader(topic: "bids"), to: archive).copyToEnd()
        let sums = { (path: String) in
            try DatabaseQueue(path: path).read {
                try Int64.fetchAll($0, sql: "SELECT checksum FROM records ORDER BY timestamp_ms")
            }
        }
        #expect(try sums(path).count == 20)
        #expect(try sums(path) == sums(temporary.path))
    }

    @Test("a log of before records had checksums is read, written on, and gets them for what comes")
    func olderFormat() throws {
        try fill(try log.writer(), 10)
        let before = try log.allRecords(of: "bids")
        try change("ALTER TABLE records DROP COLUMN checksum; PRAGMA user_version = 1")
        let reader = try EmbeddedLog(path: temporary.path, mode: .existing).reader(topic: "bids")
        try reader.subscribe(.all)
        #expect(try reader.readRest() == before)
        try log.writer().append([record("new", partition: 0)])
        // Also by who has it open since before.
        #expect(try reader.readRest().map(\.text) == ["new"])
        try change("UPDATE records SET timestamp_ms = timestamp_ms + 1")
        #expect(
            throws: LogError.damagedRecord(
                TopicPartition(topic: "bids", partition: 0), offset: 5, address: log.address)
        ) { try log.allRecords(of: "bids") }
    }
}
