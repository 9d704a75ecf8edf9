import CRdKafka
import EventLog

/// Offsets, each asked of the leader of its partition.
extension KafkaLog {
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
        let count = try partitionCount(ofTopic: name)
        if let unknown = times.first(where: { !(0..<count).contains($0.partition) }) {
            throw .unknownPartition(
                TopicPartition(topic: name, partition: unknown.partition), partitionCount: count)
        }
        // The question changes the list that it is asked with.
        var list = KafkaPartitions(name, times)
        var isFirst = true
        let code = patiently { left in
            // A leader that went is asked until the time is up, unless its successor is looked up.
            if !isFirst { _ = try? partitionCount(ofTopic: name) }
            isFirst = false
            list = KafkaPartitions(name, times)
            let code = rd_kafka_offsets_for_times(
                lookups.handle, list.list, min(left, KafkaClient.brokerMilliseconds))
            let failed = list.elements.first { $0.err != RD_KAFKA_RESP_ERR_NO_ERROR }?.err
            // A leader may hear later than others that there is such a topic.
            let isEarly = failed == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART
            let answer = isEarly ? RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE : failed
            return code == RD_KAFKA_RESP_ERR_NO_ERROR ? answer ?? code : code
        }
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
            let failed = list.elements.first { $0.err != RD_KAFKA_RESP_ERR_NO_ERROR }?.partition
            throw noOffsets("\(name)\(failed.map { "/\($0)" } ?? "")", code)
        }
        return Dictionary(uniqueKeysWithValues: list.elements.map { ($0.partition, $0.offset) })
    }

    /// The bounds of partitions whose leaders answer, and why the others have none.
    func knownBounds(
        ofTopic name: String, _ partitions: [Int32]
    ) throws(LogError) -> (bounds: [PartitionBounds], faults: [Int32: LogError]) {
        let leaders = try leaders(ofTopic: name)
        var found: [PartitionBounds] = []
        var faults: [Int32: LogError] = [:]
        // Those of one leader are asked together: each that is away is waited for once.
        let byLeader = Dictionary(grouping: partitions) { leaders[$0] ?? -1 }
        for (leader, partitions) in byLeader.sorted(by: { $0.key < $1.key }) {
            guard leader >= 0 else {
                for partition in partitions {
                    faults[partition] = noOffsets(
                        "\(name)/\(partition)", RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE)
                }
                continue
            }
            do throws(LogError) {
                found += try bounds(ofTopic: name, partitions)
            } catch {
                for partition in partitions { faults[partition] = error }
            }
        }
        return (found.sorted { $0.partition < $1.partition }, faults)
    }

    /// The broker that leads each partition; -1: none does.
    private func leaders(ofTopic name: String) throws(LogError) -> [Int32: Int32] {
        guard let topic = rd_kafka_topic_new(lookups.handle, name, nil) else {
            throw LogError(rd_kafka_last_error(), operation: "ask about", address: address)
        }
        defer { rd_kafka_topic_destroy(topic) }
        return try withMetadata(of: topic) { topics in
            guard let topic = topics.first else { return [:] }
            let partitions = UnsafeBufferPointer(
                start: topic.partitions, count: Int(topic.partition_cnt))
            return Dictionary(partitions.map { ($0.id, $0.leader) }) { first, _ in first }
        }
    }

    private func noOffsets(_ place: String, _ code: rd_kafka_resp_err_t) -> LogError {
        let words = String(cString: rd_kafka_err2str(code))
        let detail = "\(place): \(words) (\(String(cString: rd_kafka_err2name(code))))"
        let operation = "ask for offsets in"
        return Self.passing.contains(code.rawValue)
            ? .unavailable(operation: operation, address: address, detail: detail)
            : .backend(operation: operation, address: address, detail: detail)
    }
}
