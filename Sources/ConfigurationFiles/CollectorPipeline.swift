import Foundation

/// `collector.yaml`: what `weir-collector` takes, and from whom. Every key may be absent. The
/// properties have the names of their keys, with the defaults in parentheses.
package struct CollectorPipeline: Equatable, Sendable {
    package struct ProducerKey: Equatable, Sendable {
        /// The producer's name in logs.
        package let name: String
        /// SHA-256 of the key; 32 bytes.
        package let digest: [UInt8]
        package let topics: Set<String>
        /// Requests a second over time; nil for no bound.
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

    /// Threads that serve, 1...64; nil for as many as suit the machine.
    package let threads: Int?
    /// Nil to serve without TLS.
    package private(set) var tls: TLSFiles?
    /// Bytes of a body (1 MiB).
    package let maxBodyBytes: Int
    /// Bytes of a batch of events (8 MiB).
    package let maxBatchBytes: Int
    /// Bytes of a request's headers (32 KiB).
    package let maxHeaderBytes: Int
    /// Bytes of all bodies at once (128 MiB).
    package let maxBodyMemoryBytes: Int
    /// How long the headers of a request may take (10).
    package let headerTimeoutSeconds: Int64
    /// How long a body may take (20).
    package let bodyTimeoutSeconds: Int64
    /// How long a connection may rest (60).
    package let idleTimeoutSeconds: Int64
    /// Connections at once (4096).
    package let maxConnections: Int
    /// Connections of one address at once (1024).
    package let maxConnectionsPerAddress: Int
    /// How long a request waits for the log (10).
    package let logTimeoutSeconds: Int64
    /// Records that may wait for the log (50,000).
    package let maxQueuedRecords: Int
    /// Bytes that may wait for the log (64 MiB).
    package let maxQueuedBytes: Int
    /// How long requests may take to end at a stop (10).
    package let drainSeconds: Int64
    /// Proxies whose `X-Forwarded-For` is believed.
    package let trustedProxies: [AddressRange]
    package private(set) var access = Access()

    private static let keyNames = [
        "threads", "tls", "max_body_bytes", "max_batch_bytes", "max_header_bytes",
        "max_body_memory_bytes", "header_timeout_seconds", "body_timeout_seconds",
        "idle_timeout_seconds", "max_connections", "max_connections_per_address",
        "log_timeout_seconds", "max_queued_records", "max_queued_bytes", "drain_seconds",
        "trusted_proxies", "require_keys", "keys", "token_keys", "require_notice_tokens",
    ]

    /// The defaults without a node. Paths in the file are relative to `directory`.
    init(
        _ node: ConfigurationNode?, directory: String, producerStreams: [String]
    ) throws(ConfigurationError) {
        let mapping = try node?.mapping(Self.keyNames)
        func integer(
            _ key: String, _ range: ClosedRange<Int64>, _ absent: Int64
        ) throws(ConfigurationError) -> Int64 {
            try mapping?.integer(key, in: range, default: absent) ?? absent
        }
        func count(
            _ key: String, _ range: ClosedRange<Int64>, _ absent: Int64
        ) throws(ConfigurationError) -> Int {
            Int(try integer(key, range, absent))
        }
        threads = try mapping?["threads"]?.integer(in: 1...64).asInt
        tls = try mapping?["tls"]?.tlsFiles(in: directory)
        maxBodyBytes = try count("max_body_bytes", 1024...(64 << 20), 1 << 20)
        maxBatchBytes = try count("max_batch_bytes", 1024...(256 << 20), 8 << 20)
        maxHeaderBytes = try count("max_header_bytes", 1024...(1 << 20), 32 << 10)
        maxBodyMemoryBytes = try count(
            "max_body_memory_bytes", (1 << 20)...(64 << 30), 128 << 20)
        headerTimeoutSeconds = try integer("header_timeout_seconds", 1...3600, 10)
        bodyTimeoutSeconds = try integer("body_timeout_seconds", 1...3600, 20)
        idleTimeoutSeconds = try integer("idle_timeout_seconds", 1...86_400, 60)
        maxConnections = try count("max_connections", 1...1_000_000, 4096)
        maxConnectionsPerAddress = try count("max_connections_per_address", 1...1_000_000, 1024)
        logTimeoutSeconds = try integer("log_timeout_seconds", 1...3600, 10)
        maxQueuedRecords = try count("max_queued_records", 1...10_000_000, 50_000)
        maxQueuedBytes = try count("max_queued_bytes", (1 << 20)...(16 << 30), 64 << 20)
        drainSeconds = try integer("drain_seconds", 0...3600, 10)
        var proxies: [AddressRange] = []
        for element in try mapping?["trusted_proxies"]?.elements() ?? [] {
            proxies.append(try element.addressRange())
        }
        trustedProxies = proxies
        access.requiresKeys = try mapping?.boolean("require_keys", default: true) ?? true
        access.keys = try Self.keys(mapping?["keys"], open: producerStreams)
        access.tokenKeys = try Self.tokenKeys(mapping?["token_keys"], directory: directory)
        access.requiresNoticeTokens =
            try mapping?.boolean("require_notice_tokens", default: true) ?? true
    }

    private static func keys(
        _ node: ConfigurationNode?, open: [String]
    ) throws(ConfigurationError) -> [ProducerKey] {
        var keys: [ProducerKey] = []
        for element in try node?.elements() ?? [] {
            let key = try ProducerKey(element, open: open)
            guard !keys.contains(where: { $0.name == key.name }) else {
                throw element.badValue("name '\(key.name)' is that of an earlier key: keep one")
            }
            keys.append(key)
        }
        return keys
    }

    private static func tokenKeys(
        _ node: ConfigurationNode?, directory: String
    ) throws(ConfigurationError) -> [TokenKey] {
        var keys: [TokenKey] = []
        for element in try node?.elements() ?? [] {
            let key = try TokenKey(element, directory: directory)
            guard !keys.contains(where: { $0.id == key.id }) else {
                throw element.badValue("id '\(key.id)' is that of an earlier key: keep one")
            }
            keys.append(key)
        }
        return keys
    }
}

extension CollectorPipeline {
    /// Who may send what. It is followed while the collector works; everything else is read at its
    /// start only.
    package struct Access: Equatable, Sendable {
        /// Whether events need a producer's key (`require_keys`, true).
        package var requiresKeys = true
        /// No two have the same name.
        package var keys: [ProducerKey] = []
        /// No two have the same id. The first one signs.
        package var tokenKeys: [TokenKey] = []
        /// Whether win, billing and loss notices need a token or a producer's key
        /// (`require_notice_tokens`, true).
        package var requiresNoticeTokens = true

        /// That of a collector without a file.
        package init() {}
    }

    package var tokenKeys: [TokenKey] { access.tokenKeys }

    /// Whether another file says the same apart from `access`. The position of a value in its file
    /// does not count.
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
        let mapping = try node.mapping(["name", "sha256", "topics", "requests_per_second"])
        name = try mapping.required("name").name()
        digest = try mapping.required("sha256").digest()
        requestsPerSecond = try mapping["requests_per_second"]?.integer(in: 1...1_000_000).asInt
        let listed = try mapping.required("topics")
        var topics: Set<String> = []
        for element in try listed.elements() {
            let topic = try element.text("a topic")
            guard open.contains(topic) else {
                throw element.badValue(
                    "is no topic that producers send to: write \(open.joined(separator: ", "))")
            }
            topics.insert(topic)
        }
        guard !topics.isEmpty else {
            throw listed.badValue("is empty, so that the key would be of no use: list a topic")
        }
        self.topics = topics
    }
}

