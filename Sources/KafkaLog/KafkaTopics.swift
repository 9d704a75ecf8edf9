import CRdKafka
import EventLog

extension KafkaLog {
    /// The topics of the cluster except Kafka's own, by name in bytewise order.
    package func topics() throws(LogError) -> [TopicDescription] {
        let identity = try identity()
        let topics = try withMetadata(of: nil) { (topics) throws(LogError) in
            topics.map { topic in
                let partitions = UnsafeBufferPointer(
                    start: topic.partitions, count: Int(topic.partition_cnt))
                return TopicDescription(
                    name: String(cString: topic.topic), partitionCount: topic.partition_cnt,
                    identity: identity, replicaCount: partitions.map(\.replica_cnt).min())
            }
        }
        return topics.filter { !$0.name.hasPrefix("__") }
            .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }

    /// Creates a topic unless it exists; returns whether it was created. Never changes an existing topic.
    ///
    /// - Parameter settings: by Kafka's names, and `replicas`: the number of copies, by default that of the brokers.
    ///   `message.timestamp.type` is `LogAppendTime` unless given.
    @discardableResult
    package func createTopic(
        _ name: String, partitionCount: Int32, settings: [String: String]
    ) throws(LogError) -> Bool {
        if try has(topic: name) { return false }
        var text = [CChar](repeating: 0, count: 512)
        let replicas = settings["replicas"].flatMap { Int32($0) } ?? -1
        guard
            let topic = rd_kafka_NewTopic_new(name, partitionCount, replicas, &text, text.count)
        else {
            throw .backend(
                operation: "create topic '\(name)' in", address: address,
                detail: text.withUnsafeBufferPointer {
                    $0.baseAddress.map { String(cString: $0) } ?? ""
                })
        }
        defer { rd_kafka_NewTopic_destroy(topic) }
        var wanted = settings
        wanted["replicas"] = nil
        wanted["message.timestamp.type"] = wanted["message.timestamp.type"] ?? "LogAppendTime"
        for (key, value) in wanted.sorted(by: { $0.key < $1.key }) {
            _ = rd_kafka_NewTopic_set_config(topic, key, value)
        }
        let operation = "create topic '\(name)' in"
        var topics: [OpaquePointer?] = [topic]
        let isNew = try ask(operation, RD_KAFKA_ADMIN_OP_CREATETOPICS) { client, options, queue in
            rd_kafka_CreateTopics(client, &topics, 1, options, queue)
        } answer: { (event) throws(LogError) -> Bool in
            var count = 0
            let results = rd_kafka_CreateTopics_result_topics(
                rd_kafka_event_CreateTopics_result(event), &count)
            guard count == 1, let result = results?[0] else { return true }
            let code = rd_kafka_topic_result_error(result)
            switch code {
            case RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS: return false
            // The topic exists, but some brokers do not know it yet.
            case RD_KAFKA_RESP_ERR_NO_ERROR, RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT: return true
            default:
                let explanation = rd_kafka_topic_result_error_string(result).map {
                    String(cString: $0)
                }
                throw .backend(
                    operation: operation, address: address,
                    detail: explanation ?? String(cString: rd_kafka_err2str(code)))
            }
        }
        created[name] = .now
        _ = try self.partitionCount(ofTopic: name)
        return isNew
    }

