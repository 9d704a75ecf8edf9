import CRdKafka

extension KafkaClient {
    /// How long the group may take to let a member go.
    private static let closingPatience = Duration.seconds(5)

    /// Leaves the group. librdkafka 2.0 waits without bound when the coordinator is away with a commit
    /// under way, in `rd_kafka_consumer_close` and in `rd_kafka_destroy` alike: such a client is left to
    /// the end of the process, and the group notices by its session's time-out.
    func leaveGroup() {
        events.isClosing = true
        let queue = rd_kafka_queue_new(handle)
        defer { rd_kafka_queue_destroy(queue) }
        if let error = rd_kafka_consumer_close_queue(handle, queue) {
            // It has failed for good, and is no member any more.
            rd_kafka_error_destroy(error)
            return
        }
        let deadline = ContinuousClock.now + Self.closingPatience
        while rd_kafka_consumer_closed(handle) == 0 {
            guard ContinuousClock.now < deadline else {
                events.logger.warning("the group's coordinator does not answer: not waited for")
                abandon()
                return
            }
            guard let event = rd_kafka_queue_poll(queue, 50) else { continue }
            if rd_kafka_event_type(event) == RD_KAFKA_EVENT_REBALANCE,
                rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS,
                let partitions = rd_kafka_event_topic_partition_list(event)
            {
                KafkaReader.unassign(handle, partitions)
            }
            rd_kafka_event_destroy(event)
        }
    }

    /// Leaves this client to the end of the process.
    func abandon() {
        _ = Unmanaged.passRetained(self)
    }
}
