import CRdKafka
import EventLog
import Logging

/// An event log on a Kafka cluster, through librdkafka.
///
/// Topics on Kafka stamp records as they are appended (`message.timestamp.type=LogAppendTime`), so that
/// no producer can bend event time; `createTopic` sees to it. Opening does not ask the cluster anything.
public final class KafkaLog: LogBackend {
    /// `kafka://HOST:PORT[,HOST:PORT]`.
    public let address: String
    let settings: KafkaSettings
    let logger: Logger
    /// Asks about topics. A consumer, since those never create a topic by asking for it.
    let lookups: KafkaClient

    /// Makes ready to work with a cluster. Throws `badSetting`.
    public init(_ settings: KafkaSettings, logger: Logger) throws(LogError) {
        address = LogAddress.kafka(settings.brokers).description
        self.settings = settings
        self.logger = logger
        weir_keep_freed_memory()
        lookups = try KafkaClient(
            .consumer, settings.forLookups, address: address, logger: logger)
    }

    /// A reader of one topic. Throws `unknownTopic` when it does not exist.
    public func reader(topic: String, group: String?) throws(LogError) -> any LogReader {
        _ = try partitionCount(ofTopic: topic)
        return KafkaReader(topic: topic, group: group, log: self)
    }

    /// A writer to all topics.
    public func writer() throws(LogError) -> any LogWriter {
        let client = try KafkaClient(
            .producer, settings.forWriting, address: address, logger: logger)
        return KafkaWriter(log: self, client: client)
    }

    func openConsumer(group: String?) throws(LogError) -> KafkaClient {
        try KafkaClient(
            .consumer, settings.forReading(group: group), address: address, logger: logger)
    }

    /// What the clients sign in with, where they do so by name; any words where they do not.
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
    /// The cluster's id. Topics of one name in one cluster are not told apart.
    func identity() throws(LogError) -> String {
        guard let id = rd_kafka_clusterid(lookups.handle, KafkaClient.patienceMilliseconds) else {
            throw noAnswer("ask for the id of")
        }
        defer { rd_kafka_mem_free(lookups.handle, id) }
        return "kafka:" + String(cString: id)
    }

    /// How many partitions a topic has. Throws `unknownTopic`.
    func partitionCount(ofTopic name: String) throws(LogError) -> Int32 {
        guard let topic = rd_kafka_topic_new(lookups.handle, name, nil) else {
            throw LogError(rd_kafka_last_error(), operation: "ask about", address: address)
        }
        defer { rd_kafka_topic_destroy(topic) }
        let count = try withMetadata(of: topic) { (topics) throws(LogError) -> Int32 in
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

    /// The first and the next offset of partitions, each asked of its leader.
    func bounds(
        ofTopic name: String, _ partitions: [Int32]
    ) throws(LogError) -> [PartitionBounds] {
        guard !partitions.isEmpty else { return [] }
        let earliest = try offsets(
            ofTopic: name, partitions.map { ($0, Int64(RD_KAFKA_OFFSET_BEGINNING)) })
        let ends = try offsets(ofTopic: name, partitions.map { ($0, Int64(RD_KAFKA_OFFSET_END)) })
        return partitions.sorted().map { partition in
            PartitionBounds(
                partition: partition, earliestOffset: earliest[partition] ?? 0,
                endOffset: ends[partition] ?? 0)
        }
    }

    /// The first offsets at or after these times, by partition; -1 where there is none.
    func offsets(
        ofTopic name: String, _ times: [(partition: Int32, offset: Int64)]
    ) throws(LogError) -> [Int32: Int64] {
        let list = KafkaPartitions(name, times)
        let code = rd_kafka_offsets_for_times(
            lookups.handle, list.list, KafkaClient.patienceMilliseconds)
        try lookups.check(code, "ask for offsets in")
        var offsets: [Int32: Int64] = [:]
        for element in list.elements {
            guard element.err != RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION,
                element.err != RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART
            else {
                throw .unknownPartition(
                    TopicPartition(topic: name, partition: element.partition),
                    partitionCount: try partitionCount(ofTopic: name))
            }
            try lookups.check(element.err, "ask for offsets in")
            offsets[element.partition] = element.offset
        }
        return offsets
    }

    /// Calls `body` with the cluster's description of one topic, or of all.
    func withMetadata<Answer>(
        of topic: OpaquePointer?,
        _ body: (UnsafeBufferPointer<rd_kafka_metadata_topic>) throws(LogError) -> Answer
    ) throws(LogError) -> Answer {
        var metadata: UnsafePointer<rd_kafka_metadata>?
        let code = rd_kafka_metadata(
            lookups.handle, topic == nil ? 1 : 0, topic, &metadata,
            KafkaClient.patienceMilliseconds)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR, let metadata else {
            if code == RD_KAFKA_RESP_ERR__TRANSPORT || code == RD_KAFKA_RESP_ERR__TIMED_OUT {
                throw noAnswer("ask about topics of")
            }
            throw LogError(code, operation: "ask about topics of", address: address)
        }
        defer { rd_kafka_metadata_destroy(metadata) }
        return try body(
            UnsafeBufferPointer(
                start: metadata.pointee.topics, count: Int(metadata.pointee.topic_cnt)))
    }

    func noAnswer(_ operation: String) -> LogError {
        .backend(
            operation: operation, address: address,
            detail: "no broker answers within "
                + "\(KafkaClient.patienceMilliseconds / 1000) s: check the address and the cluster")
    }
}
