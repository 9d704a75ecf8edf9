import ConfigurationFiles
import ConfigurationValues
import Crypto
import Logging
import Monitoring
import Program
import Streams
import Synchronization
import Tokens

/// The senders and their permissions. The collector replaces the rules as a whole while it runs.
final class CollectorAccess: Sendable {
    struct Rules: Sendable {
        let keys: TokenKeys
        let producers: Producers
        /// Whether a notice needs a token or a producer's key.
        let requiresNoticeTokens: Bool
    }

    private let inForce: Mutex<Rules>

    private let lifetimes: TokenLifetimes

    init(_ access: CollectorPipeline.Access, tokenLifetimes: TokenLifetimes) {
        lifetimes = tokenLifetimes
        inForce = Mutex(Rules(access, tokenLifetimes))
    }

    var rules: Rules { inForce.withLock { $0 } }

    func use(_ access: CollectorPipeline.Access) {
        let rules = Rules(access, lifetimes)
        inForce.withLock { $0 = rules }
    }
}

extension CollectorAccess.Rules {
    fileprivate init(_ access: CollectorPipeline.Access, _ lifetimes: TokenLifetimes) {
        keys = TokenKeys(access.tokenKeys, lifetimes: lifetimes)
        producers = Producers(access.keys, requiresKeys: access.requiresKeys)
        requiresNoticeTokens = access.requiresNoticeTokens
    }
}

/// The producers, their topics and rates. Only the SHA-256 of a key is known, and the comparison takes constant time.
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
                digest: key.digest, topics: key.topics,
                rate: key.requestsPerSecond.map { RequestRate(perSecond: $0) })
        }
    }

    /// Nil if the request may send to the stream's topic.
    func refusal(of request: CollectorRequest, stream: any StreamFold.Type) -> CollectorResponse? {
        let header = request.header(.authorization)
        guard let key = Self.bearer(header) else {
            guard requiresKeys || header != nil else { return nil }
            return Self.unauthorized("send a key: Authorization: Bearer KEY")
        }
        let digest = Array(SHA256.hash(data: Array(key.utf8)))
        var found: Producer?
        for producer in producers where Self.isEqual(producer.digest, digest) { found = producer }
        guard let producer = found else { return Self.unauthorized("the key is unknown") }
        guard producer.topics.contains(stream.streamName) else {
            return .refusal(403, "forbidden", "the key is not valid for this topic")
        }
        guard let seconds = producer.rate?.take() else { return nil }
        return .refusal(
            429, "too_many_requests", "the key has reached its request limit",
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

/// Allows an average number of requests per second, and a burst of one second's worth.
final class RequestRate: Sendable {
    private let interval: Duration
    private let burst: Duration
    /// When all earlier requests are paid off.
    private let paidOff: Mutex<ContinuousClock.Instant>

    init(perSecond count: Int, now: ContinuousClock.Instant = .now) {
        interval = .seconds(1) / count
        burst = .seconds(1)
        paidOff = Mutex(now)
    }

    /// Nil if one more request is allowed, otherwise the seconds to wait.
    func take(now: ContinuousClock.Instant = .now) -> Int? {
        paidOff.withLock { paidOff in
            let after = max(paidOff, now) + interval
            let excess = now.duration(to: after) - burst
            guard excess > .zero else {
                paidOff = after
                return nil
            }
            return Int(excess.components.seconds) + 1
        }
    }
}

/// Follows `collector.yaml` and the files of its token keys while the collector runs. A change takes effect as a
/// whole, or not at all if any part is wrong.
struct FollowedKeys {
    private let pipelines: PipelineDirectory
    private let logger: Logger
    private let use: (CollectorPipeline.Access) -> Void
    private var monitor: ConfigurationMonitor
    private let first: CollectorPipeline
    private var inForce: CollectorPipeline.Access
    /// Whether the rules in force came from a file. If so, a missing file is a mistake.
    private var isFromFile: Bool
    private var said: String?

    /// Starts from `first`, which is already in force.
    init(
        _ pipelines: PipelineDirectory, from first: CollectorPipeline, logger: Logger,
        use: @escaping (CollectorPipeline.Access) -> Void
    ) {
        self.pipelines = pipelines
        self.first = first
        inForce = first.access
        self.logger = logger
        self.use = use
        isFromFile = pipelines.has(.collector)
        monitor = ConfigurationMonitor(Self.files(pipelines, inForce))
    }

    private static func files(
        _ pipelines: PipelineDirectory, _ access: CollectorPipeline.Access
    ) -> [String] {
        ["\(pipelines.path)/collector.yaml"] + access.tokenKeys.map(\.file)
    }

    /// Call it at intervals.
    mutating func look() {
        guard let cause = monitor.look() else { return }
        let read: CollectorPipeline
        do {
            read = try pipelines.collector(isRequired: isFromFile)
        } catch {
            monitor.tryAgain()
            return say("\(error): the present keys remain in force")
        }
        isFromFile = pipelines.has(.collector)
        let access = read.access
        monitor.paths = Self.files(pipelines, access)
        let isOther = access != inForce
        if isOther {
            use(access)
            inForce = access
        }
        if isOther || said != nil || cause == .asked {
            logger.notice(
                "the keys were reloaded\(isOther ? "" : ", without changes")",
                metadata: [
                    "producers": "\(Self.list(access.keys.map(\.name)))",
                    "token_keys": "\(Self.list(access.tokenKeys.map(\.id)))",
                ])
        }
        said = nil
        if !read.isSameButForAccess(first) {
            say(
                "\(pipelines.path)/collector.yaml has changes outside its keys: restart the collector to apply them"
            )
        }
    }

    private mutating func say(_ explanation: String) {
        if said != explanation { logger.warning("\(explanation)") }
        said = explanation
    }

    private static func list(_ names: [String]) -> String {
        names.isEmpty ? "none" : names.joined(separator: ",")
    }
}
