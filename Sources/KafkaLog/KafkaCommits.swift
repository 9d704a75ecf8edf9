import CRdKafka
import EventLog
import Glibc

/// Commits offsets of a group, one commit at a time, and waits for the answer no longer than is good for
/// the group: a coordinator that is away is told with a later commit.
final class KafkaCommits {
    private let client: KafkaClient
    private let topic: String
    private let queue: OpaquePointer
    /// What was taken, and when.
    private var committed: [Int32: (offset: Int64, at: ContinuousClock.Instant)] = [:]
    private var underWay: [Int32: Int64]?
    /// What is to be committed and was not taken yet.
    private var wanted: [Int32: Int64] = [:]
    /// Why the last commit was not taken, if it was not.
    private var refusal: String?
    private var lastTry = ContinuousClock.now

    private static let patienceMilliseconds: Int32 = 3_000
    private static let pause = Duration.seconds(1)
    /// Brokers forget an offset some days after its last commit (`offsets.retention.minutes`), whether
    /// or not its partition had records meanwhile.
    private let repetition: Duration

    /// - Parameter repetition: an offset that does not change is committed again after so long.
    init(of client: KafkaClient, topic: String, repetition: Duration = .seconds(3600)) {
        self.client = client
        self.repetition = repetition
        self.topic = topic
        queue = rd_kafka_queue_new(client.handle)
    }

    deinit {
        rd_kafka_queue_destroy(queue)
    }

    /// Whether an answer is waited for.
    var isUnderWay: Bool { underWay != nil }

    /// Commits those offsets that differ from what was committed last, or were committed long ago.
    func commit(_ offsets: [Int32: Int64]) throws(LogError) {
        try takeAnswer(waitMilliseconds: 0)
        wanted.merge(offsets.filter { isDue($0.key, $0.value) }) { _, new in new }
        guard underWay == nil, !wanted.isEmpty else { return }
        try tell()
        try takeAnswer(waitMilliseconds: Self.patienceMilliseconds)
        if underWay != nil {
            client.events.logger.warning(
                "the group's coordinator does not answer: offsets are told later")
        }
    }

    private func isDue(_ partition: Int32, _ offset: Int64) -> Bool {
        guard let last = committed[partition], last.offset == offset else { return true }
        return last.at.duration(to: .now) >= repetition
    }

    /// Waits until everything is taken, and asks again meanwhile; throws `notTaken` after `patience`.
    func settle(_ patience: Duration) throws(LogError) {
        let deadline = ContinuousClock.now + patience
        while true {
            try tellAgain()
            try takeAnswer(waitMilliseconds: 100)
            guard underWay != nil || !wanted.isEmpty else { return }
            guard ContinuousClock.now < deadline else { break }
            // An answer that is there already is no reason to ask without a pause.
            usleep(20_000)
        }
        throw .notTaken(
            topic: topic, address: client.address,
            detail: refusal ?? "its coordinator does not answer")
    }

    /// Commits what was not taken, now and then, without waiting.
    func tellAgain() throws(LogError) {
        guard underWay != nil || !wanted.isEmpty else { return }
        try takeAnswer(waitMilliseconds: 0)
        guard underWay == nil, !wanted.isEmpty, lastTry.duration(to: .now) > Self.pause else {
            return
        }
        try tell()
    }

    /// Forgets partitions that are another member's from now on.
    func forget(_ partitions: [Int32]) {
        for partition in partitions {
            wanted[partition] = nil
            committed[partition] = nil
        }
    }

    private func tell() throws(LogError) {
        lastTry = .now
        let list = KafkaPartitions(
            topic, wanted.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
        try client.check(
            rd_kafka_commit_queue(client.handle, list.list, queue, nil, nil), "commit offsets to")
        underWay = wanted
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
            refusal = nil
            for (partition, offset) in sent where wanted[partition] != nil {
                committed[partition] = (offset, .now)
                if wanted[partition] == offset { wanted[partition] = nil }
            }
        case RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID:
            throw .fenced(
                address: client.address, detail: String(cString: rd_kafka_err2str(code)))
        case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED,
            RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
            throw LogError(code, operation: "commit offsets to", address: client.address)
        default:
            // The partitions are another member's by now, or the cluster is busy.
            refusal = String(cString: rd_kafka_err2str(code))
            client.events.logger.notice(
                "offsets were not taken: \(String(cString: rd_kafka_err2str(code)))")
        }
    }
}
