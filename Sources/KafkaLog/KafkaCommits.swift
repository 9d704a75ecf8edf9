import CRdKafka
import EventLog

/// Commits offsets of a group, one commit at a time, and waits for the answer no longer than is good for
/// the group: a coordinator that is away is told with a later commit.
final class KafkaCommits {
    private let client: KafkaClient
    private let topic: String
    private let queue: OpaquePointer
    private var committed: [Int32: Int64] = [:]
    private var underWay: [Int32: Int64]?

    private static let patienceMilliseconds: Int32 = 3_000

    init(of client: KafkaClient, topic: String) {
        self.client = client
        self.topic = topic
        queue = rd_kafka_queue_new(client.handle)
    }

    deinit {
        rd_kafka_queue_destroy(queue)
    }

    /// Commits those offsets that differ from what was committed last.
    func commit(_ offsets: [Int32: Int64]) throws(LogError) {
        try takeAnswer(waitMilliseconds: 0)
        guard underWay == nil else { return }
        let new = offsets.filter { committed[$0.key] != $0.value }
        guard !new.isEmpty else { return }
        let list = KafkaPartitions(topic, new.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
        try client.check(
            rd_kafka_commit_queue(client.handle, list.list, queue, nil, nil), "commit offsets to")
        underWay = new
        try takeAnswer(waitMilliseconds: Self.patienceMilliseconds)
        if underWay != nil {
            client.events.logger.warning(
                "the group's coordinator does not answer: offsets are told later")
        }
    }

    private func takeAnswer(waitMilliseconds: Int32) throws(LogError) {
        guard let sent = underWay,
            let event = rd_kafka_queue_poll(queue, waitMilliseconds)
        else { return }
        defer { rd_kafka_event_destroy(event) }
        guard rd_kafka_event_type(event) == RD_KAFKA_EVENT_OFFSET_COMMIT else { return }
        underWay = nil
        let code = rd_kafka_event_error(event)
        switch code {
        case RD_KAFKA_RESP_ERR_NO_ERROR:
            committed.merge(sent) { _, new in new }
        case RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID:
            throw .fenced(
                address: client.address, detail: String(cString: rd_kafka_err2str(code)))
        case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED,
            RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
            throw LogError(code, operation: "commit offsets to", address: client.address)
        default:
            // The partitions are another member's by now, or the cluster is busy.
            client.events.logger.notice(
                "offsets were not taken: \(String(cString: rd_kafka_err2str(code)))")
        }
    }
}
