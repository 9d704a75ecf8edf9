import Engine
import EventLog
import Foundation
import KafkaLog
import Logging
import Program
import Testing

/// A workplace whose log is a Kafka cluster: a mock one in this process, or the one that
/// `WEIR_TEST_KAFKA` names.
package final class ClusterPlace {
    package let place: Workplace
    private let test: TestCluster
    package let log: KafkaLog

    /// - Parameter isHasty: whether members of groups are soon found to be away.
    package init(_ kind: TestCluster.Kind, isHasty: Bool = true) throws {
        place = try Workplace()
        test = try TestCluster(kind)
        log = try KafkaLog(
            KafkaSettings(brokers: test.brokers, written: ["reconnect.backoff.max.ms": "300"]),
            logger: .quiet)
        guard isHasty else { return }
        let settings = test.hasty.sorted { $0.key < $1.key }.map { "  \($0.key): \($0.value)\n" }
        try place.write("kafka.yaml", "settings:\n" + settings.joined())
    }

    package var address: String { test.address }

    /// The cluster, for faults that only a mock one has.
    package var cluster: MockCluster { get throws { try #require(test.mock) } }

    /// What a stream's topic is called in this cluster.
    package func topic(_ stream: String) -> String { test.name(stream) }

    /// Makes the topic of a stream, of whose records nothing is known yet.
    package func makeTopic(_ stream: String, partitionCount: Int32 = 4) throws {
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
    package func recreate(_ stream: String, partitionCount: Int32) throws {
        test.delete(topic(stream))
        // Brokers take a while to forget it.
        try #require(Wait.until { (try? log.reader(topic: topic(stream))) == nil })
        try log.createTopic(topic(stream), partitionCount: partitionCount)
    }

    /// Configures the stream to fold its topic of this cluster, in small batches.
    package func configure(_ stream: String, more: String = "") throws {
        try place.write(
            "\(stream).yaml",
            "topic: \(topic(stream))\nbatch_records: 50\ncommit_interval_ms: 20\n" + more)
    }

    /// Publishes records to the topics of their streams.
    package func publish(_ records: [OutgoingRecord]) throws {
        let records = records.map { record in
            var record = record
            record.topic = topic(record.topic)
            return record
        }
        try log.writer().append(records)
    }

    package func worker(_ name: String, data: String, _ arguments: [String] = []) throws -> Program
    {
        try place.start(name, data: data, log: address, arguments)
    }

    /// Folds everything there is with a worker process, which is to succeed.
    ///
    /// - Parameter hadMembers: whether workers shared the topic out. A mock cluster then takes no more
    ///   offsets of others, though they are gone.
    package func foldAll(_ name: String, data: String, hadMembers: Bool = false) throws {
        let worker = try place.run(name, data: data, log: address)
        if hadMembers, test.mock != nil, worker.status == 1 {
            #expect(worker.error.contains("were not committed"), "\(worker.error)")
        } else {
            #expect(worker.status == 0, "\(worker.error)")
        }
    }

    /// Everything in a store that follows from the records.
    package func contents(_ stream: String, data: String) throws -> [String] {
        try place.contents(stream, data: data, ofOneLog: false)
    }

    /// What a store becomes that folds the same records from an embedded log.
    package func embeddedContents(of stream: String) throws -> [String] {
        let topic = topic(stream)
        try place.publish(
            topic,
            records(topic).map {
                OutgoingRecord(
                    topic: topic, partition: $0.partition,
                    timestampMilliseconds: $0.timestampMilliseconds, key: $0.keyBytes,
                    headers: $0.headerList, value: $0.value)
            })
        try place.fold(stream, place.options(data: "embedded"))
        return try contents(stream, data: "embedded")
    }

    package func records(_ topic: String) throws -> [ReadRecord] { try log.records(of: topic) }

    /// Waits until a store has folded so many records in all.
    package func waitUntilFolded(_ count: Int64, _ stream: String, data: [String]) throws {
        let isFolded = Wait.until(seconds: 2 * Wait.seconds) {
            let folded = data.map { (try? offsets(stream, data: $0)) ?? [:] }
            let best = folded.reduce(into: [:]) { best, offsets in
                best.merge(offsets) { max($0, $1) }
            }
            return best.values.reduce(0, +) >= count
        }
        #expect(isFolded, "\(count) records of \(stream) are folded")
    }

    private func offsets(_ stream: String, data: String) throws -> [Int32: Int64] {
        Dictionary(
            uniqueKeysWithValues: try place.states(stream, data: data).map {
                ($0.partition, $0.nextOffset)
            })
    }
}
