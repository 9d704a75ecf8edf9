import EventLog
import Foundation
import TestKit
import Testing

/// What every log promises, whichever backend it has.
@Suite("Every log")
struct LogContractTests {
    private let batch = RecordBatch()

    @Test("gives records back in order, each in its partition", arguments: TestLog.Kind.available)
    func keepsOrder(kind: TestLog.Kind) throws {
        let log = try TestLog(kind)
        let topic = try log.makeTopic(3)
        let writer = try log.log.writer()
        for round in 0..<4 {
            let positions = try writer.append(
                (0..<300).map { record("\(round)-\($0)", topic: topic, partition: Int32($0 % 3)) })
            #expect(positions.map(\.partition) == (0..<300).map { Int32($0 % 3) })
            #expect(positions.map(\.offset) == (0..<300).map { Int64(round * 100 + $0 / 3) })
        }
        let found = try log.records(of: topic)
        for partition in 0..<3 {
            let part = found.filter { $0.partition == Int32(partition) }
            #expect(part.map(\.offset) == (0..<400).map { Int64($0) })
            #expect(
                part.map(\.text)
                    == (0..<4).flatMap { round in
                        stride(from: partition, to: 300, by: 3).map { "\(round)-\($0)" }
                    })
        }
    }

    @Test("gives bytes, nulls, empty bytes and headers back", arguments: TestLog.Kind.available)
    func keepsBytes(kind: TestLog.Kind) throws {
        let log = try TestLog(kind)
        let topic = try log.makeTopic(1)
        let large = (0..<800_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
        try log.log.writer().append([
            OutgoingRecord(topic: topic, key: nil, value: nil),
            OutgoingRecord(topic: topic, key: [], value: []),
            OutgoingRecord(
                topic: topic, key: [0, 255],
                headers: [
                    .init("ce_type", "x"), .init(name: "n", value: nil), .init("", ""),
                    .init("ce_type", "second"),
                ],
                value: large),
        ])
        let found = try log.records(of: topic)
        #expect(found.map(\.keyBytes) == [nil, [], [0, 255]])
        #expect(found.map(\.value) == [nil, [], large])
        #expect(found[0].headerList.isEmpty)
        #expect(
            found[2].headerList == [
                .init("ce_type", "x"), .init(name: "n", value: nil), .init("", ""),
                .init("ce_type", "second"),
            ])
    }

    @Test("finds a header by its name, the first of several", arguments: TestLog.Kind.available)
    func findsHeaders(kind: TestLog.Kind) throws {
        let log = try TestLog(kind)
        let topic = try log.makeTopic(1)
        try log.log.writer().append([
            OutgoingRecord(
                topic: topic, key: nil,
                headers: [
                    .init("ce_types", "z"), .init("ce_type", "x"), .init("ce_type", "y"),
                    .init(name: "null", value: nil),
                ], value: []),
            OutgoingRecord(topic: topic, key: nil, value: []),
        ])
        let reader = try log.log.reader(topic: topic)
        defer { reader.close() }
        try reader.subscribe(.all)
        #expect(try reader.readOn(into: batch) == .assigned([0]))
        #expect(try reader.readOn(into: batch, maxRecords: 1) == .records)
        let headers = batch[0].headers
        #expect(headers.first(named: "ce_type").map { Array($0) } == Array("x".utf8))
        #expect(headers.first(named: "null") == nil)
        #expect(headers.first(named: "ce_typ") == nil)
        #expect(!headers.isEmpty)
        let encoded = headers.encodedBytes()
        #expect(try reader.readOn(into: batch, maxRecords: 1) == .records)
        #expect(batch[0].headers.isEmpty)
        #expect(batch[0].headers.encodedBytes().isEmpty)
        encoded.withUnsafeBytes { bytes in
            let again = RecordHeaders(encoded: bytes)
            #expect(again.first(named: "ce_type").map { Array($0) } == Array("x".utf8))
        }
    }

    @Test("sends a key where Kafka's own clients do", arguments: TestLog.Kind.available)
    func partitionsByKey(kind: TestLog.Kind) throws {
        let log = try TestLog(kind)
        let topic = try log.makeTopic(100)
        let foobar = Array("foobar".utf8)
        let positions = try log.log.writer().append([
            OutgoingRecord(topic: topic, key: foobar, value: nil),
            OutgoingRecord(topic: topic, key: nil, value: foobar),
            OutgoingRecord(topic: topic, key: nil, value: nil),
        ])
        #expect(positions.map(\.partition) == [66, 66, 0])
    }

    @Test(
        "reads from where it is sought, and again after another seek",
        arguments: TestLog.Kind.available)
    func seeks(kind: TestLog.Kind) throws {
        let log = try TestLog(kind)
        let topic = try log.makeTopic(2)
        try log.log.writer().append(
            (0..<200).map { record("\($0)", topic: topic, partition: Int32($0 % 2)) })
        let reader = try log.log.reader(topic: topic)
        defer { reader.close() }
        try reader.subscribe(.partitions([1]))
        #expect(try reader.readOn(into: batch) == .assigned([1]))
        for start in [90, 10, 99, 0] as [Int64] {
            try reader.seek(partition: 1, to: start)
            var offsets: [Int64] = []
            while offsets.last != 99 {
                try #require(try reader.readOn(into: batch) == .records)
                offsets += (0..<batch.count).map { batch[$0].offset }
            }
            #expect(offsets == Array(start...99))
            #expect(reader.position(partition: 1) == 100)
        }
        #expect(throws: LogError.self) { try reader.seek(partition: 0, to: 0) }
        #expect(reader.position(partition: 0) == nil)
        #expect(throws: LogError.self) { try reader.subscribe(.partitions([2])) }
    }

    @Test(
        "holds a paused partition back, and loses nothing of it", arguments: TestLog.Kind.available)
    func pauses(kind: TestLog.Kind) throws {
        let log = try TestLog(kind)
        let topic = try log.makeTopic(2)
        let writer = try log.log.writer()
        try writer.append((0..<100).map { record("\($0)", topic: topic, partition: Int32($0 % 2)) })
        let reader = try log.log.reader(topic: topic)
        defer { reader.close() }
        try reader.subscribe(.all)
        #expect(try reader.readOn(into: batch) == .assigned([0, 1]))
        try reader.seek(partition: 0, to: 7)
        try reader.pause(partition: 0)
        var found: [ReadRecord] = []
        while found.count < 50 {
            try #require(try reader.readOn(into: batch) == .records)
            found += batch.copies
        }
        #expect(found.allSatisfy { $0.partition == 1 })
        #expect(
            try reader.read(
                into: batch, maxRecords: 10, maxBytes: 1 << 20, waitMilliseconds: 100) == .idle)
        #expect(reader.position(partition: 0) == 7)
        try reader.resume(partition: 0)
        var offsets: [Int64] = []
        while offsets.last != 49 {
            try #require(try reader.readOn(into: batch, maxRecords: 5) == .records)
            #expect(batch.count <= 5)
            offsets += (0..<batch.count).map { batch[$0].offset }
        }
        #expect(offsets == Array(7...49))
        // And once more, in the middle.
        try reader.pause(partition: 1)
        try writer.append([
            record("p0", topic: topic, partition: 0), record("p1", topic: topic, partition: 1),
        ])
        #expect(try reader.readOn(into: batch) == .records)
        #expect(batch.copies.map(\.text) == ["p0"])
        try reader.resume(partition: 1)
        #expect(try reader.readOn(into: batch) == .records)
        #expect(batch.copies.map(\.text) == ["p1"])
    }

    @Test("a waiting reader sees what is appended meanwhile", arguments: TestLog.Kind.available)
    func waits(kind: TestLog.Kind) throws {
        let log = try TestLog(kind)
        let topic = try log.makeTopic(4)
        let reader = try log.log.reader(topic: topic)
        defer { reader.close() }
        try reader.subscribe(.all)
        #expect(try reader.readOn(into: batch) == .assigned([0, 1, 2, 3]))
        let start = ContinuousClock.now
        #expect(
            try reader.read(
                into: batch, maxRecords: 10, maxBytes: 1 << 20, waitMilliseconds: 60) == .idle)
        #expect(ContinuousClock.now - start >= .milliseconds(59))
        try log.log.writer().append([record("late", topic: topic, partition: 3)])
        #expect(try reader.readOn(into: batch) == .records)
        #expect(batch.copies.map(\.text) == ["late"])
    }

    @Test(
        "a batch holds no more records than it may, and about as many bytes",
        arguments: TestLog.Kind.available)
    func respectsLimits(kind: TestLog.Kind) throws {
        let log = try TestLog(kind)
        let topic = try log.makeTopic(1)
        let value = [UInt8](repeating: 7, count: 1000)
        try log.log.writer().append(
            (0..<900).map { _ in OutgoingRecord(topic: topic, key: nil, value: value) })
        let reader = try log.log.reader(topic: topic)
        defer { reader.close() }
        try reader.subscribe(.all)
        #expect(try reader.readOn(into: batch) == .assigned([0]))
        var count = 0
        while count < 900 {
            let reading = try reader.read(
                into: batch, maxRecords: 70, maxBytes: 50_000, waitMilliseconds: 100)
            guard reading == .records else { continue }
            #expect(batch.count <= 70)
            #expect(batch.byteCount <= 65_000)
            #expect(batch[0].offset == Int64(count))
            count += batch.count
        }
        #expect(count == 900)
    }

    @Test(
        "knows its bounds, and says when a topic or a partition is not there",
        arguments: TestLog.Kind.available)
    func knowsBounds(kind: TestLog.Kind) throws {
        let log = try TestLog(kind)
        let topic = try log.makeTopic(3)
        try log.log.writer().append((0..<5).map { record("\($0)", topic: topic, partition: 1) })
        let reader = try log.log.reader(topic: topic)
        defer { reader.close() }
        #expect(
            try reader.bounds() == [
                PartitionBounds(partition: 0, earliestOffset: 0, endOffset: 0),
                PartitionBounds(partition: 1, earliestOffset: 0, endOffset: 5),
                PartitionBounds(partition: 2, earliestOffset: 0, endOffset: 0),
            ])
        #expect(try reader.bounds(of: [1]).map(\.endOffset) == [5])
        #expect(throws: LogError.self) { try reader.bounds(of: [3]) }
        #expect(try reader.partitionCount() == 3)
        #expect(try !reader.identity().isEmpty)
        #expect(try log.log.topics().first { $0.name == topic }?.partitionCount == 3)
        let beyond = LogError.unknownPartition(
            TopicPartition(topic: topic, partition: 3), partitionCount: 3)
        #expect(throws: beyond) {
            try log.log.writer().append([record("x", topic: topic, partition: 3)])
        }
        // The mock cluster makes every topic that is asked for.
        guard kind != .mock else { return }
        #expect(throws: LogError.unknownTopic("absent-topic", address: log.log.address)) {
            try log.log.reader(topic: "absent-topic")
        }
    }

    @Test(
        "keeps a group's offsets, each for its topic and group", arguments: TestLog.Kind.available)
    func keepsGroupOffsets(kind: TestLog.Kind) throws {
        let log = try TestLog(kind)
        let topic = try log.makeTopic(3)
        let group = "g-\(UUID().uuidString)"
        do {
            let reader = try log.log.reader(topic: topic, group: group)
            defer { reader.close() }
            #expect(try reader.committedOffsets().isEmpty)
            // Some programs end theirs with a zero.
            try reader.commit([0: 10, 2: GroupOffset(20, metadata: "another's\u{0}")])
            try reader.commit([0: GroupOffset(11, metadata: "10 éa")])
            let other = try log.log.reader(topic: topic, group: "\(group)-other")
            try other.commit([1: 1])
            other.close()
        }
        let again = try log.log.reader(topic: topic, group: group)
        defer { again.close() }
        let told = try again.committedOffsets()
        #expect(told.mapValues(\.next) == [0: 11, 2: 20])
        #expect(told[0]?.metadata == (kind == .embedded ? "" : "10 éa"))
        #expect(told[2]?.metadata == (kind == .embedded ? "" : "another's"))
        let nobody = try log.log.reader(topic: topic)
        defer { nobody.close() }
        #expect(try nobody.committedOffsets().isEmpty)
    }

    @Test(
        "records that were lent stay in place until their batch is emptied",
        arguments: TestLog.Kind.available)
    func lendsBytes(kind: TestLog.Kind) throws {
        let log = try TestLog(kind)
        let topic = try log.makeTopic(1)
        try log.log.writer().append((0..<500).map { record("\($0)", topic: topic) })
        let first = RecordBatch()
        let second = RecordBatch()
        do {
            let reader = try log.log.reader(topic: topic)
            try reader.subscribe(.all)
            #expect(try reader.readOn(into: first) == .assigned([0]))
            #expect(try reader.readOn(into: first, maxRecords: 100) == .records)
            #expect(try reader.readOn(into: second, maxRecords: 100) == .records)
            reader.close()
        }
        #expect(first.position(0).offset == 0)
        first.remove(at: 0)
        #expect((0..<first.count).allSatisfy { ReadRecord(first[$0]).text == "\($0 + 1)" })
        let start = Int(second.position(0).offset)
        #expect((0..<second.count).allSatisfy { ReadRecord(second[$0]).text == "\(start + $0)" })
    }
}
