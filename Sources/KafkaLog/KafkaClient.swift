import CRdKafka
import EventLog
import Glibc
import Logging

/// One handle of librdkafka, destroyed with its last owner. Used by one thread at a time; librdkafka's own threads
/// call back only to log.
final class KafkaClient {
    enum Kind {
        case consumer
        case producer
    }

    /// `kafka://HOST:PORT`, for messages.
    let address: String
    let handle: OpaquePointer
    let events: KafkaEvents

    /// Timeout for the cluster's answer.
    static let patience = Duration.seconds(10)
    /// `patience` in milliseconds.
    static let patienceMilliseconds: Int32 = 10_000
    /// Timeout for one broker before asking another; otherwise an unreachable broker would use up all of `patience`.
    static let brokerMilliseconds: Int32 = 2_000

    init(
        _ kind: Kind, _ settings: [(String, String)], of owner: KafkaSettings, address: String,
        logger: Logger
    ) throws(LogError) {
        self.address = address
        events = KafkaEvents(logger: logger)
        guard let configuration = rd_kafka_conf_new() else {
            throw .backend(operation: "open", address: address, detail: "no memory")
        }
        var text = [CChar](repeating: 0, count: 512)
        for (name, value) in settings {
            guard
                rd_kafka_conf_set(configuration, name, value, &text, text.count) == RD_KAFKA_CONF_OK
            else {
                rd_kafka_conf_destroy(configuration)
                throw .badSetting(
                    owner.subject(name), detail: "is invalid: \(Self.explanation(text))")
            }
        }
        rd_kafka_conf_set_opaque(configuration, Unmanaged.passUnretained(events).toOpaque())
        KafkaEvents.listen(configuration, isConsumer: kind == .consumer)
        let type = kind == .consumer ? RD_KAFKA_CONSUMER : RD_KAFKA_PRODUCER
        guard let handle = rd_kafka_new(type, configuration, &text, text.count) else {
            rd_kafka_conf_destroy(configuration)
            throw .backend(operation: "open", address: address, detail: Self.explanation(text))
        }
        self.handle = handle
    }

    deinit {
        guard !events.isWaitingForFirstShare else {
            // librdkafka 2.0 aborts with a failed assertion if it destroys a member that joined and was never
            // assigned its share. Such a client is leaked until the process ends, with its callbacks.
            _ = Unmanaged.passRetained(events)
            return
        }
        rd_kafka_destroy_flags(handle, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE)
    }

    /// Throws once the client has failed permanently, for example because another member uses its name.
    func checkFatal() throws(LogError) {
        if events.hasFailed, let fatal { throw fatal }
    }

    /// Why the client has failed permanently; nil while it works.
    var fatal: LogError? {
        var text = [CChar](repeating: 0, count: 512)
        let code = rd_kafka_fatal_error(handle, &text, text.count)
        guard code != RD_KAFKA_RESP_ERR_NO_ERROR else { return nil }
        return code == RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID
            ? .fenced(address: address, detail: Self.explanation(text))
            : .backend(operation: "continue with", address: address, detail: Self.explanation(text))
    }

    func check(_ code: rd_kafka_resp_err_t, _ operation: String) throws(LogError) {
        guard code != RD_KAFKA_RESP_ERR_NO_ERROR else { return }
        throw LogError(code, operation: operation, address: address)
    }

    /// Throws the error if there is one, and frees it.
    func check(_ error: OpaquePointer?, _ operation: String) throws(LogError) {
        guard let error else { return }
        defer { rd_kafka_error_destroy(error) }
        throw .backend(
            operation: operation, address: address,
            detail: String(cString: rd_kafka_error_string(error)))
    }

    private static func explanation(_ text: [CChar]) -> String {
        // Some texts of librdkafka end with a line break.
        text.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
            .split(whereSeparator: \.isNewline).joined(separator: " ")
    }
}

extension LogError {
    /// Explains an error code of librdkafka or a broker; `unavailable` for temporary errors.
    init(_ code: rd_kafka_resp_err_t, operation: String, address: String) {
        let explanation = String(cString: rd_kafka_err2str(code))
        let name = String(cString: rd_kafka_err2name(code))
        let detail = "\(explanation) (\(name))"
        self =
            KafkaLog.passing.contains(code.rawValue)
            ? .unavailable(operation: operation, address: address, detail: detail)
            : .backend(operation: operation, address: address, detail: detail)
    }
}

extension KafkaClient {
    /// Timeout for the group on leaving it.
    private static let closingPatience = Duration.seconds(5)

    /// Leaves the group. If the coordinator is unreachable with a commit in flight, librdkafka 2.0 waits without
    /// bound, in `rd_kafka_consumer_close` and in `rd_kafka_destroy`. Such a client is leaked until the process ends,
    /// and the group notices by its session timeout.
    func leaveGroup() {
        events.isClosing = true
        let queue = rd_kafka_queue_new(handle)
        defer { rd_kafka_queue_destroy(queue) }
        if let error = rd_kafka_consumer_close_queue(handle, queue) {
            // The client has failed and is no longer a member.
            rd_kafka_error_destroy(error)
            return
        }
        let deadline = ContinuousClock.now + Self.closingPatience
        while rd_kafka_consumer_closed(handle) == 0 {
            guard ContinuousClock.now < deadline else {
                events.logger.warning("the group's coordinator does not answer: closing without it")
                abandon()
                return
            }
            guard let event = rd_kafka_queue_poll(queue, 50) else { continue }
            if rd_kafka_event_type(event) == RD_KAFKA_EVENT_REBALANCE,
                rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS,
                let partitions = rd_kafka_event_topic_partition_list(event)
            {
                KafkaReader.unassign(handle, partitions)
            }
            rd_kafka_event_destroy(event)
        }
    }

    /// Leaks this client until the end of the process.
    func abandon() {
        _ = Unmanaged.passRetained(self)
    }
}

/// A list of partitions of one topic with offsets, as librdkafka accepts and returns it.
struct KafkaPartitions: ~Copyable {
    let list: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>

    init(_ topic: String, _ offsets: [(partition: Int32, offset: Int64)]) {
        list = rd_kafka_topic_partition_list_new(Int32(offsets.count))
        for (partition, offset) in offsets {
            rd_kafka_topic_partition_list_add(list, topic, partition).pointee.offset = offset
        }
    }

    deinit {
        rd_kafka_topic_partition_list_destroy(list)
    }

    var elements: UnsafeMutableBufferPointer<rd_kafka_topic_partition_t> {
        UnsafeMutableBufferPointer(start: list.pointee.elems, count: Int(list.pointee.cnt))
    }
}

extension rd_kafka_topic_partition_t {
    /// The metadata of a group's offset. Set once; the list frees it.
    var note: String {
        get {
            // Some programs end the metadata with a zero byte.
            String(
                decoding: UnsafeRawBufferPointer(start: metadata, count: metadata_size)
                    .prefix { $0 != 0 },
                as: UTF8.self)
        }
        set {
            guard !newValue.isEmpty else { return }
            let copy = strdup(newValue)
            metadata = UnsafeMutableRawPointer(copy)
            metadata_size = copy.map { strlen($0) } ?? 0
        }
    }
}
