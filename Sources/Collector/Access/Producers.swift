import Crypto
import Pipelines
import Streams

/// Who may send events, and how many. Keys are known by their SHA-256 only, and compared in constant time.
final class Producers: Sendable {
    private struct Producer {
        let digest: [UInt8]
        let topics: Set<String>
        let rate: RequestRate?
    }

    private let producers: [Producer]
    private let requiresKeys: Bool

    init(_ keys: [CollectorPipeline.ProducerKey], requiresKeys: Bool) {
        self.requiresKeys = requiresKeys
        producers = keys.map { key in
            Producer(
                digest: key.digest, topics: Set(key.topics.map(\.rawValue)),
                rate: key.requestsPerSecond.map { RequestRate(perSecond: $0) })
        }
    }

    /// Why a request may not send to a topic; nil when it may.
    func refusal(of request: CollectorRequest, topic: ProducerTopic) -> CollectorResponse? {
        let header = request.header("authorization")
        guard let key = Self.bearer(header) else {
            guard requiresKeys || header != nil else { return nil }
            return Self.unauthorized("send a key: Authorization: Bearer KEY")
        }
        let digest = Array(SHA256.hash(data: Array(key.utf8)))
        var found: Producer?
        for producer in producers where Self.isEqual(producer.digest, digest) { found = producer }
        guard let producer = found else { return Self.unauthorized("the key is not known") }
        guard producer.topics.contains(topic.rawValue) else {
            return .refusal(403, "forbidden", "the key is not for this topic")
        }
        guard let seconds = producer.rate?.take() else { return nil }
        return .refusal(
            429, "too_many_requests", "the key has sent more than it may",
            retryAfterSeconds: seconds)
    }

    private static func unauthorized(_ detail: String) -> CollectorResponse {
        var response = CollectorResponse.refusal(401, "unauthorized", detail)
        response.headers.append(("WWW-Authenticate", "Bearer"))
        return response
    }

    private static func bearer(_ header: String?) -> String? {
        guard let header, header.utf8.count > 7, header.prefix(7).lowercased() == "bearer "
        else { return nil }
        let key = header.dropFirst(7).trimmed
        return key.isEmpty ? nil : key
    }

    private static func isEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        guard one.count == other.count else { return false }
        return zip(one, other).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
