import CRdKafka
import EventLog

/// Reads one topic of a Kafka cluster on the caller's thread. `read` serves rebalances and borrows records as
/// librdkafka fetched them.
///
/// `read` returns assigned partitions, which begin where the caller seeks. It returns revoked ones before it releases
/// them, so that the caller can commit its progress.
final class KafkaReader: LogReader {
    struct Assigned {
        /// The next offset to read. librdkafka may still hold records from before a seek.
        var position: Int64
        /// Whether its end was reached.
        var isAtEnd = false
        var isPaused = false
        /// Whether librdkafka fetches it.
        var isFetched = false
        /// The end of the partition as last reported by librdkafka.
        var end: Int64 = -1
    }

    let topic: String
    let group: String?
    let log: KafkaLog
    var consumer: KafkaClient?
    var queue: OpaquePointer?
    var assigned: [Int32: Assigned] = [:]
    /// Partitions paused in librdkafka, which keeps them paused beyond their assignment.
    var heldPaused: Set<Int32> = []
    /// Revoked partitions that `read` has returned and that the next read releases; nil without a rebalance to
    /// answer.
    var leaving: [Int32]?
    /// Whether `read` has returned assigned partitions, perhaps none, that the next read starts to fetch.
    var isGiving = false
    var isShared = false
    private var isAssignmentNew = false
    private var isDoubtful = false
    /// When the reader last asked the cluster whether the topic exists.
    private var lastTopicLook: ContinuousClock.Instant?
    /// Whether the reader is for single records.
    private let isLooking: Bool
    var commits: KafkaCommits?
    private var fetched: [UnsafeMutablePointer<rd_kafka_message_t>?] = []

    /// The start of a partition without a seek.
    static let earliest = Int64(RD_KAFKA_OFFSET_BEGINNING)
    /// The longest wait for records in milliseconds, so that the reader notices an end soon.
    private static let sliceMilliseconds = 20
    /// After this time without a record the reader asks the brokers for an answer, with the timeout below.
    private static let silence = Duration.seconds(5)
    private static let answerMilliseconds: Int32 = 1000
    /// When brokers last sent a record or answered.
    private var lastAnswer = ContinuousClock.now

    init(topic: String, group: String?, log: KafkaLog, isLooking: Bool = false) {
        self.topic = topic
        self.group = group
        self.log = log
        self.isLooking = isLooking
    }

    deinit {
        // Without `close` the group notices by the session timeout.
        if commits?.isUnderWay == true { consumer?.abandon() }
        commits = nil
        if let queue { rd_kafka_queue_destroy(queue) }
    }

    var batchBytes: Int { log.settings.batchBytes }

    var isCaughtUp: Bool {
        assigned.values.allSatisfy { $0.isAtEnd || $0.isPaused }
    }

    func position(partition: Int32) -> Int64? { assigned[partition].map { max($0.position, 0) } }

    func subscribe(_ assignment: LogAssignment) throws(LogError) {
        let consumer = try openConsumer()
        switch assignment {
        case .all: try assign(Array(0..<partitionCount()))
        case .partitions(let partitions): try assign(partitions)
        case .shared:
            isShared = true
            let list = KafkaPartitions(topic, [(-1, -1)])
            try consumer.check(rd_kafka_subscribe(consumer.handle, list.list), "subscribe to")
            consumer.events.isWaitingForFirstShare = true
        }
    }

    private func assign(_ partitions: [Int32]) throws(LogError) {
        let count = try partitionCount()
        if let unknown = partitions.first(where: { !(0..<count).contains($0) }) {
            throw .unknownPartition(
                TopicPartition(topic: topic, partition: unknown), partitionCount: count)
        }
        isShared = false
        assigned = [:]
        for partition in partitions { assigned[partition] = Assigned(position: Self.earliest) }
        isAssignmentNew = true
        isGiving = true
    }

