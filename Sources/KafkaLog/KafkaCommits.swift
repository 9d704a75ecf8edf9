import CRdKafka
import EventLog
import Glibc

/// Commits offsets of a group, one commit at a time. It does not wait long for the answer, which would delay the
/// group: a later commit sends again any offsets that the coordinator missed.
final class KafkaCommits {
    private let client: KafkaClient
    private let topic: String
    private let queue: OpaquePointer
    /// Accepted offsets, and when.
    private var committed: [Int32: (offset: GroupOffset, at: ContinuousClock.Instant)] = [:]
    private var underWay: [Int32: GroupOffset]?
    /// Offsets to commit that are not accepted yet.
    private var wanted: [Int32: GroupOffset] = [:]
    /// Why the last commit was not accepted; nil if it was.
    private var refusal: String?
    /// When a refusal was last logged. Commits repeat several times a second.
    private var lastNotice = ContinuousClock.now
    private static let noticeInterval = Duration.seconds(60)
    private var lastTry = ContinuousClock.now

    private static let patienceMilliseconds: Int32 = 3_000
    private static let pause = Duration.seconds(1)
    /// Brokers expire an offset some days after its last commit (`offsets.retention.minutes`), even if its partition
    /// had no records.
    private let repetition: Duration

    /// - Parameter repetition: after this time an unchanged offset is committed again.
    init(of client: KafkaClient, topic: String, repetition: Duration = .seconds(3600)) {
        self.client = client
        self.repetition = repetition
        self.topic = topic
        queue = rd_kafka_queue_new(client.handle)
    }

    deinit {
        rd_kafka_queue_destroy(queue)
    }

    var isUnderWay: Bool { underWay != nil }

    /// Commits the offsets that differ from the last accepted ones, or were accepted long ago.
    func commit(_ offsets: [Int32: GroupOffset]) throws(LogError) {
        try takeAnswer(waitMilliseconds: 0)
        wanted.merge(offsets.filter { isDue($0.key, $0.value) }) { _, new in new }
        guard underWay == nil, !wanted.isEmpty else { return }
        try tell()
        try takeAnswer(waitMilliseconds: Self.patienceMilliseconds)
        if underWay != nil {
            client.events.logger.warning(
                "the group's coordinator does not answer: offsets are committed later")
        }
    }

    private func isDue(_ partition: Int32, _ offset: GroupOffset) -> Bool {
        guard let last = committed[partition], last.offset.next == offset.next else { return true }
        return last.at.duration(to: .now) >= repetition
    }

    /// Waits until everything is accepted, retrying; throws `notTaken` after `patience`.
    func awaitAcceptance(_ patience: Duration) throws(LogError) {
        let deadline = ContinuousClock.now + patience
        while true {
            try tellAgain()
            try takeAnswer(waitMilliseconds: 100)
            guard underWay != nil || !wanted.isEmpty else { return }
            guard ContinuousClock.now < deadline else { break }
            // Without a pause an immediate refusal would cause a busy loop.
            usleep(20_000)
        }
        throw .notTaken(
            topic: topic, address: client.address,
            detail: refusal ?? "its coordinator does not answer")
    }

    /// Retries rejected offsets, at most once a second and without waiting.
    func tellAgain() throws(LogError) {
        guard underWay != nil || !wanted.isEmpty else { return }
        try takeAnswer(waitMilliseconds: 0)
        guard underWay == nil, !wanted.isEmpty, lastTry.duration(to: .now) > Self.pause else {
            return
        }
        try tell()
    }

    /// Forgets partitions that now belong to another member.
    func forget(_ partitions: [Int32]) {
        for partition in partitions {
            wanted[partition] = nil
            committed[partition] = nil
        }
    }

    private func tell() throws(LogError) {
        lastTry = .now
        let list = KafkaPartitions(
            topic, wanted.sorted { $0.key < $1.key }.map { ($0.key, $0.value.next) })
        for index in list.elements.indices {
            list.elements[index].metadataText =
                wanted[list.elements[index].partition]?.metadata ?? ""
        }
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
            // The partitions belong to another member, or the cluster is busy.
            let reason = String(cString: rd_kafka_err2str(code))
            if refusal != reason || lastNotice.duration(to: .now) > Self.noticeInterval {
                client.events.logger.notice("offsets were not committed: \(reason)")
                lastNotice = .now
            }
            refusal = reason
        }
    }
}
