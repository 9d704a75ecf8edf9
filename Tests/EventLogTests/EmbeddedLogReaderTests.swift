import EmbeddedLog
import EventLog
import Foundation
import TestKit
import Testing

@Suite("Reading an EmbeddedLog")
struct EmbeddedLogReaderTests {
    private let batch = RecordBatch()

    @Test("subscribing gives the assignment once, then records from the earliest or where sought")
    func assigns() throws {
        let temporary = try TemporaryLog()
        let log = try temporary.open(topic: "bids", partitionCount: 3)
        try log.writer().append((0..<9).map { record("\($0)", partition: Int32($0 % 3)) })
        let reader = try log.reader(topic: "bids")
        #expect(try next(reader) == .idle)
        for (assignment, expected) in [
            (LogAssignment.all, [0, 1, 2]), (.shared, [0, 1, 2]), (.partitions([2, 0]), [0, 2]),
        ] as [(LogAssignment, [Int32])] {
            try reader.subscribe(assignment)
            #expect(try next(reader) == .assigned(expected))
            try reader.seek(partition: 2, to: 2)
            #expect(try next(reader) == .records)
            let offsets = (0..<batch.count).map { "\(batch[$0].partition)/\(batch[$0].offset)" }
            let rest = expected.filter { $0 != 2 }.flatMap { partition in
                (0..<3).map { "\(partition)/\($0)" }
            }
            #expect(offsets == rest + ["2/2"])
            #expect(try next(reader) == .idle)
        }
        #expect(throws: LogError.self) { try reader.seek(partition: 1, to: 0) }
        #expect(throws: LogError.self) { try reader.seek(partition: 3, to: 0) }
        #expect(throws: LogError.self) { try reader.subscribe(.partitions([3])) }
        #expect(throws: LogError.self) { try reader.subscribe(.partitions([-1])) }
    }

    @Test("one partition's offsets end where the next one's begin")
    func keepsPartitionsApart() throws {
        let temporary = try TemporaryLog()
        let log = try temporary.open(topic: "bids", partitionCount: 2)
        try log.writer().append([record("b", partition: 1)])
        let reader = try log.reader(topic: "bids")
        try reader.subscribe(.partitions([0]))
        _ = try next(reader)
        for offset in [0, 1, 1 << 40, Int64.max, -5] {
            try reader.seek(partition: 0, to: offset)
            #expect(try next(reader) == .idle)
        }
    }

    @Test("partitions take turns, and none is left behind")
    func takesTurns() throws {
        let temporary = try TemporaryLog()
        let log = try temporary.open(topic: "bids", partitionCount: 3)
        try log.writer().append(
            (0..<9000).map { record("\($0)", partition: 0) }
                + (0..<3000).map { record("\($0)", partition: 1) } + [record("last", partition: 2)])
        let reader = try log.reader(topic: "bids")
        try reader.subscribe(.all)
        _ = try next(reader)
        var begins: [Int32] = []
        var offsets: [Int32: [Int64]] = [:]
        while try next(reader, maxRecords: 500) == .records {
            #expect(batch.count <= 500)
            begins.append(batch[0].partition)
            for index in 0..<batch.count {
                offsets[batch[index].partition, default: []].append(batch[index].offset)
            }
        }
        #expect(begins.prefix(4) == [0, 1, 2, 1])
        #expect(offsets == [0: Array(0..<9000), 1: Array(0..<3000), 2: [0]])
    }

    @Test("a batch ends with the record that brings it to its byte limit, and nothing is skipped")
    func respectsByteLimits() throws {
        let temporary = try TemporaryLog()
        let log = try temporary.open(topic: "bids", partitionCount: 1)
        let sizes = (0..<40).map { 100 + 37 * $0 } + [500_000, 10]
        try log.writer().append(
            sizes.map { size in
                OutgoingRecord(topic: "bids", key: nil, value: [UInt8](repeating: 1, count: size))
            })
        let reader = try log.reader(topic: "bids")
        try reader.subscribe(.all)
        _ = try next(reader)
        var found: [Int] = []
        while try next(reader, maxBytes: 2000) == .records {
            let lengths = (0..<batch.count).map { batch[$0].value?.count ?? 0 }
            #expect(lengths.dropLast().reduce(0, +) < 2000)
            found += lengths
        }
        #expect(found == sizes)
    }

