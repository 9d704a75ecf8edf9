import CRdKafka
import EventLog
import Foundation
import KafkaLog
import Logging
import TestKit
import Testing

@Suite("A reader of a cluster with faults")
struct ReaderFaultTests {
    /// Little is fetched at a time, so that a fault finds the reader in the middle.
    private static let small = [
        "fetch.message.max.bytes": "2000", "queued.min.messages": "20",
        "queued.max.messages.kbytes": "4", "reconnect.backoff.max.ms": "500",
        "topic.metadata.refresh.interval.ms": "1000",
    ]

    @Test(
        "reads on by itself, and gives every record once and in order",
        arguments: ClusterFault.ofBrokers + ClusterFault.ofRequests)
    func readsOn(fault: ClusterFault) async throws {
        try await onThread {
            let log = try TestLog(.mock, settings: Self.small)
            let cluster = try #require(log.cluster)
            let topic = try log.makeTopic(3)
            for partition in 0..<3 as Range<Int32> {
                cluster.setLeader(1 + partition, of: topic, partition)
            }
            let writer = try log.log.writer()
            try writer.append(Self.records(0..<300, topic))
            let reader = try log.log.reader(topic: topic)
            defer { reader.close() }
            try reader.subscribe(.all)
            var found = Found()
            try found.read(reader, until: 60)
            fault.strike(cluster, topic)
            try found.read(reader, until: 250)
            #expect(try reader.bounds().map(\.endOffset) == [100, 100, 100])
            try writer.append(Self.records(300..<600, topic))
            try found.read(reader, until: 600)
            found.expectAll(200, of: 3)
        }
    }

    @Test("asks the leader's successor where a partition ends, when the leader goes meanwhile")
    func leaderGoesMeanwhile() async throws {
        try await onThread {
            let log = try TestLog(.mock, settings: Self.small)
            let cluster = try #require(log.cluster)
            let topic = try log.makeTopic(1)
            cluster.setLeader(2, of: topic, 0)
            try log.log.writer().append(Self.records(0..<30, topic, partitions: 1))
            let reader = try log.log.reader(topic: topic)
            #expect(try reader.bounds().map(\.endOffset) == [30])
            cluster.setBroker(2, isUp: false)
            after(1) { cluster.setLeader(3, of: topic, 0) }
            #expect(try reader.bounds().map(\.endOffset) == [30])
        }
    }

    @Test("says that an offset is gone, above the end and below the start, and never resets")
    func offsetGone() async throws {
        try await onThread {
            let log = try TestLog(.mock, settings: ["compression.type": "none"])
            let topic = try log.makeTopic(2)
            let writer = try log.log.writer()
            try writer.append(Self.records(0..<90, topic, partitions: 2))
            #expect(throws: Self.gone(topic, 0, 46)) { try Self.read(log, topic, 0, from: 46) }
            #expect(try Self.read(log, topic, 0, from: 45).isEmpty)
            #expect(try Self.read(log, topic, 0, from: 44) == [44])
            // The cluster keeps 5 MiB of a partition.
            let large = [UInt8](repeating: 1, count: 900_000)
            for _ in 0..<10 {
                try writer.append([
                    OutgoingRecord(topic: topic, partition: 1, key: nil, value: large)
                ])
            }
            let bounds = try log.log.reader(topic: topic).bounds(of: [1])
            let earliest = try #require(bounds.first?.earliestOffset)
            try #require(earliest > 0)
            #expect(throws: Self.gone(topic, 1, earliest - 1)) {
                try Self.read(log, topic, 1, from: earliest - 1)
            }
            let rest = try Self.read(log, topic, 1, from: earliest)
            #expect(rest.first == earliest)
            // Without a seek it begins there too.
            #expect(try Self.read(log, topic, 1, from: nil) == rest)
        }
    }

    @Test("ends in words when it may not read", arguments: [true, false])
    func refused(isTopic: Bool) async throws {
        try await onThread {
            let log = try TestLog(.mock)
            let topic = try log.makeTopic(1)
            try log.log.writer().append(Self.records(0..<10, topic, partitions: 1))
            let reader = try log.log.reader(topic: topic, group: "g")
            defer { reader.close() }
            if isTopic {
                try reader.subscribe(.all)
                log.cluster?.fail(.fetch, with: [RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED])
            } else {
                log.cluster?.fail(.joinGroup, with: [RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED])
                try reader.subscribe(.shared)
            }
            let batch = RecordBatch()
            var failure: LogError?
            do throws(LogError) {
                while failure == nil {
                    let reading = try reader.read(
                        into: batch, maxRecords: 10, maxBytes: 1000, waitMilliseconds: 60_000)
                    if reading == .idle { break }
                }
            } catch {
                failure = error
            }
            let words = try #require(failure).description
            #expect(words.contains("cannot read kafka://"))
            #expect(words.contains("uthorization failed"))
        }
    }

    @Test("waits no longer than it says for a cluster that does not answer")
    func lookupsAreBounded() async throws {
        try await onThread {
            let log = try TestLog(.mock)
            let topic = try log.makeTopic(1)
            let reader = try log.log.reader(topic: topic)
            log.cluster?.setBroker(-1, isUp: false)
            let stopwatch = Stopwatch()
            #expect(throws: LogError.self) { try reader.bounds(of: [0]) }
            // It says 10 s.
            #expect(stopwatch.seconds < 30)
            reader.close()
            #expect(stopwatch.seconds < 40)
        }
    }

    private static func records(
        _ range: Range<Int>, _ topic: String, partitions: Int = 3
    ) -> [OutgoingRecord] {
        let filler = String(repeating: ".", count: 100)
        return range.map {
            record("\($0)\(filler)", topic: topic, partition: Int32($0 % partitions))
        }
    }

    private static func gone(_ topic: String, _ partition: Int32, _ offset: Int64) -> LogError {
        .offsetGone(TopicPartition(topic: topic, partition: partition), offset: offset)
    }

    /// The offsets that one partition gives from a place to its end.
    private static func read(
        _ log: TestLog, _ topic: String, _ partition: Int32, from offset: Int64?
    ) throws -> [Int64] {
        let reader = try log.log.reader(topic: topic)
        defer { reader.close() }
        try reader.subscribe(.partitions([partition]))
        let batch = RecordBatch()
        #expect(try reader.readOn(into: batch) == .assigned([partition]))
        if let offset { try reader.seek(partition: partition, to: offset) }
        var offsets: [Int64] = []
        let deadline = ContinuousClock.now + .seconds(60)
        repeat {
            _ = try reader.read(
                into: batch, maxRecords: 1000, maxBytes: 1 << 24, waitMilliseconds: 100)
            offsets += (0..<batch.count).map { batch[$0].offset }
        } while !reader.isCaughtUp && ContinuousClock.now < deadline
        return offsets
    }
}

