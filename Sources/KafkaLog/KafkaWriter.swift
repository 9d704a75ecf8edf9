import CRdKafka
import EventLog

/// Appends to the topics of a Kafka cluster: idempotent, acknowledged by all replicas in sync, and
/// returning once every record was.
final class KafkaWriter: LogWriter {
    private let log: KafkaLog
    private let client: KafkaClient
    /// Partitions of the topics written to, with the time of the question: topics can grow.
    private var partitionCounts: [String: (count: Int32, asked: ContinuousClock.Instant)] = [:]

    private static let countIsGood = Duration.seconds(60)

    init(log: KafkaLog, client: KafkaClient) {
        self.log = log
        self.client = client
    }

    func append(_ records: [OutgoingRecord]) throws(LogError) -> [RecordPosition] {
        client.events.deliveries.begin(records.count)
        var refused: LogError?
        for (place, record) in records.enumerated() {
            do throws(LogError) {
                try handOver(record, place: place)
            } catch {
                refused = error
                break
            }
        }
        var isPurged = false
        while client.events.deliveries.outstanding > 0 {
            if !isPurged, refused != nil || client.events.deliveries.failure != nil {
                // What was not sent yet is not to follow a failure.
                isPurged = true
                _ = rd_kafka_purge(client.handle, RD_KAFKA_PURGE_F_QUEUE)
            }
            _ = rd_kafka_poll(client.handle, 100)
        }
        try client.checkFatal()
        if let refused { throw refused }
        if let failure = client.events.deliveries.failure {
            throw LogError(failure, operation: "append to", address: log.address)
        }
        return client.events.deliveries.positions
    }

    private func handOver(_ record: OutgoingRecord, place: Int) throws(LogError) {
        let partition = try partition(of: record)
        while true {
            let headers = Self.headers(record.headers)
            let code = record.key.withBytes { key in
                record.value.withBytes { value in
                    weir_rd_kafka_produce(
                        client.handle, record.topic, partition,
                        record.timestampMilliseconds ?? 0,
                        Self.start(key), key?.count ?? 0, Self.start(value), value?.count ?? 0,
                        headers, UnsafeMutableRawPointer(bitPattern: place + 1))
                }
            }
            if code == RD_KAFKA_RESP_ERR_NO_ERROR {
                client.events.deliveries.handOver()
                return
            }
            if let headers { rd_kafka_headers_destroy(headers) }
            guard code == RD_KAFKA_RESP_ERR__QUEUE_FULL else {
                throw LogError(code, operation: "append to", address: log.address)
            }
            _ = rd_kafka_poll(client.handle, 100)
        }
    }

    private func partition(of record: OutgoingRecord) throws(LogError) -> Int32 {
        let count = try partitionCount(of: record.topic)
        let partition =
            record.partition
            ?? KeyPartitioner.partition(
                key: record.key, value: record.value, partitionCount: count)
        guard (0..<count).contains(partition) else {
            throw .unknownPartition(
                TopicPartition(topic: record.topic, partition: partition), partitionCount: count)
        }
        return partition
    }

    private func partitionCount(of topic: String) throws(LogError) -> Int32 {
        if let known = partitionCounts[topic], known.asked.duration(to: .now) < Self.countIsGood {
            return known.count
        }
        let known = partitionCounts[topic]
        do throws(LogError) {
            let count = try log.partitionCount(ofTopic: topic)
            partitionCounts[topic] = (count, .now)
            return count
        } catch {
            // A cluster that is away is waited for with the records themselves.
            guard case .backend = error, let known else { throw error }
            partitionCounts[topic] = (known.count, .now)
            return known.count
        }
    }

    /// Empty bytes have an address too: a null one would be Kafka's null.
    private static func start(_ bytes: UnsafeRawBufferPointer?) -> UnsafeRawPointer? {
        bytes.map { $0.baseAddress ?? UnsafeRawPointer(("" as StaticString).utf8Start) }
    }

    private static func headers(_ headers: [OutgoingRecord.Header]) -> OpaquePointer? {
        guard !headers.isEmpty else { return nil }
        let list = rd_kafka_headers_new(headers.count)
        for header in headers {
            header.value.withBytes { value in
                _ = rd_kafka_header_add(
                    list, header.name, header.name.utf8.count, start(value), value?.count ?? 0)
            }
        }
        return list
    }
}
