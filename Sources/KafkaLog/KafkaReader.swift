import CRdKafka
import EventLog

/// Reads one topic of a Kafka cluster, on the caller's thread: rebalances are served within `read`, and
/// records are lent as librdkafka fetched them.
///
/// Partitions that the group gives are handed out by `read` and begin where the caller seeks; those that
/// it takes are handed out before they are given up, so that what was folded of them can be committed.
final class KafkaReader: LogReader {
    struct Assigned {
        /// The next offset that is wanted: librdkafka may still hold others, from before a seek.
        var position: Int64
        /// Where the partition ends, once its end was met.
        var isAtEnd = false
        var isPaused = false
        /// Whether librdkafka was told to fetch it.
        var isFetched = false
        /// Where the partition ended, as far as librdkafka had heard.
        var end: Int64 = -1
    }

    let topic: String
    let group: String?
    let log: KafkaLog
    var consumer: KafkaClient?
    var queue: OpaquePointer?
    var assigned: [Int32: Assigned] = [:]
    /// Partitions that librdkafka holds paused, which it does beyond their assignment.
    var heldPaused: Set<Int32> = []
    /// Partitions whose loss was told, and that are given up with the next read; nil when there is
    /// nothing to answer.
    var leaving: [Int32]?
    /// Whether partitions were told, perhaps none, that are taken with the next read.
    var isGiving = false
    var isShared = false
    private var isAssignmentNew = false
    private var isDoubtful = false
    /// Whether it looks at single records only.
    private let isLooking: Bool
    /// What the last commit left to be answered.
    var commits: KafkaCommits?
    private var places: [UnsafeMutablePointer<rd_kafka_message_t>?] = []

    /// Where a partition begins that the caller does not seek in.
    static let earliest = Int64(RD_KAFKA_OFFSET_BEGINNING)
    /// Most time that one look into the queue takes, in milliseconds, so that an end is noticed.
    private static let sliceMilliseconds = 20

    init(topic: String, group: String?, log: KafkaLog, isLooking: Bool = false) {
        self.topic = topic
        self.group = group
        self.log = log
        self.isLooking = isLooking
    }