    /// The settings of a topic, its own or the cluster's, by Kafka's names.
    package func settings(ofTopic name: String) throws(LogError) -> [String: String]? {
        guard let resource = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, name) else {
            return nil
        }
        defer { rd_kafka_ConfigResource_destroy(resource) }
        var resources: [OpaquePointer?] = [resource]
        let operation = "ask for the settings of topics in"
        return try ask(operation, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS) { client, options, queue in
            rd_kafka_DescribeConfigs(client, &resources, 1, options, queue)
        } answer: { (event) throws(LogError) -> [String: String] in
            var count = 0
            let results = rd_kafka_DescribeConfigs_result_resources(
                rd_kafka_event_DescribeConfigs_result(event), &count)
            guard count == 1, let result = results?[0] else { return [:] }
            try lookups.check(rd_kafka_ConfigResource_error(result), operation)
            var entryCount = 0
            let entries = rd_kafka_ConfigResource_configs(result, &entryCount)
            var settings: [String: String] = [:]
            for index in 0..<entryCount {
                guard let entry = entries?[index], let key = rd_kafka_ConfigEntry_name(entry),
                    let value = rd_kafka_ConfigEntry_value(entry)
                else { continue }
                settings[String(cString: key)] = String(cString: value)
            }
            return settings
        }
    }

    private func has(topic name: String) throws(LogError) -> Bool {
        do {
            _ = try self.partitionCount(ofTopic: name)
            return true
        } catch LogError.unknownTopic {
            return false
        } catch {
            throw error
        }
    }

    /// Sends one request to the controller of the cluster and reads its answer.
    private func ask<Answer>(
        _ operation: String, _ kind: rd_kafka_admin_op_t,
        request: (OpaquePointer, OpaquePointer?, OpaquePointer?) -> Void,
        answer: (OpaquePointer) throws(LogError) -> Answer
    ) throws(LogError) -> Answer {
        let queue = rd_kafka_queue_new(lookups.handle)
        let options = rd_kafka_AdminOptions_new(lookups.handle, kind)
        defer {
            rd_kafka_AdminOptions_destroy(options)
            rd_kafka_queue_destroy(queue)
        }
        var text = [CChar](repeating: 0, count: 512)
        _ = rd_kafka_AdminOptions_set_request_timeout(
            options, KafkaClient.patienceMilliseconds, &text, text.count)
        // Only requests with changes have this option: the brokers' timeout.
        if kind == RD_KAFKA_ADMIN_OP_CREATETOPICS {
            _ = rd_kafka_AdminOptions_set_operation_timeout(
                options, KafkaClient.patienceMilliseconds / 2, &text, text.count)
        }
        request(lookups.handle, options, queue)
        guard let event = rd_kafka_queue_poll(queue, KafkaClient.patienceMilliseconds + 1000) else {
            throw noAnswer(operation)
        }
        defer { rd_kafka_event_destroy(event) }
        let code = rd_kafka_event_error(event)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
            let explanation = rd_kafka_event_error_string(event).map { String(cString: $0) } ?? ""
            throw Self.passing.contains(code.rawValue)
                ? .unavailable(operation: operation, address: address, detail: explanation)
                : .backend(operation: operation, address: address, detail: explanation)
        }
        return try answer(event)
    }
}

/// Offsets, each from the leader of its partition.
extension KafkaLog {
    /// The bounds of partitions, each from its leader.
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

    /// The first offset at or after a time, by partition; otherwise -1.
    func offsets(
        ofTopic name: String, _ times: [(partition: Int32, offset: Int64)]
    ) throws(LogError) -> [Int32: Int64] {
        let count = try partitionCount(ofTopic: name)
        if let unknown = times.first(where: { !(0..<count).contains($0.partition) }) {
            throw .unknownPartition(
                TopicPartition(topic: name, partition: unknown.partition), partitionCount: count)
        }
        // The call changes its list.
        var list = KafkaPartitions(name, times)
        var isFirst = true
        let code = patiently { left in
            // An unreachable former leader would use up the time, so this looks up the new one.
            if !isFirst { _ = try? partitionCount(ofTopic: name) }
            isFirst = false
            list = KafkaPartitions(name, times)
            let code = rd_kafka_offsets_for_times(
                lookups.handle, list.list, min(left, KafkaClient.brokerMilliseconds))
            let failed = list.elements.first { $0.err != RD_KAFKA_RESP_ERR_NO_ERROR }?.err
            // A leader may learn of a new topic later than other brokers.
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

    /// The bounds of partitions, and the errors of partitions without an answering leader.
    func knownBounds(
        ofTopic name: String, _ partitions: [Int32]
    ) throws(LogError) -> (bounds: [PartitionBounds], faults: [Int32: LogError]) {
        let leaders = try leaders(ofTopic: name)
        var found: [PartitionBounds] = []
        var faults: [Int32: LogError] = [:]
        // One request asks for all partitions of a leader, so that an unreachable leader costs one timeout.
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

    /// The broker that leads each partition; -1 without a leader.
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

    private func noOffsets(_ subject: String, _ code: rd_kafka_resp_err_t) -> LogError {
        let explanation = String(cString: rd_kafka_err2str(code))
        let detail = "\(subject): \(explanation) (\(String(cString: rd_kafka_err2name(code))))"
        let operation = "ask for offsets in"
        return Self.passing.contains(code.rawValue)
            ? .unavailable(operation: operation, address: address, detail: detail)
            : .backend(operation: operation, address: address, detail: detail)
    }
}
