import CRdKafka
import EventLog
import Glibc
import Logging

/// An event log on a Kafka cluster, through librdkafka.
///
/// The module implements the protocols of EventLog: `KafkaReader` reads one topic on the caller's thread,
/// `KafkaWriter` appends, and `KafkaClient` owns one handle of librdkafka.
///
///     let settings = try KafkaSettings(brokers: ["localhost:9092"])
///     let log: any LogBackend = try KafkaLog(settings, logger: logger)
///     let reader = try log.reader(topic: "bids", group: "weir-bids")
///
/// `createTopic` makes brokers set the time of a record at the append (`message.timestamp.type=LogAppendTime`), so
/// that no producer can choose event time. Opening a log does not contact the cluster.
package final class KafkaLog: LogBackend {
    /// `kafka://HOST:PORT[,HOST:PORT]`.
    package let address: String
    let settings: KafkaSettings
    let logger: Logger
    /// Looks up topics. It is a consumer, because a consumer's question never creates a topic.
    let lookups: KafkaClient
    /// Newly created topics, and when: some brokers see them a little later.
    var created: [String: ContinuousClock.Instant] = [:]

    /// Throws `badSetting`.
    package init(_ settings: KafkaSettings, logger: Logger) throws(LogError) {
        address = LogAddress.kafka(settings.brokers).description
        self.settings = settings
        self.logger = logger
        weir_keep_freed_memory()
        lookups = try KafkaClient(
            .consumer, settings.forLookups, of: settings, address: address, logger: logger)
    }

    /// Throws `unknownTopic`.
    package func reader(topic: String, group: String?) throws(LogError) -> any LogReader {
        _ = try partitionCount(ofTopic: topic)
        return KafkaReader(topic: topic, group: group, log: self)
    }

    /// A reader for single records, which fetches few others.
    package func lookingReader(topic: String) throws(LogError) -> any LogReader {
        _ = try partitionCount(ofTopic: topic)
        return KafkaReader(topic: topic, group: nil, log: self, isLooking: true)
    }

    package func writer() throws(LogError) -> any LogWriter {
        let client = try KafkaClient(
            .producer, settings.forWriting, of: settings, address: address, logger: logger)
        return KafkaWriter(log: self, client: client)
    }

    func openConsumer(group: String?, isLooking: Bool = false) throws(LogError) -> KafkaClient {
        try KafkaClient(
            .consumer, isLooking ? settings.forLooking : settings.forReading(group: group),
            of: settings, address: address, logger: logger)
    }

    /// The credentials for signing in by name; empty texts for other mechanisms; nil if the name or password is
    /// missing.
    var credentials: (name: String, password: String)? {
        let mechanism =
            (settings.written["sasl.mechanism"] ?? settings.written["sasl.mechanisms"] ?? "")
            .uppercased()
        let isByName = mechanism == "PLAIN" || mechanism.hasPrefix("SCRAM")
        guard isByName else { return ("", "") }
        guard let name = settings.written["sasl.username"],
            let password = settings.written["sasl.password"]
        else { return nil }
        return (name, password)
    }
}

// MARK: Lookups

extension KafkaLog {
    /// The id of the cluster. It does not distinguish topics of one name in one cluster.
    func identity() throws(LogError) -> String {
        guard let id = rd_kafka_clusterid(lookups.handle, KafkaClient.patienceMilliseconds) else {
            throw noAnswer("ask for the id of")
        }
        defer { rd_kafka_mem_free(lookups.handle, id) }
        return "kafka:" + String(cString: id)
    }

    /// Throws `unknownTopic`.
    func partitionCount(ofTopic name: String) throws(LogError) -> Int32 {
        guard let topic = rd_kafka_topic_new(lookups.handle, name, nil) else {
            throw LogError(rd_kafka_last_error(), operation: "ask about", address: address)
        }
        defer { rd_kafka_topic_destroy(topic) }
        let isAwaited = created[name].map { $0.duration(to: .now) < KafkaClient.patience } ?? false
        let count = try withMetadata(of: topic, isAwaited: isAwaited) {
            (topics) throws(LogError) -> Int32 in
            switch topics.first?.err {
            case RD_KAFKA_RESP_ERR_NO_ERROR, RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE:
                return topics.first?.partition_cnt ?? 0
            case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, nil: return 0
            case .some(let code):
                throw LogError(code, operation: "ask about", address: address)
            }
        }
        guard count > 0 else { throw .unknownTopic(name, address: address) }
        return count
    }

