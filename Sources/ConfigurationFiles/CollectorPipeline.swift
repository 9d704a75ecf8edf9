import ConfigurationValues
import Foundation
import Monitoring

/// `collector.yaml`: which requests `weir-collector` accepts, and their senders. Every key may be absent.
package struct CollectorPipeline: Equatable, Sendable {
    package struct ProducerKey: Equatable, Sendable {
        /// The producer's name in logs.
        package let name: String
        /// SHA-256 of the key; 32 bytes.
        package let digest: [UInt8]
        package let topics: Set<String>
        /// Average requests per second; nil for no bound.
        package let requestsPerSecond: Int?
    }

    package struct TokenKey: Equatable, Sendable {
        /// Its name in tokens.
        package let id: String
        /// At least 32 bytes.
        package let secret: [UInt8]
        package let file: String
    }

    /// Paths of PEM files.
    package struct TLSFiles: Equatable, Sendable {
        /// The certificate chain, leaf first.
        package let certificate: PositionedText
        package let key: PositionedText
    }

    /// Serving threads, 1...64; nil for a number that suits the machine.
    package let threads: Int?
    /// Nil to serve without TLS.
    package private(set) var tls: TLSFiles?
    package private(set) var limits = CollectorLimits()
    /// Proxies with a trusted `X-Forwarded-For`.
    package let trustedProxies: [AddressRange]
    package private(set) var access = Access()

    /// The keys of limits and their ranges.
    private static var limitKeys:
        [(
            name: String, range: ClosedRange<Int64>, limit: WritableKeyPath<CollectorLimits, Int>,
            explanation: String
        )]
    {
        [
            ("max_body_bytes", 1024...(64 << 20), \.maxBodyBytes, "Larger bodies get 413."),
            (
                "max_batch_bytes", 1024...(256 << 20), \.maxBatchBytes,
                "Larger batches of events get 413. Each event has the limit of a record."
            ),
            (
                "max_header_bytes", 1024...(1 << 20), \.connections.maxHeaderBytes,
                "Larger headers of a request get 400."
            ),
            (
                "max_body_memory_bytes", (1 << 20)...(64 << 30), \.maxBodyBytesInFlight,
                """
                Bytes of all bodies that are received or answered. Requests above it get 503. One address can \
                use a quarter, and at least one body of the largest size.
                """
            ),
            (
                "header_timeout_seconds", 1...3600, \.connections.headerTimeoutSeconds,
                "Time for the headers of a request. The first ones start with the connection."
            ),
            (
                "body_timeout_seconds", 1...3600, \.connections.bodyTimeoutSeconds,
                "Time for the body of a request."
            ),
            (
                "idle_timeout_seconds", 1...86_400, \.connections.idleTimeoutSeconds,
                "Time of a connection between requests, or with an unread answer."
            ),
            (
                "max_connections", 1...1_000_000, \.connections.maxConnections,
                "Open connections. Further ones wait."
            ),
            (
                "max_connections_per_address", 1...1_000_000,
                \.connections.maxConnectionsPerAddress,
                """
                Open connections of an address. Further ones get 429. Above twice the limit, the collector \
                closes them.
                """
            ),
            (
                "log_timeout_seconds", 1...3600, \.append.deadlineSeconds,
                "Time that a request waits for the log before it gets 503."
            ),
            (
                "max_queued_records", 1...10_000_000, \.append.maxQueuedRecords,
                "Records that wait for the log. Further requests get 503."
            ),
            (
                "max_queued_bytes", (1 << 20)...(16 << 30), \.append.maxQueuedBytes,
                "Bytes of the records that wait for the log."
            ),
            (
                "drain_seconds", 0...3600, \.drainSeconds,
                "Time for running requests when the collector stops."
            ),
        ]
    }

    /// The keys of `collector.yaml`, with the defaults without the file.
    package static var keys: [ConfigurationKey] {
        let defaults = CollectorLimits()
        return [
            .integer(
                "threads", 1...64,
                "Threads that serve requests. Default: one per core, at most 8."),
            .keys("tls", tlsKeys, "HTTPS in place of HTTP, TLS 1.2 or newer."),
        ]
            + limitKeys.map { key in
                .integer(
                    key.name, key.range, default: Int64(defaults[keyPath: key.limit]),
                    key.explanation)
            } + [
                .text(
                    "trusted_proxies", "list of addresses and ranges",
                    """
                    Proxies whose `X-Forwarded-For` is trusted. The limits then apply to each client, not to the \
                    proxy.
                    """),
                .boolean(
                    "require_keys", default: true,
                    "Whether `POST /v1/events/...` requires the key of a producer."),
                .list(
                    "keys", producerKeys,
                    "Keys of producers. `weir token new-producer` makes a key and prints these lines."
                ),
                .list(
                    "token_keys", tokenKeyKeys,
                    "Keys of tokens. The first one signs, and all are accepted."),
                .boolean(
                    "require_notice_tokens", default: true,
                    "Whether `GET /v1/notices/...` requires a token, or a key of `keys` for bids."),
            ]
    }

    fileprivate static let tlsKeys: [ConfigurationKey] = [
        .text(
            "certificate", "path", required: true,
            "A PEM file with the certificate chain, which begins with the server's certificate."),
        .text("key", "path", required: true, "A PEM file with the private key."),
    ]

    fileprivate static let producerKeys: [ConfigurationKey] = [
        .text("name", "text", required: true, "The producer's name in logs."),
        .text("sha256", "64 hexadecimal digits", required: true, "SHA-256 of the key."),
        .text("topics", "list of topics", required: true, "The topics that it may send to."),
        .integer(
            "requests_per_second", 1...1_000_000, "Limit of requests, without a limit by default."),
    ]

    fileprivate static let tokenKeyKeys: [ConfigurationKey] = [
        .text(
            "id", "1 to 32 letters, digits, dashes or underscores", required: true,
            "The key's name in tokens."),
        .text(
            "file", "path", required: true,
            """
            A file with a key of at least 32 characters in its first line. `weir token new-key --out` makes one.
            """),
    ]

    /// The defaults without a node. Paths in the file are relative to `directory`.
    init(
        _ node: ConfigurationNode?, directory: PipelineDirectory, producerStreams: [String]
    ) throws(ConfigurationError) {
        let mapping = try node?.mapping(Self.keys)
        threads = try mapping?.optionalInteger("threads")?.asInt
        tls = try mapping?["tls"]?.tlsFiles(in: directory)
        for key in Self.limitKeys {
            if let mapping { limits[keyPath: key.limit] = try mapping.integer(key.name).asInt }
        }
        trustedProxies =
            try mapping?["trusted_proxies"]?.list(ConfigurationNode.addressRange) ?? []
        access.requiresKeys = try mapping?.boolean("require_keys") ?? true
        access.keys = try Self.unique("name", mapping?["keys"]) { node throws(ConfigurationError) in
            let key = try ProducerKey(node, open: producerStreams)
            return (key, key.name)
        }
        access.tokenKeys = try Self.unique("id", mapping?["token_keys"]) {
            node throws(ConfigurationError) in
            let key = try TokenKey(node, directory: directory)
            return (key, key.id)
        }
        access.requiresNoticeTokens =
            try mapping?.boolean("require_notice_tokens") ?? true
    }

    /// The keys of a list; their names must be unique.
    private static func unique<Key>(
        _ kind: String, _ node: ConfigurationNode?,
        _ read: (ConfigurationNode) throws(ConfigurationError) -> (key: Key, name: String)
    ) throws(ConfigurationError) -> [Key] {
        var names: Set<String> = []
        return try (node?.elements() ?? []).map { element throws(ConfigurationError) in
            let (key, name) = try read(element)
            guard names.insert(name).inserted else {
                throw element.badValue("\(kind) '\(name)' belongs to an earlier key: keep one")
            }
            return key
        }
    }
}

