import CRdKafka
import EventLog

/// Partitions that come and go.
extension KafkaReader {
    func seek(partition: Int32, to offset: Int64) throws(LogError) {
        guard let state = assigned[partition] else { throw notAssigned(partition) }
        assigned[partition]?.position = max(offset, 0)
        assigned[partition]?.isAtEnd = false
        // What is not fetched yet begins where it was last told to.
        if state.isFetched, !state.isPaused { try moveFetching(partition, to: max(offset, 0)) }
    }

    func pause(partition: Int32) throws(LogError) {
        guard let state = assigned[partition] else { throw notAssigned(partition) }
        assigned[partition]?.isPaused = true
        if state.isFetched { try setPaused(true, partition) }
    }

    func resume(partition: Int32) throws(LogError) {
        guard let state = assigned[partition] else { throw notAssigned(partition) }
        assigned[partition]?.isPaused = false
        assigned[partition]?.isAtEnd = false
        guard state.isFetched else { return }
        try moveFetching(partition, to: state.position)
        try setPaused(false, partition)
    }

    /// Has librdkafka fetch what was given and give up what was taken, since the last read.
    func applyAssignment() throws(LogError) {
        guard let consumer else { return }
        if !leaving.isEmpty {
            let gone = KafkaPartitions(topic, leaving.map { ($0, Int64(RD_KAFKA_OFFSET_INVALID)) })
            leaving = []
            Self.unassign(consumer.handle, gone.list)
        }
        let new = assigned.filter { !$0.value.isFetched }.keys.sorted()
        guard !new.isEmpty else { return }
        let isIncremental = isShared && Self.isCooperative(consumer.handle)
        let wanted = isIncremental ? new : assigned.keys.sorted()
        let list = KafkaPartitions(
            topic, wanted.map { ($0, assigned[$0]?.position ?? Int64(RD_KAFKA_OFFSET_BEGINNING)) })
        if isIncremental {
            try consumer.check(
                rd_kafka_incremental_assign(consumer.handle, list.list), "take partitions of")
        } else {
            try consumer.check(rd_kafka_assign(consumer.handle, list.list), "take partitions of")
        }
        for partition in new {
            assigned[partition]?.isFetched = true
            if assigned[partition]?.isPaused == true { try setPaused(true, partition) }
        }
    }

    /// The next change of the assignment that the group has made, if there is one.
    func nextRebalance() -> LogReading? {
        guard let consumer, !consumer.events.rebalances.isEmpty else { return nil }
        let change = consumer.events.rebalances.removeFirst()
        guard change.isAssignment else {
            for partition in change.partitions { assigned[partition] = nil }
            leaving += change.partitions
            return .revoked(change.partitions)
        }
        for partition in change.partitions { assigned[partition] = Assigned(position: 0) }
        if change.partitions.isEmpty { confirmEmptyAssignment(consumer) }
        return .assigned(change.partitions)
    }

    /// The group waits for an answer even when it gave nothing.
    private func confirmEmptyAssignment(_ consumer: KafkaClient) {
        let nothing = KafkaPartitions(topic, [])
        if Self.isCooperative(consumer.handle) {
            rd_kafka_incremental_assign(consumer.handle, nothing.list).map(rd_kafka_error_destroy)
        } else {
            _ = rd_kafka_assign(consumer.handle, nothing.list)
        }
    }

    /// Gives partitions up. With an eager assignor it is always all of them.
    static func unassign(
        _ handle: OpaquePointer, _ list: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>
    ) {
        if isCooperative(handle) {
            rd_kafka_incremental_unassign(handle, list).map(rd_kafka_error_destroy)
        } else {
            _ = rd_kafka_assign(handle, nil)
        }
    }

    private static func isCooperative(_ handle: OpaquePointer) -> Bool {
        rd_kafka_rebalance_protocol(handle).map { String(cString: $0) } == "COOPERATIVE"
    }

    private func moveFetching(_ partition: Int32, to offset: Int64) throws(LogError) {
        let consumer = try openConsumer()
        let list = KafkaPartitions(topic, [(partition, offset)])
        try consumer.check(
            rd_kafka_seek_partitions(
                consumer.handle, list.list, KafkaClient.patienceMilliseconds), "seek in")
        try consumer.check(list.elements[0].err, "seek in")
    }

    private func setPaused(_ isPaused: Bool, _ partition: Int32) throws(LogError) {
        let consumer = try openConsumer()
        let list = KafkaPartitions(topic, [(partition, Int64(RD_KAFKA_OFFSET_INVALID))])
        let code =
            isPaused
            ? rd_kafka_pause_partitions(consumer.handle, list.list)
            : rd_kafka_resume_partitions(consumer.handle, list.list)
        try consumer.check(code, isPaused ? "pause" : "resume")
    }

    private func notAssigned(_ partition: Int32) -> LogError {
        .backend(
            operation: "read", address: log.address,
            detail: "partition \(topic)/\(partition) is not assigned to this reader")
    }
}