    /// Calls `body` with the description of one topic, or of all.
    ///
    /// - Parameter isAwaited: whether to ask again for a missing topic, for a while.
    func withMetadata<Answer>(
        of topic: OpaquePointer?, isAwaited: Bool = false,
        _ body: (UnsafeBufferPointer<rd_kafka_metadata_topic>) throws(LogError) -> Answer
    ) throws(LogError) -> Answer {
        // Serves callbacks, so that errors are logged.
        _ = rd_kafka_poll(lookups.handle, 0)
        var metadata: UnsafePointer<rd_kafka_metadata>?
        let code = patiently { left in
            if let metadata { rd_kafka_metadata_destroy(metadata) }
            metadata = nil
            let code = rd_kafka_metadata(
                lookups.handle, topic == nil ? 1 : 0, topic, &metadata,
                min(left, KafkaClient.brokerMilliseconds))
            let answer = topic == nil ? nil : metadata?.pointee.topics.pointee.err
            if isAwaited, answer == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART {
                return RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE
            }
            return answer.map { Self.passing.contains($0.rawValue) ? $0 : code } ?? code
        }
        defer { if let metadata { rd_kafka_metadata_destroy(metadata) } }
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR, let metadata else {
            if code == RD_KAFKA_RESP_ERR__TRANSPORT || code == RD_KAFKA_RESP_ERR__TIMED_OUT {
                throw noAnswer("ask about topics of")
            }
            throw LogError(code, operation: "ask about topics of", address: address)
        }
        return try body(
            UnsafeBufferPointer(
                start: metadata.pointee.topics, count: Int(metadata.pointee.topic_cnt)))
    }

    /// Retries for a while if the cluster is busy: a leader or a coordinator moves, or a broker starts.
    ///
    /// - Parameter ask: asks once, within the given time.
    func patiently(_ ask: (_ milliseconds: Int32) -> rd_kafka_resp_err_t) -> rd_kafka_resp_err_t {
        let deadline = ContinuousClock.now + KafkaClient.patience
        while true {
            let left = Int32(ContinuousClock.now.duration(to: deadline) / .milliseconds(1))
            let code = ask(max(left, 1))
            guard Self.passing.contains(code.rawValue), left > 0 else { return code }
            usleep(100_000)
        }
    }

    static let passing = Set(
        [
            RD_KAFKA_RESP_ERR__TRANSPORT, RD_KAFKA_RESP_ERR__WAIT_COORD,
            RD_KAFKA_RESP_ERR__TIMED_OUT,
            RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE,
            RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION, RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT,
            RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE, RD_KAFKA_RESP_ERR_REPLICA_NOT_AVAILABLE,
            RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION, RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS,
            RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE, RD_KAFKA_RESP_ERR_NOT_COORDINATOR,
            RD_KAFKA_RESP_ERR_UNSTABLE_OFFSET_COMMIT, RD_KAFKA_RESP_ERR_OFFSET_NOT_AVAILABLE,
            RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH, RD_KAFKA_RESP_ERR_UNKNOWN_LEADER_EPOCH,
            RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR, RD_KAFKA_RESP_ERR_UNKNOWN,
            // librdkafka's answer for a partition without a leader.
            RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION,
        ].map(\.rawValue))

    func noAnswer(_ operation: String) -> LogError {
        // Serves callbacks, which report why the connection failed.
        while rd_kafka_poll(lookups.handle, 0) > 0 {}
        if let explanation = lookups.events.takeSignInFailure() {
            return .backend(
                operation: operation, address: address,
                detail:
                    "the brokers reject the connection: \(explanation): check the sasl and ssl settings in "
                    + "kafka.yaml")
        }
        return .unavailable(
            operation: operation, address: address,
            detail: "no broker answers within "
                + "\(KafkaClient.patienceMilliseconds / 1000) s: check the address and the cluster")
    }
}
