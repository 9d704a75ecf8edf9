import CRdKafka
import Foundation
import Synchronization

/// The cluster that a test works with: a mock one of its own, or the one that `WEIR_TEST_KAFKA` names.
/// There its topics and groups have names that no other test has, and its topics are deleted at its end.
package final class TestCluster: Sendable {
    package enum Kind: String, CaseIterable, Sendable {
        case mock
        case real

        /// Those that can be had here.
        package static var available: [Kind] {
            allCases.filter { $0 != .real || TestCluster.realBrokers != nil }
        }

        /// The real one where there is one.
        package static var preferred: Kind { TestCluster.realBrokers == nil ? .mock : .real }
    }

    /// `HOST:PORT` of the brokers that `WEIR_TEST_KAFKA` names; nil when it names none.
    package static var realBrokers: [String]? {
        ProcessInfo.processInfo.environment["WEIR_TEST_KAFKA"]
            .map { $0.split(separator: ",").map(String.init) }
    }

    /// The mock cluster; nil when this is a real one.
    package let mock: MockCluster?
    /// `HOST:PORT` of each broker to begin with.
    package let brokers: [String]
    private let suffix: String
    private let topics = Mutex<Set<String>>([])

    package init(_ kind: Kind) throws {
        switch kind {
        case .mock:
            let cluster = try MockCluster()
            mock = cluster
            brokers = cluster.brokers
            suffix = ""
        case .real:
            mock = nil
            brokers = Self.realBrokers ?? []
            suffix = "-test-\(UUID().uuidString.prefix(13).lowercased())"
        }
    }

    deinit {
        let topics = topics.withLock { $0.sorted() }
        if mock == nil { Self.delete(topics, brokers) }
    }

    package var address: String { "kafka://" + brokers.joined(separator: ",") }

    /// What a topic or a group is called here.
    package func name(_ name: String) -> String { name + suffix }

    /// The topic is this test's own.
    package func own(_ topic: String) { topics.withLock { _ = $0.insert(topic) } }

    package func delete(_ topic: String) { Self.delete([topic], brokers) }

    /// Settings of members of a group that are soon found to be away, as far as brokers allow.
    package var hasty: [String: String] {
        [
            // Apache Kafka takes no session below 6 s unless it is told to.
            "session.timeout.ms": mock == nil ? "6000" : "4000",
            "heartbeat.interval.ms": "200",
            "max.poll.interval.ms": mock == nil ? "6500" : "4500",
            "reconnect.backoff.max.ms": "300",
        ]
    }

    private static func delete(_ names: [String], _ brokers: [String]) {
        let configuration = rd_kafka_conf_new()
        rd_kafka_conf_set(
            configuration, "bootstrap.servers", brokers.joined(separator: ","), nil, 0)
        var topics = names.map { rd_kafka_DeleteTopic_new($0) }
        guard !topics.isEmpty, let client = rd_kafka_new(RD_KAFKA_PRODUCER, configuration, nil, 0)
        else {
            rd_kafka_conf_destroy(configuration)
            return
        }
        let queue = rd_kafka_queue_new(client)
        rd_kafka_DeleteTopics(client, &topics, topics.count, nil, queue)
        if let event = rd_kafka_queue_poll(queue, 10_000) { rd_kafka_event_destroy(event) }
        rd_kafka_DeleteTopic_destroy_array(&topics, topics.count)
        rd_kafka_queue_destroy(queue)
        rd_kafka_destroy(client)
    }
}
