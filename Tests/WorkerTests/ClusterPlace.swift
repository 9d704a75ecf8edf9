import EventLog
import Foundation
import KafkaLog
import Logging
import MockKafka
import Program
import Simulation
import Testing
import Worker

/// A workplace whose log is a Kafka cluster: a mock one in this process, or the one that
/// `WEIR_TEST_KAFKA` names.
final class ClusterPlace {
    let place: Workplace
    private let test: TestCluster
    let log: KafkaLog

    /// - Parameter isHasty: whether members of groups are soon found to be away.
    init(_ kind: TestCluster.Kind, isHasty: Bool = true) throws {
        place = try Workplace()
        test = try TestCluster(kind)
        log = try KafkaLog(
            KafkaSettings(brokers: test.brokers, written: ["reconnect.backoff.max.ms": "300"]),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        guard isHasty else { return }
        let settings = test.hasty.sorted { $0.key < $1.key }.map { "  \($0.key): \($0.value)\n" }
        try place.write("kafka.yaml", "settings:\n" + settings.joined())
    }

    var address: String { test.address }

    /// The cluster, for faults that only a mock one has.
    var cluster: MockCluster { get throws { try #require(test.mock) } }

    /// What a stream's topic is called in this cluster.
    func topic(_ stream: String) -> String { test.name(stream) }

    /// Makes the topic of a stream, of whose records nothing is known yet.
    func makeTopic(_ stream: String, partitionCount: Int32 = 4) throws {
        let topic = topic(stream)
        if let cluster = test.mock {
            try cluster.createTopic(topic, partitionCount: partitionCount)
        } else {
            test.own(topic)
            test.own("\(topic).dlq")
            try log.createTopic(topic, partitionCount: partitionCount)
        }
    }

    /// Deletes the topic of a stream in a real cluster, and makes it again.
    func makeAnew(_ stream: String, partitionCount: Int32) throws {
        test.delete(topic(stream))
        // Brokers take a while to forget it.
        try #require(Wait.until { (try? log.reader(topic: topic(stream))) == nil })
        try log.createTopic(topic(stream), partitionCount: partitionCount)
    }

    /// Configures the stream to fold its topic of this cluster, in small batches.
    func configure(_ stream: String, more: String = "") throws {
        try place.write(
            "\(stream).yaml",
            "topic: \(topic(stream))\nbatch_records: 50\ncommit_interval_ms: 20\n" + more)
    }

    /// Publishes records to the topics of their streams.
    func publish(_ records: [OutgoingRecord]) throws {
        let records = records.map { record in
            var record = record
            record.topic = topic(record.topic)
            return record
        }
        try log.writer().append(records)
    }

    func worker(_ name: String, data: String, _ arguments: [String] = []) throws -> WorkerProcess {
        try WorkerProcess(name, place: place, data: data, address: address, arguments: arguments)
    }

    /// Folds everything there is with a worker process, which is to succeed.
    ///
    /// - Parameter hadMembers: whether workers shared the topic out. A mock cluster then takes no more
    ///   offsets of others, though they are gone.
    func foldAll(_ name: String, data: String, hadMembers: Bool = false) throws {
        let worker = try WorkerProcess(
            name, place: place, data: data, address: address, arguments: ["--until-end"],
            log: "fold.log")
        try worker.waitForExit()
        if hadMembers, test.mock != nil, worker.process.terminationStatus == 1 {
            #expect(worker.logged.contains("were not taken"), "\(worker.logged)")
        } else {
            #expect(worker.process.terminationStatus == 0, "\(worker.logged)")
        }
    }

    /// Everything in a store that follows from the records.
    func contents(_ stream: String, data: String) throws -> [String] {
        try place.contents(stream, data: data).filter { !$0.hasPrefix("store ") }
    }

    /// What a store becomes that folds the same records from an embedded log.
    func embeddedContents(
        of stream: String, _ fold: (WorkerOptions) throws -> Void
    ) throws
        -> [String]
    {
        let embedded = try place.openLog()
        let topic = topic(stream)
        try embedded.createTopic(topic, partitionCount: 4)
        try embedded.writer().append(try outgoing(topic))
        try fold(place.options(data: "embedded"))
        return try contents(stream, data: "embedded")
    }

    private func outgoing(_ topic: String) throws -> [OutgoingRecord] {
        var records: [OutgoingRecord] = []
        try forEachRecord(of: topic) { view in
            var headers: [OutgoingRecord.Header] = []
            view.headers.forEach { name, value in
                let name = String(decoding: name, as: UTF8.self)
                headers.append(.init(name: name, value: value.map { Array($0) }))
                return true
            }
            records.append(
                OutgoingRecord(
                    topic: topic, partition: view.partition,
                    timestampMilliseconds: view.timestampMilliseconds,
                    key: view.key.map { Array($0) }, headers: headers,
                    value: view.value.map { Array($0) }))
        }
        return records
    }

    /// Every record of a topic, in the order of each partition.
    func records(_ topic: String) throws -> [ReadRecord] {
        var records: [ReadRecord] = []
        try forEachRecord(of: topic) { records.append(ReadRecord($0)) }
        return records.sorted { ($0.partition, $0.offset) < ($1.partition, $1.offset) }
    }

    private func forEachRecord(of topic: String, _ body: (RecordView) -> Void) throws {
        let reader = try log.reader(topic: topic)
        defer { reader.close() }
        let ends = try reader.bounds()
        try reader.subscribe(.all)
        let batch = RecordBatch()
        let deadline = Date().addingTimeInterval(Wait.seconds)
        repeat {
            try #require(Date() < deadline, "the topic is read to its end")
            _ = try reader.read(
                into: batch, maxRecords: 1000, maxBytes: 1 << 24, waitMilliseconds: 50)
            for index in 0..<batch.count { body(batch[index]) }
        } while ends.contains { (reader.position(partition: $0.partition) ?? 0) < $0.endOffset }
    }

    /// Waits until a store has folded so many records in all.
    func waitUntilFolded(_ count: Int64, _ stream: String, data: [String]) throws {
        let isFolded = Wait.until(seconds: 2 * Wait.seconds) {
            let folded = data.map { (try? offsets(stream, data: $0)) ?? [:] }
            let best = folded.reduce(into: [:]) { best, offsets in
                best.merge(offsets) { max($0, $1) }
            }
            return best.values.reduce(0, +) >= count
        }
        #expect(isFolded, "\(count) records of \(stream) are folded")
    }

    private func offsets(_ stream: String, data: String) throws -> [Int64: Int64] {
        guard FileManager.default.fileExists(atPath: "\(place.path)/\(data)/\(stream).sqlite")
        else { return [:] }
        var offsets: [Int64: Int64] = [:]
        for partition in 0..<4 as Range<Int64> {
            offsets[partition] = try place.integer(
                "SELECT next_offset FROM partitions WHERE partition = \(partition)",
                stream: stream, data: data)
        }
        return offsets
    }
}
