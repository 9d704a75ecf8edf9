import CRdKafka
import Foundation
import TestKit
import Testing

/// Something that happens to a cluster, and passes.
struct ClusterFault: Sendable, CustomTestStringConvertible {
    var testDescription: String
    /// Begins, and sees to it that it ends.
    var strike: @Sendable (_ cluster: MockCluster, _ topic: String) -> Void

    init(_ name: String, _ strike: @escaping @Sendable (_: MockCluster, _: String) -> Void) {
        testDescription = name
        self.strike = strike
    }

    static let ofBrokers = [
        ClusterFault("one broker goes and comes back") { cluster, _ in
            cluster.setBroker(1, isUp: false)
            after(1.5) { cluster.setBroker(1, isUp: true) }
        },
        ClusterFault("all brokers go and come back") { cluster, _ in
            cluster.setBroker(-1, isUp: false)
            after(1.5) { cluster.setBroker(-1, isUp: true) }
        },
        ClusterFault("all brokers go and come back, three times") { cluster, _ in
            for round in 0..<3 {
                after(Double(round)) { cluster.setBroker(-1, isUp: false) }
                after(Double(round) + 0.4) { cluster.setBroker(-1, isUp: true) }
            }
        },
        ClusterFault("leaders move, twice") { cluster, topic in
            for partition in 0..<3 as Range<Int32> {
                cluster.setLeader(3 - partition, of: topic, partition)
                after(0.7) { cluster.setLeader(1 + partition, of: topic, partition) }
            }
        },
        ClusterFault("there is no leader for a while") { cluster, topic in
            for partition in 0..<3 as Range<Int32> { cluster.setLeader(-1, of: topic, partition) }
            after(1.5) {
                for partition in 0..<3 as Range<Int32> {
                    cluster.setLeader(2, of: topic, partition)
                }
            }
        },
        ClusterFault("a leader goes, and another broker leads") { cluster, topic in
            cluster.setBroker(2, isUp: false)
            after(0.5) {
                for partition in 0..<3 as Range<Int32> {
                    cluster.setLeader(3, of: topic, partition)
                }
            }
        },
        ClusterFault("brokers are slow") { cluster, _ in
            cluster.setDelay(300, ofBroker: -1)
            after(2) { cluster.setDelay(0, ofBroker: -1) }
        },
    ]

    /// Answers with errors that pass, at each kind of request that a reader without a group makes.
    static let ofRequests = [
        MockCluster.Request.fetch, .listOffsets, .metadata,
    ].flatMap { request in passing.map { Self.errors($0, at: request) } }

    /// The same for members of a group.
    static let ofGroupRequests =
        [
            MockCluster.Request.findCoordinator, .joinGroup, .syncGroup, .heartbeat,
            .offsetCommit, .offsetFetch,
        ].map { request in
            ClusterFault("errors at \(request)") { cluster, _ in
                cluster.fail(
                    request,
                    with: [
                        RD_KAFKA_RESP_ERR_NOT_COORDINATOR,
                        RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE,
                        RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS,
                        RD_KAFKA_RESP_ERR__TRANSPORT,
                    ])
            }
        }

    static let passing = [
        RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION, RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE,
        RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT, RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR,
        RD_KAFKA_RESP_ERR_UNKNOWN, RD_KAFKA_RESP_ERR__TRANSPORT,
    ]

    /// Three requests of a kind are answered so.
    static func errors(_ code: rd_kafka_resp_err_t, at request: MockCluster.Request) -> Self {
        let name = String(cString: rd_kafka_err2name(code))
        return ClusterFault("\(name) at \(request)") { cluster, _ in
            cluster.fail(request, with: [code, code, code])
        }
    }
}
