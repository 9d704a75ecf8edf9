import CRdKafka

/// Fetched records, freed together with their last owner. They keep their client alive: librdkafka
/// wants them back before it.
final class KafkaMessages {
    private let client: KafkaClient
    private var messages: [UnsafeMutablePointer<rd_kafka_message_t>] = []

    init(of client: KafkaClient) {
        self.client = client
    }

    deinit {
        for message in messages { rd_kafka_message_destroy(message) }
    }

    /// Takes a record over.
    func keep(_ message: UnsafeMutablePointer<rd_kafka_message_t>) {
        messages.append(message)
    }
}