    func read(
        into batch: RecordBatch, maxRecords: Int, maxBytes: Int, waitMilliseconds: Int
    ) throws(LogError) -> LogReading {
        batch.removeAll()
        let consumer = try openConsumer()
        try consumer.checkFatal()
        if isAssignmentNew {
            isAssignmentNew = false
            return .assigned(assigned.keys.sorted())
        }
        try applyAssignment()
        try commits?.tellAgain()
        if let change = nextRebalance() { return change }
        let deadline = ContinuousClock.now + .milliseconds(waitMilliseconds)
        let messages = KafkaMessages(of: consumer)
        while true {
            let left = Int(ContinuousClock.now.duration(to: deadline) / .milliseconds(1))
            let isLastLook = left <= 0
            let slice = min(max(left, 0), Self.sliceMilliseconds)
            try fetch(
                into: batch, messages, maxRecords: maxRecords, maxBytes: maxBytes,
                waitMilliseconds: slice)
            let isFull = batch.count >= maxRecords || batch.byteCount >= maxBytes
            if isFull || isLastLook { break }
            if !consumer.events.rebalances.isEmpty || isCaughtUp && !batch.isEmpty { break }
        }
        updateEnds(of: consumer)
        if !batch.isEmpty { return .records }
        return nextRebalance() ?? .idle
    }

    func takeDoubt() -> Bool {
        defer { isDoubtful = false }
        return isDoubtful
    }

    func requireAnswer() throws(LogError) {
        guard let consumer, lastAnswer.duration(to: .now) > Self.silence else { return }
        // Only the topics that the client knows, so that the answer is short.
        var metadata: UnsafePointer<rd_kafka_metadata>?
        let code = rd_kafka_metadata(consumer.handle, 0, nil, &metadata, Self.answerMilliseconds)
        if let metadata { rd_kafka_metadata_destroy(metadata) }
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
            throw .unavailable(
                operation: "read", address: log.address,
                detail: "no broker can be reached: check the address and the cluster")
        }
        lastAnswer = .now
    }

    /// A partition that ends earlier than before was truncated or recreated.
    private func updateEnds(of consumer: KafkaClient) {
        for (partition, state) in assigned where state.isFetched {
            var (earliest, end): (Int64, Int64) = (-1, -1)
            // From the last answer with records; this does not ask the cluster.
            let code = rd_kafka_get_watermark_offsets(
                consumer.handle, topic, partition, &earliest, &end)
            guard code == RD_KAFKA_RESP_ERR_NO_ERROR, end >= 0 else { continue }
            if end < state.end { isDoubtful = true }
            assigned[partition]?.end = end
        }
    }

    func close() {
        guard let consumer else { return }
        if isShared, consumer.fatal == nil {
            answerRebalances()
            consumer.leaveGroup()
        } else if isShared || commits?.isUnderWay == true {
            // A fenced client has left the group, and destroying it may still wait without bound.
            consumer.abandon()
        }
        commits = nil
        if let queue { rd_kafka_queue_destroy(queue) }
        queue = nil
        assigned = [:]
        self.consumer = nil
    }

    func openConsumer() throws(LogError) -> KafkaClient {
        if let consumer { return consumer }
        let opened = try log.openConsumer(group: group, isLooking: isLooking)
        try opened.check(rd_kafka_poll_set_consumer(opened.handle), "read")
        queue = rd_kafka_queue_get_consumer(opened.handle)
        consumer = opened
        return opened
    }
}

// MARK: Fetching

extension KafkaReader {
    /// Takes fetched records up to the limits, and waits for more.
    private func fetch(
        into batch: RecordBatch, _ messages: KafkaMessages, maxRecords: Int, maxBytes: Int,
        waitMilliseconds: Int
    ) throws(LogError) {
        // The size of a record is known only after taking it. So the reader takes portions, and a batch of large
        // records stays near its limit.
        var wait = waitMilliseconds
        while batch.count < maxRecords, batch.byteCount < maxBytes {
            let portion = min(maxRecords - batch.count, portion(batch, maxBytes))
            if fetched.count < portion { fetched = Array(repeating: nil, count: portion) }
            let found = rd_kafka_consume_batch_queue(queue, Int32(wait), &fetched, portion)
            guard found >= 0 else {
                throw LogError(rd_kafka_last_error(), operation: "read", address: log.address)
            }
            if found > 0 { lastAnswer = .now }
            try take(Int(found), into: batch, messages)
            if found > 0 || !isCaughtUp { wakeFetchers() }
            if found < portion { return }
            wait = 0
        }
    }

