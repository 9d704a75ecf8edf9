import CRdKafka
import EventLog
import Glibc

/// The assignment of partitions, and the position of each.
extension KafkaReader {
    func seek(partition: Int32, to offset: Int64) throws(LogError) {
        guard let state = assigned[partition] else { throw notAssigned(partition) }
        assigned[partition]?.position = max(offset, 0)
        assigned[partition]?.isAtEnd = false
        // An unfetched partition begins at its last seek.
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

    /// Applies the result of the last read: fetches assigned partitions and releases revoked ones.
    func applyAssignment() throws(LogError) {
        guard let consumer else { return }
        var hasChanged = false
        if let gone = leaving {
            hasChanged = true
            leaving = nil
            commits?.forget(gone)
            let list = KafkaPartitions(topic, gone.map { ($0, Int64(RD_KAFKA_OFFSET_INVALID)) })
            Self.unassign(consumer.handle, list.list)
        }
        let kept = assigned.filter { $0.value.isFetched }.keys.sorted()
        if isGiving {
            hasChanged = true
            isGiving = false
            try fetchNew(of: consumer)
        }
        // During a rebalance librdkafka 2.0 drops records that it counts as read, so fetching restarts.
        guard hasChanged else { return }
        for partition in kept where assigned[partition]?.isPaused == false {
            try moveFetching(partition, to: assigned[partition]?.position ?? 0)
        }
    }

    /// Starts fetching assigned partitions. The group waits for this even without new ones.
    private func fetchNew(of consumer: KafkaClient) throws(LogError) {
        let new = assigned.filter { !$0.value.isFetched }.keys.sorted()
        // Looked up here, because librdkafka treats any failure of its own lookup as an expired offset.
        let unsought = new.filter { assigned[$0]?.position == Self.earliest }
        for bounds in try log.bounds(ofTopic: topic, unsought) {
            assigned[bounds.partition]?.position = bounds.earliestOffset
        }
        for partition in new where heldPaused.contains(partition) {
            try setPaused(false, partition)
        }
        let isIncremental = isShared && Self.isCooperative(consumer.handle)
        let wanted = isIncremental ? new : assigned.keys.sorted()
        let list = KafkaPartitions(
            topic, wanted.map { ($0, assigned[$0]?.position ?? Self.earliest) })
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

    /// The next unhandled rebalance; nil without one.
    func nextRebalance() -> LogReading? {
        guard let consumer, !consumer.events.rebalances.isEmpty else { return nil }
        let change = consumer.events.rebalances.removeFirst()
        guard change.isAssignment else {
            for partition in change.partitions { assigned[partition] = nil }
            leaving = (leaving ?? []) + change.partitions
            return .revoked(change.partitions)
        }
        for partition in change.partitions {
            assigned[partition] = Assigned(position: Self.earliest)
        }
        isGiving = true
        return .assigned(change.partitions)
    }

    /// Answers all rebalances, so that closing does not wait for them.
    func answerRebalances() {
        repeat { try? applyAssignment() } while nextRebalance() != nil
        try? applyAssignment()
    }

    /// Releases partitions; all of them with an eager assignor.
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

    /// The timeout of a seek. Only librdkafka's own threads have to answer.
    private static var seekPatience: Duration { .seconds(60) }

    private func moveFetching(_ partition: Int32, to offset: Int64) throws(LogError) {
        let consumer = try openConsumer()
        let list = KafkaPartitions(topic, [(partition, offset)])
        let deadline = ContinuousClock.now + Self.seekPatience
        while true {
            let error = rd_kafka_seek_partitions(
                consumer.handle, list.list, KafkaClient.patienceMilliseconds)
            // A new partition may not have started, and the thread of librdkafka that starts it may be slow on a busy
            // machine. A second seek is harmless.
            let isLate = error.map(rd_kafka_error_code) == RD_KAFKA_RESP_ERR__TIMED_OUT
            let isEarly = error == nil && list.elements[0].err == RD_KAFKA_RESP_ERR__STATE
            if isLate || isEarly, ContinuousClock.now < deadline {
                error.map(rd_kafka_error_destroy)
                usleep(2_000)
                continue
            }
            try consumer.check(error, "seek in")
            break
        }
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
        if isPaused {
            heldPaused.insert(partition)
        } else {
            heldPaused.remove(partition)
        }
    }

    private func notAssigned(_ partition: Int32) -> LogError {
        .backend(
            operation: "read", address: log.address,
            detail: "partition \(topic)/\(partition) is not assigned to this reader")
    }
}
