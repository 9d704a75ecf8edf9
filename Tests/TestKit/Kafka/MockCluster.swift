import CRdKafka

/// librdkafka's mock cluster: brokers of the real protocol on loopback, in this process. Other processes
/// may use it too. Its records are in memory, at most 5 MiB a partition; it knows no topic settings, no
/// offsets by time, and answers two joins of a group no sooner than in 3 s.
///
/// `@unchecked Sendable`: librdkafka serves every call on the cluster's own thread.
package final class MockCluster: @unchecked Sendable {
    private let client: OpaquePointer
    private let cluster: OpaquePointer
    /// `HOST:PORT` of each broker.
    package let brokers: [String]

    /// Starts brokers, numbered from 1.
    package init(brokerCount: Int32 = 3) throws {
        var text = [CChar](repeating: 0, count: 512)
        guard let client = rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), &text, text.count),
            let cluster = rd_kafka_mock_cluster_new(client, brokerCount)
        else { throw NoCluster() }
        self.client = client
        self.cluster = cluster
        let addresses = rd_kafka_mock_cluster_bootstraps(cluster).map { String(cString: $0) } ?? ""
        brokers = addresses.split(separator: ",").map(String.init)
    }

    deinit {
        rd_kafka_mock_cluster_destroy(cluster)
        rd_kafka_destroy(client)
    }

    package var address: String { "kafka://" + brokers.joined(separator: ",") }

    package func createTopic(_ name: String, partitionCount: Int32, replicas: Int32 = 1) throws {
        let code = rd_kafka_mock_topic_create(cluster, name, partitionCount, replicas)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else { throw NoCluster() }
    }

    /// Takes a broker away, or brings it back; -1: all of them.
    package func setBroker(_ id: Int32, isUp: Bool) {
        if isUp {
            rd_kafka_mock_broker_set_up(cluster, id)
        } else {
            _ = Spawning.apart { rd_kafka_mock_broker_set_down(cluster, id) }
        }
    }

    /// Delays every answer of a broker; -1: of all of them.
    package func setDelay(_ milliseconds: Int32, ofBroker id: Int32) {
        rd_kafka_mock_broker_set_rtt(cluster, id, milliseconds)
    }

    /// Moves the leadership of a partition; -1: there is none.
    package func setLeader(_ id: Int32, of topic: String, _ partition: Int32) {
        rd_kafka_mock_partition_set_leader(cluster, topic, partition, id)
    }

    package func setCoordinator(_ id: Int32, ofGroup group: String) {
        rd_kafka_mock_coordinator_set(cluster, "group", group, id)
    }

    /// The next requests of a kind are answered with these errors.
    package func fail(_ request: Request, with errors: [rd_kafka_resp_err_t]) {
        rd_kafka_mock_push_request_errors_array(cluster, request.rawValue, errors.count, errors)
    }

    /// Kinds of requests, by the numbers of Kafka's protocol.
    package enum Request: Int16, CaseIterable, Sendable {
        case produce = 0
        case fetch = 1
        case listOffsets = 2
        case metadata = 3
        case offsetCommit = 8
        case offsetFetch = 9
        case findCoordinator = 10
        case joinGroup = 11
        case heartbeat = 12
        case syncGroup = 14
    }

    /// The library could not start brokers.
    package struct NoCluster: Error {}
}
