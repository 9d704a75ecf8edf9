import CRdKafka
import EventLog
import Logging

/// One handle of librdkafka, destroyed with its last owner. Used by one thread at a time; librdkafka's
/// own threads come back only to log.
final class KafkaClient {
    enum Kind {
        case consumer
        case producer
    }

    /// `kafka://HOST:PORT`, for messages to people.
    let address: String
    let handle: OpaquePointer
    let events: KafkaEvents

    /// How long the cluster may take to answer a question.
    static let patience = Duration.seconds(10)
    /// The same in milliseconds.
    static let patienceMilliseconds: Int32 = 10_000
    /// How long one broker may take of that, before the question is put to another: one that went away
    /// would be waited for until the patience is at its end.
    static let brokerMilliseconds: Int32 = 2_000

    init(
        _ kind: Kind, _ settings: [(String, String)], of owner: KafkaSettings, address: String,
        logger: Logger
    ) throws(LogError) {
        self.address = address
        events = KafkaEvents(logger: logger)
        guard let configuration = rd_kafka_conf_new() else {
            throw .backend(operation: "open", address: address, detail: "no memory")
        }
        var text = [CChar](repeating: 0, count: 512)
        for (name, value) in settings {
            guard
                rd_kafka_conf_set(configuration, name, value, &text, text.count) == RD_KAFKA_CONF_OK
            else {
                rd_kafka_conf_destroy(configuration)
                throw .badSetting(
                    owner.subject(name), detail: "is not accepted: \(Self.words(text))")
            }
        }
        rd_kafka_conf_set_opaque(configuration, Unmanaged.passUnretained(events).toOpaque())
        KafkaEvents.listen(configuration, isConsumer: kind == .consumer)
        let type = kind == .consumer ? RD_KAFKA_CONSUMER : RD_KAFKA_PRODUCER
        guard let handle = rd_kafka_new(type, configuration, &text, text.count) else {
            rd_kafka_conf_destroy(configuration)
            throw .backend(operation: "open", address: address, detail: Self.words(text))
        }
        self.handle = handle
    }

    deinit {
        guard !events.isWaitingForFirstShare else {
            // librdkafka 2.0 ends the process with a failed assertion when it destroys a member that
            // joined and was never given its share. Left to the end of the process, with what it calls.
            _ = Unmanaged.passRetained(events)
            return
        }
        rd_kafka_destroy_flags(handle, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE)
    }

    /// Throws once the client can do nothing any more, as when another member has taken its name.
    func checkFatal() throws(LogError) {
        if events.hasFailed, let fatal { throw fatal }
    }

    /// Why the client can do nothing any more; nil while it can.
    var fatal: LogError? {
        var text = [CChar](repeating: 0, count: 512)
        let code = rd_kafka_fatal_error(handle, &text, text.count)
        guard code != RD_KAFKA_RESP_ERR_NO_ERROR else { return nil }
        return code == RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID
            ? .fenced(address: address, detail: Self.words(text))
            : .backend(operation: "go on with", address: address, detail: Self.words(text))
    }

    /// Throws unless a call went well.
    func check(_ code: rd_kafka_resp_err_t, _ operation: String) throws(LogError) {
        guard code != RD_KAFKA_RESP_ERR_NO_ERROR else { return }
        throw LogError(code, operation: operation, address: address)
    }

    /// Throws unless a call went well, and frees its error.
    func check(_ error: OpaquePointer?, _ operation: String) throws(LogError) {
        guard let error else { return }
        defer { rd_kafka_error_destroy(error) }
        throw .backend(
            operation: operation, address: address,
            detail: String(cString: rd_kafka_error_string(error)))
    }

    private static func words(_ text: [CChar]) -> String {
        // Some of librdkafka's texts end their line.
        text.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
            .split(whereSeparator: \.isNewline).joined(separator: " ")
    }
}

extension LogError {
    /// What librdkafka or a broker answered, in words.
    init(_ code: rd_kafka_resp_err_t, operation: String, address: String) {
        let words = String(cString: rd_kafka_err2str(code))
        let name = String(cString: rd_kafka_err2name(code))
        self = .backend(operation: operation, address: address, detail: "\(words) (\(name))")
    }
}
