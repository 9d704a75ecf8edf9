import CRdKafka
import EventLog

/// Appends to the topics of a Kafka cluster. Writes are idempotent and acknowledged by all in-sync replicas; `append`
/// returns once every record is acknowledged.
final class KafkaWriter: LogWriter {
    private let log: KafkaLog
    private let client: KafkaClient
    /// Numbers of partitions and when they were looked up: topics can grow.
    private var partitionCounts: [String: (count: Int32, asked: ContinuousClock.Instant)] = [:]

    private static let countIsGood = Duration.seconds(60)

    init(log: KafkaLog, client: KafkaClient) {
        self.log = log
        self.client = client
    }

    func append(
        _ records: [OutgoingRecord], while isWanted: () -> Bool
    ) throws(LogError) -> [RecordPosition] {
        client.events.deliveries.begin(records.count)
        var refused: LogError?
        for place in records.indices {
            do throws(LogError) {
                try handOver(records, place: place, while: isWanted)
            } catch {
                refused = error
                break
            }
        }
        var isPurged = false
        while client.events.deliveries.outstanding > 0 {
            if !isPurged, refused != nil || client.events.deliveries.failure != nil {
                // Unsent records must not follow a failure.
                isPurged = true
                _ = rd_kafka_purge(client.handle, RD_KAFKA_PURGE_F_QUEUE)
            }
            _ = rd_kafka_poll(client.handle, 100)
            if !isWanted() {
                refused = refused ?? unacknowledged(in: records)
                _ = rd_kafka_purge(
                    client.handle, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT)
            }
        }
        try client.checkFatal()
        let deliveries = client.events.deliveries
        if let refused, !deliveries.gaps.isEmpty { throw refused }
        if let (code, place) = deliveries.failure {
            throw fault(code, records.indices.contains(place) ? [records[place]] : records)
        }
        return deliveries.positions
    }

    private func fault(_ code: rd_kafka_resp_err_t, _ records: [OutgoingRecord]) -> LogError {
        let explanation = String(cString: rd_kafka_err2str(code))
        let name = String(cString: rd_kafka_err2name(code))
        let detail = "\(Self.topics(of: records)): \(explanation) (\(name))"
        return code == RD_KAFKA_RESP_ERR__MSG_TIMED_OUT
            || KafkaLog.passing.contains(code.rawValue)
            ? .unavailable(operation: "append to", address: log.address, detail: detail)
            : .backend(operation: "append to", address: log.address, detail: detail)
    }

    private func unacknowledged(in records: [OutgoingRecord]) -> LogError {
        let waiting = client.events.deliveries.gaps.map { records[$0] }
        return .unavailable(
            operation: "append to", address: log.address,
            detail: "\(Self.topics(of: waiting)): not acknowledged in time")
    }

    private static func topics(of records: [OutgoingRecord]) -> String {
        "topic " + Set(records.map(\.topic)).sorted().joined(separator: ", ")
    }

    private func handOver(
        _ records: [OutgoingRecord], place: Int, while isWanted: () -> Bool
    ) throws(LogError) {
        let record = records[place]
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
            guard code == RD_KAFKA_RESP_ERR__QUEUE_FULL else { throw fault(code, [record]) }
            _ = rd_kafka_poll(client.handle, 100)
            guard isWanted() else { throw unacknowledged(in: records) }
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
            // If the cluster is unreachable, the append itself waits for it.
            switch error {
            case .backend, .unavailable:
                guard let known else { throw error }
                partitionCounts[topic] = (known.count, .now)
                return known.count
            default: throw error
            }
        }
    }

    /// Empty bytes need an address: a null pointer means Kafka's null.
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

/// The results of the records of one append.
struct KafkaDeliveries {
    /// The position of each record, in the order of the append.
    private(set) var positions: [RecordPosition] = []
    /// Records without a delivery report.
    private(set) var outstanding = 0
    /// The first failure, and the index of its record in the append.
    private(set) var failure: (code: rd_kafka_resp_err_t, place: Int)?

    /// The indices of records that were not acknowledged.
    var gaps: [Int] { positions.indices.filter { positions[$0].partition < 0 } }

    mutating func begin(_ count: Int) {
        positions = Array(repeating: RecordPosition(partition: -1, offset: -1), count: count)
        outstanding = 0
        failure = nil
    }

    mutating func handOver() {
        outstanding += 1
    }

    /// Handles a delivery report. The message carries the index of its record plus 1.
    mutating func note(_ message: rd_kafka_message_t) {
        outstanding -= 1
        let place = Int(bitPattern: message._private) - 1
        guard message.err == RD_KAFKA_RESP_ERR_NO_ERROR else {
            failure = failure ?? (message.err, place)
            return
        }
        guard positions.indices.contains(place) else { return }
        positions[place] = RecordPosition(partition: message.partition, offset: message.offset)
    }
}