extension CollectorPipeline.TokenKey {
    private static let minBytes = 32

    fileprivate init(_ node: ConfigurationNode, directory: String) throws(ConfigurationError) {
        let mapping = try node.mapping(["id", "file"])
        let idNode = try mapping.required("id")
        id = try idNode.name()
        let isPlain = id.utf8.allSatisfy { byte in
            (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte)
                || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
        }
        guard isPlain, id.utf8.count <= 32 else {
            throw idNode.badValue("is no id: write up to 32 letters, digits, dashes, underscores")
        }
        let fileNode = try mapping.required("file")
        let path = try fileNode.positionedText("the path of a file").text
        let text = try fileNode.textOfFile(path, in: directory)
        let line = text.split(whereSeparator: \.isNewline).first.map { Array($0.utf8) } ?? []
        guard line.count >= Self.minBytes else {
            throw fileNode.badValue(
                "'\(path)' holds fewer than \(Self.minBytes) characters in its first line: make it with weir token new-key --out FILE"
            )
        }
        secret = line
        file = path.hasPrefix("/") ? path : "\(directory)/\(path)"
    }
}

extension ConfigurationNode {
    fileprivate func addressRange() throws(ConfigurationError) -> AddressRange {
        let text = try text("an address or a range of them")
        guard let range = AddressRange(text) else {
            throw badValue("is '\(text)': write an address or a range, as 10.0.0.0/8")
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
                "is no SHA-256 in 64 hexadecimal digits: write what weir token new-producer prints")
        }
        return bytes
    }

    fileprivate func tlsFiles(
        in directory: String
    ) throws(ConfigurationError) -> CollectorPipeline.TLSFiles {
        let mapping = try mapping(["certificate", "key"])
        func file(_ key: String) throws(ConfigurationError) -> PositionedText {
            let node = try mapping.required(key)
            let text = try node.positionedText("the path of a PEM file")
            _ = try node.textOfFile(text.text, in: directory)
            let path = text.text.hasPrefix("/") ? text.text : "\(directory)/\(text.text)"
            return PositionedText(
                text: path, file: text.file, line: text.line, keyPath: text.keyPath)
        }
        return CollectorPipeline.TLSFiles(
            certificate: try file("certificate"), key: try file("key"))
    }
}

