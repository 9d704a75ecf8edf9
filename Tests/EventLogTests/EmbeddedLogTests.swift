import EmbeddedLog
import EventLog
import Foundation
import GRDB
import Testing

@Suite("EmbeddedLog")
struct EmbeddedLogTests {
    @Test("records are there, in order, after the log was closed and opened again")
    func keepsRecordsInOrder() throws {
        let temporary = try TemporaryLog()
        do {
            let writer = try temporary.open(topic: "bids", partitionCount: 2).writer()
            for round in 0..<5 {
                let positions = try writer.append(
                    (0..<300).map { record("\(round)-\($0)", partition: Int32($0 % 2)) })
                #expect(positions.map(\.partition) == (0..<300).map { Int32($0 % 2) })
                #expect(positions.map(\.offset) == (0..<300).map { Int64(round * 150 + $0 / 2) })
            }
        }
        let found = try temporary.open().allRecords(of: "bids")
        for partition in 0..<2 {
            let part = found.filter { $0.partition == Int32(partition) }
            #expect(part.map(\.offset) == (0..<750).map { Int64($0) })
            let expected = (0..<5).flatMap { round in
                stride(from: partition, to: 300, by: 2).map { "\(round)-\($0)" }
            }
            #expect(part.map(\.text) == expected)
        }
    }

    @Test("bytes, nulls and empty bytes come back as they were written")
    func keepsBytes() throws {
        let temporary = try TemporaryLog()
        let log = try temporary.open(topic: "bids", partitionCount: 1)
        let large = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
        try log.writer().append([
            OutgoingRecord(topic: "bids", timestampMilliseconds: 7, key: nil, value: nil),
            OutgoingRecord(topic: "bids", timestampMilliseconds: -1, key: [], value: []),
            OutgoingRecord(
                topic: "bids", timestampMilliseconds: 1 << 60, key: [0, 255],
                headers: [.init("ce_type", "x"), .init(name: "n", value: nil), .init("", "")],
                value: large),
        ])
        let found = try log.allRecords(of: "bids")
        #expect(found.map(\.keyBytes) == [nil, [], [0, 255]])
        #expect(found.map(\.value) == [nil, [], large])
        #expect(found.map(\.timestampMilliseconds) == [7, -1, 1 << 60])
        #expect(found[0].headerList.isEmpty)
        #expect(
            found[2].headerList == [
                .init(name: "ce_type", value: Array("x".utf8)), .init(name: "n", value: nil),
                .init(name: "", value: []),
            ])
    }

    @Test("a record without a timestamp gets the present one")
    func stampsRecords() throws {
        let temporary = try TemporaryLog()
        let log = try temporary.open(topic: "bids", partitionCount: 1)
        let before = Int64(Date().timeIntervalSince1970 * 1000)
        try log.writer().append([record("a")])
        let after = Int64(Date().timeIntervalSince1970 * 1000)
        let stamp = try #require(try log.allRecords(of: "bids").first?.timestampMilliseconds)
        #expect((before...after).contains(stamp))
    }

    @Test("a record without a partition goes where Kafka's clients would send it")
    func partitionsByKey() throws {
        let temporary = try TemporaryLog()
        let log = try temporary.open(topic: "bids", partitionCount: 1000)
        let foobar = Array("foobar".utf8)
        let positions = try log.writer().append([
            OutgoingRecord(topic: "bids", key: foobar, value: nil),
            OutgoingRecord(topic: "bids", key: nil, value: foobar),
            OutgoingRecord(topic: "bids", key: nil, value: nil),
        ])
        #expect(positions.map(\.partition) == [166, 166, 0])
        #expect(positions.map(\.offset) == [0, 1, 0])
    }

    @Test("an append that fails in the middle leaves nothing, and the next one goes on")
    func appendsAllOrNothing() throws {
        let temporary = try TemporaryLog()
        let log = try temporary.open(topic: "bids", partitionCount: 2)
        let writer = try log.writer()
        try writer.append([record("first")])
        let good = (0..<5000).map { record("\($0)") }
        #expect(throws: LogError.unknownTopic("absent", address: log.address)) {
            try writer.append(good + [record("x", topic: "absent")])
        }
        let beyond = LogError.unknownPartition(
            TopicPartition(topic: "bids", partition: 2), partitionCount: 2)
        #expect(throws: beyond) { try writer.append(good + [record("x", partition: 2)]) }
        #expect(try log.allRecords(of: "bids").map(\.text) == ["first"])
        #expect(try writer.append([record("second")]).map(\.offset) == [1])
        #expect(try log.allRecords(of: "bids").map(\.text) == ["first", "second"])
    }

    @Test("a person can read the log with the sqlite3 shell")
    func offersAView() throws {
        let temporary = try TemporaryLog()
        let log = try temporary.open(topic: "bids", partitionCount: 2)
        try log.writer().append([
            record("a", timestamp: 1_795_000_000_123), record("b", partition: 1, timestamp: 0),
        ])
        let row = try DatabaseQueue(path: temporary.path).read { db in
            try Row.fetchOne(db, sql: "SELECT * FROM log WHERE topic = 'bids' AND partition = 0")
        }
        #expect(row?["offset"] == 0)
        #expect(row?["time"] == "2026-11-18T11:06:40.123Z")
        #expect(row?["key"] == "key-a")
        #expect(row?["value"] == "a")
    }
}
