import CRdKafka
import EventLog

/// What the cluster knows of the topic and of the group.
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
        // Negative timestamps are Kafka's words for the ends of a partition.
        let found = try log.offsets(
            ofTopic: topic, [(partition, max(timestampMilliseconds, 0))])
        return found[partition].flatMap { $0 >= 0 ? $0 : nil }
    }

    func committedOffsets() throws(LogError) -> [Int32: Int64] {
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
        var offsets: [Int32: Int64] = [:]
        for element in list.elements {
            if element.offset >= 0 { offsets[element.partition] = element.offset }
        }
        return offsets
    }

    func commit(_ offsets: [Int32: Int64]) throws(LogError) {
        guard group != nil else { return }
        let consumer = try openConsumer()
        let commits = commits ?? KafkaCommits(of: consumer, topic: topic)
        self.commits = commits
        try commits.commit(offsets)
    }

    func settleCommits(_ patience: Duration) throws(LogError) {
        try commits?.settle(patience)
    }
}
