import CRdKafka
import EventLog
import Glibc

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
        // While the group shares out anew, librdkafka 2.0 drops records that it counts as read.
        guard hasChanged else { return }
        for partition in kept where assigned[partition]?.isPaused == false {
            try moveFetching(partition, to: assigned[partition]?.position ?? 0)
        }
    }

    /// Begins with partitions that were given. The group waits for this even when it gave none.
    private func fetchNew(of consumer: KafkaClient) throws(LogError) {
        let new = assigned.filter { !$0.value.isFetched }.keys.sorted()
        // Looked up here: librdkafka takes any failure of its own look-up for an offset that is gone.
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

    /// The next change of the assignment that the group has made, if there is one.
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

    /// Answers what the group has given and taken, so that closing does not wait for it.
    func settleRebalances() {
        repeat { try? applyAssignment() } while nextRebalance() != nil
        try? applyAssignment()
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

    /// How long librdkafka may take to begin elsewhere: nothing but its own threads has to answer.
    private static var seekPatience: Duration { .seconds(60) }

    private func moveFetching(_ partition: Int32, to offset: Int64) throws(LogError) {
        let consumer = try openConsumer()
        let list = KafkaPartitions(topic, [(partition, offset)])
        let deadline = ContinuousClock.now + Self.seekPatience
        while true {
            let error = rd_kafka_seek_partitions(
                consumer.handle, list.list, KafkaClient.patienceMilliseconds)
            // A partition that was just taken may not have begun yet, and librdkafka's own thread that
            // begins it may have to wait for a busy machine: to seek twice does no harm.
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