extension PipelineDirectory {
    static let collectorName = ReadAgain.collector.rawValue

    /// The defaults without `collector.yaml`. With `isRequired`, throws when the file is missing or
    /// empty.
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
            content(.collector, isRequired: isRequired), directory: path,
            producerStreams: producerStreams)
    }
}

/// A range of IP addresses, such as `10.0.0.0/8`, `2001:db8::/32` or a single address.
package struct AddressRange: Equatable, Sendable {
    private let prefix: [UInt8]
    private let bitCount: Int

    /// Nil when the text is no range. Bits after the prefix length are ignored.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), let bytes = Self.bytes(of: String(parts[0])) else {
            return nil
        }
        var bitCount = bytes.count * 8
        if parts.count == 2 {
            guard let count = Int(parts[1]), (0...bitCount).contains(count),
                String(count) == parts[1]
            else { return nil }
            bitCount = count
        }
        prefix = bytes
        self.bitCount = bitCount
    }

    /// The 4 or 16 bytes of an address; nil when the text is none. An IPv4 address that is mapped
    /// into IPv6 has 4.
    package static func bytes(of text: String) -> [UInt8]? {
        var short = in_addr()
        if inet_pton(AF_INET, text, &short) == 1 { return withUnsafeBytes(of: short) { Array($0) } }
        var long = in6_addr()
        guard inet_pton(AF_INET6, text, &long) == 1 else { return nil }
        let bytes = withUnsafeBytes(of: long) { Array($0) }
        let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
        return bytes.starts(with: mapped) ? Array(bytes[mapped.count...]) : bytes
    }

    /// `address` as `bytes(of:)` returns it.
    package func contains(_ address: [UInt8]) -> Bool {
        guard address.count == prefix.count else { return false }
        let whole = bitCount / 8
        guard address[..<whole] == prefix[..<whole] else { return false }
        let rest = bitCount % 8
        return rest == 0 || (address[whole] ^ prefix[whole]) >> (8 - rest) == 0
    }
}