    /// How many records fit into the batch, by the average size of its records.
    private func portion(_ batch: RecordBatch, _ maxBytes: Int) -> Int {
        guard batch.count > 0 else { return 64 }
        let average = max(batch.byteCount / batch.count, 1)
        return max((maxBytes - batch.byteCount) / average, 1)
    }

    /// Moves fetched records into the batch and frees unwanted ones; after an error it frees all.
    private func take(
        _ count: Int, into batch: RecordBatch, _ messages: KafkaMessages
    ) throws(LogError) {
        var failure: LogError?
        // Records of a partition follow each other, so each run needs one lookup of its state.
        var partition: Int32 = -1
        var state: Assigned?
        for index in 0..<count {
            guard let message = fetched[index] else { continue }
            fetched[index] = nil
            let record = message.pointee
            if record.partition != partition {
                if let state { assigned[partition] = state }
                partition = record.partition
                state = assigned[partition]
            }
            if failure == nil, record.err == RD_KAFKA_RESP_ERR_NO_ERROR, let current = state,
                !current.isPaused, record.offset >= current.position
            {
                messages.keep(message)
                batch.append(borrowed: Self.view(message), from: messages)
                state?.position = record.offset + 1
                state?.isAtEnd = false
                continue
            }
            if failure == nil, record.err != RD_KAFKA_RESP_ERR_NO_ERROR {
                if let state { assigned[partition] = state }
                handle(record, failure: &failure)
                state = assigned[partition]
            }
            rd_kafka_message_destroy(message)
        }
        if let state { assigned[partition] = state }
        if let failure {
            batch.removeAll()
            throw failure
        }
    }

    /// Handles a message without a record: an end or a failure.
    private func handle(_ message: rd_kafka_message_t, failure: inout LogError?) {
        let partition = message.partition
        switch message.err {
        case RD_KAFKA_RESP_ERR__PARTITION_EOF:
            // Control records may follow the last record.
            if let state = assigned[partition], message.offset >= state.position {
                assigned[partition]?.position = message.offset
                assigned[partition]?.isAtEnd = true
            }
        case RD_KAFKA_RESP_ERR__BAD_MSG, RD_KAFKA_RESP_ERR__BAD_COMPRESSION:
            failure = .corrupt(
                TopicPartition(topic: topic, partition: partition), offset: message.offset,
                address: log.address)
        case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET, RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE:
            failure = lostPosition(message)
        case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC,
            RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
            // A starting broker reports topics as unknown, and librdkafka continues once it is ready.
            if let fault = missingTopic() {
                failure = fault
            } else {
                isDoubtful = true
            }
        case RD_KAFKA_RESP_ERR__FATAL, RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID:
            failure =
                consumer?.fatal
                ?? LogError(message.err, operation: "read", address: log.address)
        case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED,
            RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED,
            RD_KAFKA_RESP_ERR_INCONSISTENT_GROUP_PROTOCOL,
            RD_KAFKA_RESP_ERR_INVALID_SESSION_TIMEOUT:
            failure = LogError(message.err, operation: "read", address: log.address)
        case RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED:
            log.logger.warning(
                "a batch took longer than max.poll.interval.ms: the group reassigns the partitions")
        default:
            // librdkafka retries by itself.
            isDoubtful = true
            log.logger.warning("\(String(cString: rd_kafka_err2str(message.err)))")
        }
    }

    /// The error for a topic that is missing in the cluster; nil if it exists or the cluster does not answer now.
    /// Asks once for all partitions that report it.
    private func missingTopic() -> LogError? {
        if let lastTopicLook, lastTopicLook.duration(to: .now) < KafkaClient.patience { return nil }
        do throws(LogError) {
            _ = try log.partitionCount(ofTopic: topic)
        } catch {
            if case .unknownTopic = error { return error }
        }
        lastTopicLook = .now
        return nil
    }

