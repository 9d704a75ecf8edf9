import CRdKafka
import EventLog
import Glibc

/// Fetched records, freed together with their last owner. They retain their client, which must outlive them.
final class KafkaMessages {
    private let client: KafkaClient
    private var messages: [UnsafeMutablePointer<rd_kafka_message_t>] = []

    init(of client: KafkaClient) {
        self.client = client
    }

    deinit {
        for message in messages { rd_kafka_message_destroy(message) }
    }

    func keep(_ message: UnsafeMutablePointer<rd_kafka_message_t>) {
        messages.append(message)
    }
}

/// Headers of a fetched record, a `rd_kafka_message_t`. librdkafka parses them at the first request.
enum KafkaHeaders: ForeignHeaders {
    static func isEmpty(
        _ record: UnsafeMutableRawPointer, value: UnsafeRawBufferPointer?
    ) -> Bool {
        // The record itself is cold here, and its value is about to be read.
        if let value, weir_has_no_headers(value.baseAddress, value.count) != 0 { return true }
        return headers(of: record) == nil
    }

    static func forEach(
        _ record: UnsafeMutableRawPointer,
        _ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer?) -> Bool
    ) {
        guard let headers = headers(of: record) else { return }
        var index = 0
        var name: UnsafePointer<CChar>?
        var value: UnsafeRawPointer?
        var size = 0
        while rd_kafka_header_get_all(headers, index, &name, &value, &size)
            == RD_KAFKA_RESP_ERR_NO_ERROR, let found = name
        {
            let bytes = UnsafeRawBufferPointer(start: found, count: strlen(found))
            guard body(bytes, value.map { UnsafeRawBufferPointer(start: $0, count: size) }) else {
                return
            }
            index += 1
        }
    }

    static func first(
        _ record: UnsafeMutableRawPointer, named name: StaticString
    ) -> UnsafeRawBufferPointer? {
        guard let headers = headers(of: record) else { return nil }
        var value: UnsafeRawPointer?
        var size = 0
        let code = name.withUTF8Buffer { text in
            text.withMemoryRebound(to: CChar.self) { text in
                // A static string ends with a zero byte.
                rd_kafka_header_get(headers, 0, text.baseAddress, &value, &size)
            }
        }
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR, let value else { return nil }
        return UnsafeRawBufferPointer(start: value, count: size)
    }

    private static func headers(of record: UnsafeMutableRawPointer) -> OpaquePointer? {
        var headers: OpaquePointer?
        let message = record.assumingMemoryBound(to: rd_kafka_message_t.self)
        guard rd_kafka_message_headers(message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR else {
            return nil
        }
        return headers
    }
}
