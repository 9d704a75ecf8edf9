import EmbeddedLog
import EventLog
import Foundation
import GRDB
import TestKit
import Testing

@Suite("Erasing records of the embedded log")
struct ErasureTests {
    private let temporary: TemporaryLog
    private let log: EmbeddedLog
    /// In every record of an odd number.
    private static let person = "5B1C7E3A-8A41-4F0E-9C55-0D0A4E6B7F21"

    /// Ten records, short and beyond a page, of two persons in turns.
    init() throws {
        temporary = try TemporaryLog()
        log = try temporary.open(topic: "bids", partitionCount: 2)
        try log.writer().append(
            (0..<10).map { number in
                let id = number % 2 == 1 ? Self.person : "other"
                let text = String(repeating: "\(id) ", count: number > 5 ? 1500 : 1)
                return OutgoingRecord(
                    topic: "bids", partition: 0, timestampMilliseconds: 1000 + Int64(number),
                    key: Array(id.utf8),
                    headers: [.init("ce_type", "openrtb.win"), .init("ce_id", id)],
                    value: Array(text.utf8))
            })
    }

    private func eraseOdd(didErase: (Int) -> Void = { _ in }) throws {
        try log.erase(
            topic: "bids", identity: log.reader(topic: "bids").identity(), partition: 0,
            offsets: [1, 3, 5, 7, 9, 40], didErase: didErase)
    }

    private func fingerprints(_ log: EmbeddedLog) throws -> [String] {
        let reader = try log.reader(topic: "bids")
        try reader.subscribe(.all)
        let batch = RecordBatch()
        var fingerprints: [String] = []
        while try fingerprints.count < 10 && reader.readOn(into: batch) != .idle {
            fingerprints += (0..<batch.count).map { batch[$0].fingerprint }
        }
        return fingerprints
    }

    @Test("keeps offsets, times, types, fingerprints and whole other records")
    func kept() throws {
        let before = try log.allRecords(of: "bids")
        let fingerprints = try fingerprints(log)
        try eraseOdd()
        let after = try log.allRecords(of: "bids")
        #expect(after.map(\.offset) == Array(0..<10))
        #expect(after.map(\.timestampMilliseconds) == before.map(\.timestampMilliseconds))
        #expect(try self.fingerprints(log) == fingerprints)
        for number in 0..<10 {
            guard number % 2 == 1 else {
                #expect(after[number] == before[number])
                continue
            }
            #expect(after[number].keyBytes == nil && after[number].value == nil)
            #expect(after[number].headers["ce_type"] == "openrtb.win")
            #expect(after[number].headers["ce_id"] == nil)
            #expect(after[number].headers["weir_bytes"] == "\(before[number].value?.count ?? 0)")
            #expect(after[number].headers["weir_sha256"]?.count == 64)
        }
        #expect(try log.verifyRecords() == 10)
    }

    @Test("leaves the bytes neither in the file nor in its write-ahead log")
    func bytesAreGone() throws {
        #expect(try contains(Self.person))
        try eraseOdd()
        #expect(try log.truncateWriteAheadLog())
        #expect(try !contains(Self.person))
        #expect(try contains("other"))
    }

    @Test("overwrites trimmed records too")
    func trimmed() throws {
        try log.trim(topic: "bids", partition: 0, before: 10)
        #expect(try log.truncateWriteAheadLog())
        #expect(try !contains(Self.person))
    }

    private func contains(_ text: String) throws -> Bool {
        for end in ["", "-wal"] {
            let bytes = FileManager.default.contents(atPath: temporary.path + end) ?? Data()
            if bytes.range(of: Data(text.utf8)) != nil { return true }
        }
        return false
    }

    @Test("has nothing to do a second time")
    func again() throws {
        var counts: [Int] = []
        try eraseOdd { counts.append($0) }
        try eraseOdd { counts.append($0) }
        #expect(counts == [5, 0])
    }

    @Test("is refused for a topic that was recreated since the records were found")
    func recreated() throws {
        let identity = try log.reader(topic: "bids").identity()
        try log.deleteTopic("bids")
        try log.createTopic("bids", partitionCount: 2)
        try log.writer().append([record("new")])
        let error = #expect(throws: LogError.self) {
            try log.erase(topic: "bids", identity: identity, partition: 0, offsets: [0])
        }
        #expect(error?.description.contains("recreated") == true)
        #expect(try log.allRecords(of: "bids")[0].text == "new")
    }

    @Test("waits for a reader of an older state, and reports one that does not end")
    func reader() throws {
        try eraseOdd()
        let reading = try temporary.open()
        // A read transaction that stays open.
        try withOpenRead(of: temporary.path) {
            try log.writer().append([record("later")])
            #expect(try !reading.truncateWriteAheadLog())
        }
        #expect(try reading.truncateWriteAheadLog())
    }

    @Test("an archive continues after its last record was erased in the log")
    func archive() throws {
        let archive = try EmbeddedLog(
            path: temporary.directory + "/archive.sqlite", mode: .create)
        try ArchiveCopy(from: log.reader(topic: "bids"), to: archive).copyToEnd()
        try eraseOdd()
        try log.writer().append([record("later")])
        try ArchiveCopy(from: log.reader(topic: "bids"), to: archive).copyToEnd()
        #expect(try archive.allRecords(of: "bids").map(\.offset) == Array(0..<11))

        let joined = try ArchivedLogReader(archive, before: log.reader(topic: "bids"))
        try joined.subscribe(.all)
        _ = try joined.readOn(into: RecordBatch())
        try joined.seek(partition: 0, to: 0)
        #expect(try joined.readRest().map(\.offset) == Array(0..<11))
    }

    @Test("an archive is refused if another record is at the place of an erased one")
    func otherArchive() throws {
        let archive = try EmbeddedLog(
            path: temporary.directory + "/archive.sqlite", mode: .create)
        try ArchiveCopy(from: log.reader(topic: "bids"), to: archive).copyToEnd()
        try eraseOdd()
        let reader = try log.reader(topic: "bids")
        try execute(
            "UPDATE records SET timestamp_ms = 5, checksum = NULL WHERE position & 1023 = 9",
            on: temporary.path)
        try log.writer().append([record("later")])
        let error = #expect(throws: LogError.self) {
            try ArchiveCopy(from: reader, to: archive).copyToEnd()
        }
        #expect(error?.description.contains("another record at offset 9") == true)
    }
}

/// Runs `body` while a connection has read the file and not ended its transaction.
private func withOpenRead(of path: String, _ body: () throws -> Void) throws {
    let queue = try DatabaseQueue(path: path)
    try queue.inDatabase { db in
        try db.execute(sql: "BEGIN; SELECT count(*) FROM records")
        defer { try? db.execute(sql: "COMMIT") }
        try body()
    }
}

private func execute(_ sql: String, on path: String) throws {
    try DatabaseQueue(path: path).inDatabase { try $0.execute(sql: sql) }
}
