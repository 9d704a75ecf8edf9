import CRdKafka

/// A list of partitions of one topic, each with an offset, as librdkafka takes and answers it.
struct KafkaPartitions: ~Copyable {
    let list: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>

    init(_ topic: String, _ offsets: [(partition: Int32, offset: Int64)]) {
        list = rd_kafka_topic_partition_list_new(Int32(offsets.count))
        for (partition, offset) in offsets {
            rd_kafka_topic_partition_list_add(list, topic, partition).pointee.offset = offset
        }
    }

    deinit {
        rd_kafka_topic_partition_list_destroy(list)
    }

    /// The partitions with their offsets and errors.
    var elements: UnsafeMutableBufferPointer<rd_kafka_topic_partition_t> {
        UnsafeMutableBufferPointer(start: list.pointee.elems, count: Int(list.pointee.cnt))
    }
}