    deinit {
        // Without `close` the group notices by its session's time-out.
        if commits?.isUnderWay == true { consumer?.abandon() }
        commits = nil
        if let queue { rd_kafka_queue_destroy(queue) }
    }

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
        noteEnds(of: consumer)
        if !batch.isEmpty { return .records }
        return nextRebalance() ?? .idle
    }

    func takeDoubt() -> Bool {
        defer { isDoubtful = false }
        return isDoubtful
    }

    /// A partition that ends earlier than it did was cut off, or is another one.
    private func noteEnds(of consumer: KafkaClient) {
        for (partition, state) in assigned where state.isFetched {
            var (earliest, end): (Int64, Int64) = (-1, -1)
            // As the last answer said that came with records: the cluster is not asked.
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
            settleRebalances()
            consumer.leaveGroup()
        } else if isShared || commits?.isUnderWay == true {
            // Fenced, it is no member any more; destroyed, it may wait without bound all the same.
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
    /// Takes what librdkafka has fetched, up to the limits, and waits for more.
    private func fetch(
        into batch: RecordBatch, _ messages: KafkaMessages, maxRecords: Int, maxBytes: Int,
        waitMilliseconds: Int
    ) throws(LogError) {
        // Bytes are counted once they are here: records are taken in portions, so that a batch of
        // large ones stays near its limit.
        var wait = waitMilliseconds
        while batch.count < maxRecords, batch.byteCount < maxBytes {
            let portion = min(maxRecords - batch.count, portion(batch, maxBytes))
            if places.count < portion { places = Array(repeating: nil, count: portion) }
            let found = rd_kafka_consume_batch_queue(queue, Int32(wait), &places, portion)
            guard found >= 0 else {
                throw LogError(rd_kafka_last_error(), operation: "read", address: log.address)
            }
            try take(Int(found), into: batch, messages)
            if found > 0 || !isCaughtUp { wakeFetchers() }
            if found < portion { return }
            wait = 0
        }
    }

    /// So many records as the batch has room for, by the size of those that it holds.
    private func portion(_ batch: RecordBatch, _ maxBytes: Int) -> Int {
        guard batch.count > 0 else { return 64 }
        let average = max(batch.byteCount / batch.count, 1)
        return max((maxBytes - batch.byteCount) / average, 1)
    }

    /// Moves what was found into the batch. What cannot be used is freed; so is all of it on an error.
    private func take(
        _ count: Int, into batch: RecordBatch, _ messages: KafkaMessages
    ) throws(LogError) {
        var failure: LogError?
        for place in 0..<count {
            guard let message = places[place] else { continue }
            places[place] = nil
            if failure == nil, isWanted(message.pointee, failure: &failure) {
                messages.keep(message)
                batch.append(borrowed: Self.view(message), from: messages)
                assigned[message.pointee.partition]?.position = message.pointee.offset + 1
                assigned[message.pointee.partition]?.isAtEnd = false
            } else {
                rd_kafka_message_destroy(message)
            }
        }
        if let failure {
            batch.removeAll()
            throw failure
        }
    }

    /// Whether this is a record that is to be read; notes ends and failures.
    private func isWanted(_ message: rd_kafka_message_t, failure: inout LogError?) -> Bool {
        let partition = message.partition
        switch message.err {
        case RD_KAFKA_RESP_ERR_NO_ERROR:
            guard let state = assigned[partition], !state.isPaused else { return false }
            return message.offset >= state.position
        case RD_KAFKA_RESP_ERR__PARTITION_EOF:
            // Behind the last record there may be control records.
            if let state = assigned[partition], message.offset >= state.position {
                assigned[partition]?.position = message.offset
                assigned[partition]?.isAtEnd = true
            }
        case RD_KAFKA_RESP_ERR__BAD_MSG, RD_KAFKA_RESP_ERR__BAD_COMPRESSION:
            failure = .corrupt(
                TopicPartition(topic: topic, partition: partition), offset: message.offset,
                address: log.address)
        case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET, RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE:
            failure = lostPlace(message)
        case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC,
            RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
            failure = .unknownTopic(topic, address: log.address)
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
            log.logger.warning("a batch took longer than max.poll.interval.ms: the group goes on")
        default:
            // librdkafka tries again by itself.
            isDoubtful = true
            log.logger.warning("\(String(cString: rd_kafka_err2str(message.err)))")
        }
        return false
    }

    /// The partition gave nothing at the offset that was wanted: it does not hold it, or something else
    /// is wrong there.
    private func lostPlace(_ message: rd_kafka_message_t) -> LogError {
        let place = TopicPartition(topic: topic, partition: message.partition)
        let offset = assigned[message.partition]?.position ?? message.offset
        let bounds: PartitionBounds?
        do throws(LogError) {
            bounds = try log.bounds(ofTopic: topic, [message.partition]).first
        } catch {
            return error
        }
        guard let bounds, (bounds.earliestOffset...bounds.endOffset).contains(offset) else {
            return .offsetGone(place, offset: offset)
        }
        let words = String(cString: rd_kafka_err2str(message.err))
        return .backend(
            operation: "read", address: log.address,
            detail: "\(place) at offset \(offset), which it holds: \(words)")
    }

    private static func view(_ message: UnsafeMutablePointer<rd_kafka_message_t>) -> RecordView {
        let record = message.pointee
        return RecordView(
            partition: record.partition, offset: record.offset,
            timestampMilliseconds: rd_kafka_message_timestamp(message, nil),
            key: record.key.map { UnsafeRawBufferPointer(start: $0, count: record.key_len) },
            headers: RecordHeaders(of: UnsafeMutableRawPointer(message), readBy: KafkaHeaders.self),
            value: record.payload.map { UnsafeRawBufferPointer(start: $0, count: record.len) })
    }

    /// Wakes the threads that fetch: once their queue was full, those of librdkafka 2.0 look again only
    /// after a second. Setting the credentials anew is the one call that wakes all of them and does
    /// nothing else. Newer ones have `fetch.queue.backoff.ms`.
    private func wakeFetchers() {
        guard let consumer, let (name, password) = log.credentials else { return }
        if let error = rd_kafka_sasl_set_credentials(consumer.handle, name, password) {
            rd_kafka_error_destroy(error)
        }
    }
}