    @Test("a waiting reader sees what another connection appends meanwhile")
    func waitsForRecords() throws {
        let temporary = try TemporaryLog()
        let log = try temporary.open(topic: "bids", partitionCount: 4)
        let reader = try log.reader(topic: "bids")
        try reader.subscribe(.all)
        _ = try next(reader)
        let start = ContinuousClock.now
        #expect(try next(reader, waitMilliseconds: 60) == .idle)
        #expect(ContinuousClock.now - start >= .milliseconds(60))
        let thread = Thread {
            usleep(50_000)
            _ = try? log.writer().append([record("late", partition: 3)])
        }
        thread.start()
        #expect(try next(reader, waitMilliseconds: 60_000) == .records)
        #expect(batch[0].partition == 3)
    }

    @Test("after looks that found nothing, whatever makes more to read is noticed")
    func noticesAfterQuiet() throws {
        let temporary = try TemporaryLog()
        let log = try temporary.open(topic: "bids", partitionCount: 2)
        try log.createTopic("other", partitionCount: 1)
        let reader = try log.reader(topic: "bids")
        try reader.subscribe(.all)
        _ = try next(reader)
        func expect(_ texts: [String]) throws {
            if !texts.isEmpty {
                #expect(try next(reader) == .records)
                #expect((0..<batch.count).map { ReadRecord(batch[$0]).text } == texts)
            }
            for _ in 0..<3 { #expect(try next(reader) == .idle) }
            #expect(reader.isCaughtUp)
        }
        try expect([])
        try log.writer().append([record("a", partition: 0)])
        try expect(["a"])
        try temporary.open().writer().append([record("x", topic: "other")])
        try expect([])
        try reader.pause(partition: 1)
        try temporary.open().writer().append([record("b", partition: 1)])
        try expect([])
        try reader.resume(partition: 1)
        try expect(["b"])
        try reader.seek(partition: 0, to: 0)
        try expect(["a"])
        try reader.commit([0: 1, 1: 1])
        try expect([])
        try log.writer().append([record("c", partition: 1), record("d", partition: 1)])
        try expect(["c", "d"])
    }

    @Test("an offset by time is exact although timestamps are out of order")
    func findsOffsetsByTime() throws {
        let temporary = try TemporaryLog()
        let log = try temporary.open(topic: "bids", partitionCount: 2)
        var generator = SystemRandomNumberGenerator()
        var timestamps: [Int64] = []
        let writer = try log.writer()
        while timestamps.count < 20_000 {
            let part = (0..<Int.random(in: 1...5000, using: &generator)).map { index in
                Int64(timestamps.count + index) * 10 + Int64.random(in: -9000...9000)
            }
            timestamps += part
            try writer.append(part.map { record("", timestamp: $0) })
        }
        let reader = try log.reader(topic: "bids")
        var earliest: Int64 = 0
        while earliest < timestamps.count {
            let wanted = stride(from: Int64(-10_000), through: 250_000, by: 9973)
            for time in wanted {
                let expected = timestamps.indices.dropFirst(Int(earliest))
                    .first { timestamps[$0] >= time }.map { Int64($0) }
                #expect(try reader.offset(partition: 0, atOrAfter: time) == expected)
            }
            earliest = try log.trim(topic: "bids", partition: 0, before: earliest + 6001)
        }
        #expect(try reader.offset(partition: 0, atOrAfter: 0) == nil)
        #expect(try reader.offset(partition: 1, atOrAfter: 0) == nil)
        #expect(throws: LogError.self) { try reader.offset(partition: 2, atOrAfter: 0) }
    }

    @Test("an offset by time is exact although a later append brought earlier timestamps")
    func remembersTheLatestTime() throws {
        let temporary = try TemporaryLog()
        let log = try temporary.open(topic: "bids", partitionCount: 1)
        let writer = try log.writer()
        for time in [1000, 5, 900] as [Int64] {
            try writer.append([record("\(time)", timestamp: time)])
        }
        let reader = try log.reader(topic: "bids")
        #expect(try reader.offset(partition: 0, atOrAfter: 950) == 0)
        #expect(try reader.offset(partition: 0, atOrAfter: 1001) == nil)
        try log.trim(topic: "bids", partition: 0, before: 1)
        #expect(try reader.offset(partition: 0, atOrAfter: 6) == 2)
        #expect(try reader.offset(partition: 0, atOrAfter: 950) == nil)
    }

    private func next(
        _ reader: any LogReader, maxRecords: Int = 100_000, maxBytes: Int = 1 << 30,
        waitMilliseconds: Int = 0
    ) throws -> LogReading {
        try reader.read(
            into: batch, maxRecords: maxRecords, maxBytes: maxBytes,
            waitMilliseconds: waitMilliseconds)
    }
}