/// What a reader gave, in its order.
struct Found {
    private(set) var offsets: [Int32: [Int64]] = [:]
    private(set) var count = 0
    private let batch = RecordBatch()

    /// Reads until there are so many records; fails after a minute.
    mutating func read(_ reader: any LogReader, until wanted: Int) throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while count < wanted {
            try #require(ContinuousClock.now < deadline, "\(count) of \(wanted) records came")
            _ = try reader.read(
                into: batch, maxRecords: 20, maxBytes: 1 << 24, waitMilliseconds: 50)
            for index in 0..<batch.count {
                offsets[batch[index].partition, default: []].append(batch[index].offset)
            }
            count += batch.count
        }
    }

    /// Every partition gave its offsets from 0, each once and in order.
    func expectAll(_ count: Int64, of partitionCount: Int32) {
        for partition in 0..<partitionCount {
            #expect(offsets[partition] == Array(0..<count), "partition \(partition)")
        }
    }
}

@Suite("A reader that paused partitions")
struct PausedReaderTests {
    @Test("reads them again once it subscribes anew", arguments: TestLog.Kind.available)
    func resubscribes(kind: TestLog.Kind) async throws {
        try await onThread {
            let log = try TestLog(kind)
            let topic = try log.makeTopic(2)
            try log.log.writer().append(
                (0..<10).map { record("\($0)", topic: topic, partition: Int32($0 % 2)) })
            let reader = try log.log.reader(topic: topic)
            defer { reader.close() }
            let batch = RecordBatch()
            for start in [3, 1, 2] as [Int64] {
                try reader.subscribe(.partitions([0, 1]))
                #expect(try reader.readOn(into: batch) == .assigned([0, 1]))
                for partition in [0, 1] as [Int32] {
                    try reader.seek(partition: partition, to: start)
                }
                var firsts: [Int32: Int64] = [:]
                let deadline = ContinuousClock.now + .seconds(60)
                while firsts.count < 2, ContinuousClock.now < deadline {
                    _ = try reader.read(
                        into: batch, maxRecords: 100, maxBytes: 1 << 20, waitMilliseconds: 50)
                    for index in 0..<batch.count where firsts[batch[index].partition] == nil {
                        firsts[batch[index].partition] = batch[index].offset
                        try reader.pause(partition: batch[index].partition)
                    }
                }
                #expect(firsts == [0: start, 1: start])
            }
        }
    }
}

@Suite("A reader slower than its fetcher")
struct SlowReaderTests {
    @Test("never waits the second that librdkafka 2.0 sleeps once its queue was full")
    func isNotStalled() throws {
        let log = try TestLog(.mock)
        let topic = try log.makeTopic(8)
        let value = [UInt8](repeating: 7, count: 1000)
        try log.log.writer().append(
            (0..<24_000).map { number in
                OutgoingRecord(topic: topic, partition: Int32(number % 8), key: nil, value: value)
            })
        // The queue holds a twelfth of it.
        let small = try KafkaLog(
            KafkaSettings(brokers: log.cluster?.brokers ?? [], memoryBytes: 4 << 20),
            logger: .quiet)
        let reader = try small.reader(topic: topic)
        defer { reader.close() }
        try reader.subscribe(.all)
        let batch = RecordBatch()
        #expect(try reader.readOn(into: batch) == .assigned(Array(0..<8)))
        #expect(try reader.readOn(into: batch) == .records)
        var count = batch.count
        let stopwatch = Stopwatch()
        var longest = 0.0
        while count < 24_000 {
            usleep(15_000)
            let start = stopwatch.seconds
            let reading = try reader.read(
                into: batch, maxRecords: 2000, maxBytes: 1 << 24, waitMilliseconds: 60_000)
            longest = max(longest, stopwatch.seconds - start)
            try #require(reading == .records)
            count += batch.count
        }
        #expect(longest < 0.9)
    }
}