    /// The partition returned nothing at the wanted offset: it does not hold the offset, or something else is wrong.
    private func lostPosition(_ message: rd_kafka_message_t) -> LogError {
        let topicPartition = TopicPartition(topic: topic, partition: message.partition)
        let offset = assigned[message.partition]?.position ?? message.offset
        let bounds: PartitionBounds?
        do throws(LogError) {
            bounds = try log.bounds(ofTopic: topic, [message.partition]).first
        } catch {
            return error
        }
        guard let bounds, (bounds.earliestOffset...bounds.endOffset).contains(offset) else {
            return .offsetGone(topicPartition, offset: offset)
        }
        let explanation = String(cString: rd_kafka_err2str(message.err))
        return .backend(
            operation: "read", address: log.address,
            detail: "\(topicPartition) at offset \(offset), which exists: \(explanation)")
    }

    private static func view(_ message: UnsafeMutablePointer<rd_kafka_message_t>) -> RecordView {
        let record = message.pointee
        let value = record.payload.map { UnsafeRawBufferPointer(start: $0, count: record.len) }
        return RecordView(
            partition: record.partition, offset: record.offset,
            timestampMilliseconds: rd_kafka_message_timestamp(message, nil),
            key: record.key.map { UnsafeRawBufferPointer(start: $0, count: record.key_len) },
            headers: RecordHeaders(
                of: UnsafeMutableRawPointer(message), value: value, readBy: KafkaHeaders.self),
            value: value)
    }

    /// Wakes the fetching threads: after their queue was full, those of librdkafka 2.0 look again only after a
    /// second. Setting the credentials again is the only call that wakes all of them without another effect. Newer
    /// versions have `fetch.queue.backoff.ms`.
    private func wakeFetchers() {
        guard let consumer, let (name, password) = log.credentials else { return }
        if let error = rd_kafka_sasl_set_credentials(consumer.handle, name, password) {
            rd_kafka_error_destroy(error)
        }
    }
}

/// The cluster's state of the topic and the group.
extension KafkaReader {
    func identity() throws(LogError) -> String { try log.identity() }

    func partitionCount() throws(LogError) -> Int32 { try log.partitionCount(ofTopic: topic) }

    func bounds(of partitions: [Int32]) throws(LogError) -> [PartitionBounds] {
        try log.bounds(ofTopic: topic, partitions)
    }

    func knownBounds(
        of partitions: [Int32]
    ) throws(LogError) -> (bounds: [PartitionBounds], faults: [Int32: LogError]) {
        try log.knownBounds(ofTopic: topic, partitions)
    }

    func offset(
        partition: Int32, atOrAfter timestampMilliseconds: Int64
    ) throws(LogError) -> Int64? {
        // Kafka uses negative timestamps for the ends of a partition.
        let found = try log.offsets(
            ofTopic: topic, [(partition, max(timestampMilliseconds, 0))])
        return found[partition].flatMap { $0 >= 0 ? $0 : nil }
    }

    var keepsMetadata: Bool { true }

    func committedOffsets() throws(LogError) -> [Int32: GroupOffset] {
        guard group != nil else { return [:] }
        let consumer = try openConsumer()
        let count = try partitionCount()
        let list = KafkaPartitions(topic, (0..<count).map { ($0, Int64(RD_KAFKA_OFFSET_INVALID)) })
        let code = log.patiently { left in
            let code = rd_kafka_committed(consumer.handle, list.list, left)
            let failed = list.elements.first { $0.err != RD_KAFKA_RESP_ERR_NO_ERROR }
            return code == RD_KAFKA_RESP_ERR_NO_ERROR ? failed?.err ?? code : code
        }
        try consumer.check(code, "ask for the group's offsets in")
        var offsets: [Int32: GroupOffset] = [:]
        for element in list.elements where element.offset >= 0 {
            offsets[element.partition] = GroupOffset(element.offset, metadata: element.metadataText)
        }
        return offsets
    }

    func commit(_ offsets: [Int32: GroupOffset]) throws(LogError) {
        guard group != nil else { return }
        let consumer = try openConsumer()
        let commits = commits ?? KafkaCommits(of: consumer, topic: topic)
        self.commits = commits
        try commits.commit(offsets)
    }

    func awaitCommits(_ patience: Duration) throws(LogError) {
        try commits?.awaitAcceptance(patience)
    }
}