/// Bounds that keep one client from using up shared resources. The defaults apply without `collector.yaml`.
package struct CollectorLimits: Equatable, Sendable {
    /// Bounds of single connections, and of those of an address.
    package var connections = ConnectionLimits()
    /// Bytes of a request's body; a longer one gets a 413.
    package var maxBodyBytes = 1 << 20
    /// Bytes of a batch of events. Each event in it has the bound of a body.
    package var maxBatchBytes = 8 << 20
    /// Bytes of all bodies that are being received or answered; beyond them 503. One address may hold a quarter.
    package var maxBodyBytesInFlight = 128 << 20
    /// The time for requests to end after a stop was requested.
    package var drainSeconds = 10
    package var append = AppendLimits()

    package init() {}
}

/// Bounds of records that wait for the log. The default bounds their memory to 64 MiB.
package struct AppendLimits: Equatable, Sendable {
    /// Records that may wait; beyond them the collector rejects requests.
    package var maxQueuedRecords = 50_000
    /// Bytes of keys, headers and values that may wait.
    package var maxQueuedBytes = 64 << 20
    /// The most records of one append. It never splits the records of one request.
    package var maxTurnRecords = 10_000
    /// Timeout of a request that waits for the log.
    package var deadlineSeconds = 10
}

extension CollectorPipeline {
    /// The senders and their permissions. The collector reloads this while it runs; it reads everything else only at
    /// its start.
    package struct Access: Equatable, Sendable {
        /// Whether events need a producer's key (`require_keys`, true).
        package var requiresKeys = true
        /// Names are unique.
        package var keys: [ProducerKey] = []
        /// Ids are unique. The first key signs.
        package var tokenKeys: [TokenKey] = []
        /// Whether win, billing and loss notices need a token or a producer's key
        /// (`require_notice_tokens`, true).
        package var requiresNoticeTokens = true

        /// The access of a collector without a file.
        package init() {}
    }

    package var tokenKeys: [TokenKey] { access.tokenKeys }

