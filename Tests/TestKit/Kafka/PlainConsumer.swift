import CRdKafka

/// Reads a topic with librdkafka alone, as any program would that knows nothing of Weir.
package struct PlainConsumer {
    /// A record as it was found.
    package struct Found: Sendable {
        package var key: String?
        package var headers: [String: String] = [:]
        package var value: String?
    }

    /// The cluster, the topic or the client failed.
    package struct Fault: Error { package var explanation: String }

    private let client: OpaquePointer

    package init(_ brokers: [String]) throws {
        let configuration = rd_kafka_conf_new()
        for (name, value) in [
            ("bootstrap.servers", brokers.joined(separator: ",")), ("group.id", "plain"),
            ("enable.auto.commit", "false"), ("enable.partition.eof", "true"),
        ] {
            rd_kafka_conf_set(configuration, name, value, nil, 0)
        }
        guard let client = rd_kafka_new(RD_KAFKA_CONSUMER, configuration, nil, 0) else {
            throw Fault(explanation: "no consumer")
        }
        self.client = client
        rd_kafka_poll_set_consumer(client)
    }

    /// Every record of a topic, to the end that each partition has now; ends the consumer.
    package func readAll(_ topic: String, partitionCount: Int32) throws -> [Found] {
        defer { rd_kafka_destroy(client) }
        let list = rd_kafka_topic_partition_list_new(partitionCount)
        defer { rd_kafka_topic_partition_list_destroy(list) }
        for partition in 0..<partitionCount {
            rd_kafka_topic_partition_list_add(list, topic, partition).pointee.offset = Int64(
                RD_KAFKA_OFFSET_BEGINNING)
        }
        rd_kafka_assign(client, list)
        var found: [Found] = []
        var ended: Int32 = 0
        while ended < partitionCount {
            guard let message = rd_kafka_consumer_poll(client, 20_000) else {
                throw Fault(explanation: "nothing comes of \(topic)")
            }
            defer { rd_kafka_message_destroy(message) }
            switch message.pointee.err {
            case RD_KAFKA_RESP_ERR_NO_ERROR: found.append(Self.copy(message))
            case RD_KAFKA_RESP_ERR__PARTITION_EOF: ended += 1
            case let code: throw Fault(explanation: String(cString: rd_kafka_err2str(code)))
            }
        }
        return found
    }

    private static func copy(_ message: UnsafeMutablePointer<rd_kafka_message_t>) -> Found {
        var found = Found(
            key: text(message.pointee.key, message.pointee.key_len),
            value: text(message.pointee.payload, message.pointee.len))
        var headers: OpaquePointer?
        rd_kafka_message_headers(message, &headers)
        var index = 0
        var name: UnsafePointer<CChar>?
        var value: UnsafeRawPointer?
        var size = 0
        while let headers,
            rd_kafka_header_get_all(headers, index, &name, &value, &size)
                == RD_KAFKA_RESP_ERR_NO_ERROR, let name
        {
            found.headers[String(cString: name)] = text(value, size)
            index += 1
        }
        return found
    }

    private static func text(_ start: UnsafeRawPointer?, _ count: Int) -> String? {
        start.map {
            String(decoding: UnsafeRawBufferPointer(start: $0, count: count), as: UTF8.self)
        }
    }
}