    /// Whether another file is equal apart from `access`. The position of a value in its file does not count.
    package func isSameButForAccess(_ other: CollectorPipeline) -> Bool {
        withoutAccess == other.withoutAccess
            && tls?.certificate.text == other.tls?.certificate.text
            && tls?.key.text == other.tls?.key.text
    }

    private var withoutAccess: CollectorPipeline {
        var rest = self
        rest.tls = nil
        rest.access = Access()
        return rest
    }
}

extension CollectorPipeline.ProducerKey {
    /// - Parameter open: the topics that producers may send to.
    fileprivate init(_ node: ConfigurationNode, open: [String]) throws(ConfigurationError) {
        let mapping = try node.mapping(CollectorPipeline.producerKeys)
        name = try mapping.required("name").name()
        digest = try mapping.required("sha256").digest()
        requestsPerSecond = try mapping.optionalInteger("requests_per_second")?.asInt
        let listed = try mapping.required("topics")
        var topics: Set<String> = []
        for element in try listed.elements() {
            let topic = try element.text("a topic")
            guard open.contains(topic) else {
                throw element.badValue(
                    "is not a topic for producers: write \(open.joined(separator: ", "))")
            }
            topics.insert(topic)
        }
        guard !topics.isEmpty else {
            throw listed.badValue("is empty, so the key cannot be used: list a topic")
        }
        self.topics = topics
    }
}

extension CollectorPipeline.TokenKey {
    private static let minBytes = 32

    fileprivate init(
        _ node: ConfigurationNode, directory: PipelineDirectory
    ) throws(ConfigurationError) {
        let mapping = try node.mapping(CollectorPipeline.tokenKeyKeys)
        let idNode = try mapping.required("id")
        id = try idNode.name()
        let isPlain = id.utf8.allSatisfy { $0.isASCIILetterOrDigit || "-_".utf8.contains($0) }
        guard isPlain, id.utf8.count <= 32 else {
            throw idNode.badValue(
                "is not an id: write up to 32 letters, digits, dashes or underscores")
        }
        let fileNode = try mapping.required("file")
        let path = try fileNode.positionedText("the path of a file").text
        let text = try fileNode.textOfFile(path, in: directory)
        let line = text.split(whereSeparator: \.isNewline).first.map { Array($0.utf8) } ?? []
        guard line.count >= Self.minBytes else {
            throw fileNode.badValue(
                "'\(path)' has fewer than \(Self.minBytes) characters in its first line: create it with weir token new-key --out FILE"
            )
        }
        secret = line
        file = path.hasPrefix("/") ? path : "\(directory.path)/\(path)"
    }
}

extension ConfigurationNode {
    fileprivate func addressRange() throws(ConfigurationError) -> AddressRange {
        let text = try text("an address or a range of them")
        guard let range = AddressRange(text) else {
            throw badValue("is '\(text)': write an address or a range, for example 10.0.0.0/8")
        }
        return range
    }

    /// 32 bytes in hexadecimal digits.
    fileprivate func digest() throws(ConfigurationError) -> [UInt8] {
        let digits = Array(try text("a SHA-256 in hexadecimal").utf8)
        var bytes: [UInt8] = []
        for start in stride(from: 0, to: digits.count - 1, by: 2) {
            let pair = String(decoding: digits[start..<start + 2], as: UTF8.self)
            guard pair.utf8.allSatisfy({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "-") }),
                let byte = UInt8(pair, radix: 16)
            else { break }
            bytes.append(byte)
        }
        guard digits.count == 64, bytes.count == 32 else {
            throw badValue(
                "is not a SHA-256 of 64 hexadecimal digits: write the one that weir token new-producer prints"
            )
        }
        return bytes
    }

    fileprivate func tlsFiles(
        in directory: PipelineDirectory
    ) throws(ConfigurationError) -> CollectorPipeline.TLSFiles {
        let mapping = try mapping(CollectorPipeline.tlsKeys)
        func file(_ key: String) throws(ConfigurationError) -> PositionedText {
            let node = try mapping.required(key)
            let text = try node.positionedText("the path of a PEM file")
            _ = try node.textOfFile(text.text, in: directory)
            let path = text.text.hasPrefix("/") ? text.text : "\(directory.path)/\(text.text)"
            return PositionedText(
                text: path, file: text.file, line: text.line, keyPath: text.keyPath)
        }
        return CollectorPipeline.TLSFiles(
            certificate: try file("certificate"), key: try file("key"))
    }
}

extension PipelineDirectory {
    static let collectorName = ReadAgain.collector.rawValue

    /// The defaults without `collector.yaml`. With `isRequired`, throws if the file is missing or empty.
    package func collector(
        isRequired: Bool = false
    ) throws(ConfigurationError) -> CollectorPipeline {
        try requireKnownFiles()
        return try collectorPipeline(isRequired: isRequired)
    }

    func collectorPipeline(
        isRequired: Bool = false
    ) throws(ConfigurationError) -> CollectorPipeline {
        try CollectorPipeline(
            content(.collector, isRequired: isRequired), directory: self,
            producerStreams: producerStreams)
    }
}
