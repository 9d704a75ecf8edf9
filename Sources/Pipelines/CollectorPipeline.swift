import Foundation

/// What `weir-collector` takes and from whom: `collector.yaml`. Every key may be absent.
package struct CollectorPipeline: Equatable, Sendable {
    /// A producer of events that the collector knows by a key.
    package struct ProducerKey: Equatable, Sendable {
        /// What the producer is called in logs.
        package let name: String
        /// SHA-256 of the key, 32 bytes.
        package let digest: [UInt8]
        /// The topics that it may send to.
        package let topics: Set<PipelineStream>
        /// Requests a second that it may send over time; nil: as many as it likes.
        package let requestsPerSecond: Int?
    }

    /// A key that signs tokens.
    package struct TokenKey: Equatable, Sendable {
        /// The name that tokens say it by.
        package let id: String
        /// At least 32 bytes.
        package let secret: [UInt8]
        /// The file that holds it.
        package let file: String
    }

    /// Certificate chain and key, in PEM.
    package struct TLSFiles: Equatable, Sendable {
        /// The path of the chain, leaf first.
        package let certificate: PositionedText
        /// The path of its key.
        package let key: PositionedText
    }

    /// Threads that serve, 1...64; nil: as many as suit the machine (`threads`).
    package let threads: Int?
    /// Certificate and key (`tls`); nil to serve without.
    package private(set) var tls: TLSFiles?
    /// Bytes of a body (`max_body_bytes`, 1 MiB).
    package let maxBodyBytes: Int
    /// Bytes of a batch of events (`max_batch_bytes`, 8 MiB).
    package let maxBatchBytes: Int
    /// Bytes of a request's headers (`max_header_bytes`, 32 KiB).
    package let maxHeaderBytes: Int
    /// Bytes of all bodies at once (`max_body_memory_bytes`, 128 MiB).
    package let maxBodyMemoryBytes: Int
    /// Seconds that the headers of a request may take (`header_timeout_seconds`, 10).
    package let headerTimeoutSeconds: Int64
    /// Seconds that a body may take (`body_timeout_seconds`, 20).
    package let bodyTimeoutSeconds: Int64
    /// Seconds that a connection may rest (`idle_timeout_seconds`, 60).
    package let idleTimeoutSeconds: Int64
    /// Connections at once (`max_connections`, 4096).
    package let maxConnections: Int
    /// Connections of one address at once (`max_connections_per_address`, 1024).
    package let maxConnectionsPerAddress: Int
    /// Seconds that a request waits for the log (`log_timeout_seconds`, 10).
    package let logTimeoutSeconds: Int64
    /// Records that may wait for the log (`max_queued_records`, 50,000).
    package let maxQueuedRecords: Int
    /// Bytes that may wait for the log (`max_queued_bytes`, 64 MiB).
    package let maxQueuedBytes: Int
    /// Seconds that requests may take to end at a stop (`drain_seconds`, 10).
    package let drainSeconds: Int64
    /// Proxies whose word is taken for a client's address (`trusted_proxies`).
    package let trustedProxies: [AddressRange]
    /// Whether events are taken from those only who have a key (`require_keys`, true).
    package private(set) var requiresKeys: Bool
    /// The producers' keys (`keys`), no two with one name.
    package private(set) var keys: [ProducerKey]
    /// The keys of tokens (`token_keys`), no two with one id; the first one signs.
    package private(set) var tokenKeys: [TokenKey]
    /// Whether win, billing and loss notices need a token or a producer's key
    /// (`require_notice_tokens`, true).
    package private(set) var requiresNoticeTokens: Bool

    private static let keyNames = [
        "threads", "tls", "max_body_bytes", "max_batch_bytes", "max_header_bytes",
        "max_body_memory_bytes", "header_timeout_seconds", "body_timeout_seconds",
        "idle_timeout_seconds", "max_connections", "max_connections_per_address",
        "log_timeout_seconds", "max_queued_records", "max_queued_bytes", "drain_seconds",
        "trusted_proxies", "require_keys", "keys", "token_keys", "require_notice_tokens",
    ]

    /// Reads the file's content, or the defaults without one; paths in it are relative to `directory`.
    init(_ node: ConfigurationNode?, directory: String) throws(ConfigurationError) {
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
        requiresKeys = try mapping?.boolean("require_keys", default: true) ?? true
        keys = try Self.keys(mapping?["keys"])
        tokenKeys = try Self.tokenKeys(mapping?["token_keys"], directory: directory)
        requiresNoticeTokens =
            try mapping?.boolean("require_notice_tokens", default: true) ?? true
    }

    private static func keys(
        _ node: ConfigurationNode?
    ) throws(ConfigurationError) -> [ProducerKey] {
        var keys: [ProducerKey] = []
        for element in try node?.elements() ?? [] {
            let key = try ProducerKey(element)
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
    /// Who may send what; the rest is read at the start only.
    package struct Access: Equatable, Sendable {
        /// As `requiresKeys`.
        package var requiresKeys = true
        /// As `keys`.
        package var keys: [ProducerKey] = []
        /// As `tokenKeys`.
        package var tokenKeys: [TokenKey] = []
        /// As `requiresNoticeTokens`.
        package var requiresNoticeTokens = true

        /// That of a collector without a file.
        package init() {}
    }

    /// Who may send what.
    package var access: Access {
        var access = Access()
        access.requiresKeys = requiresKeys
        access.keys = keys
        access.tokenKeys = tokenKeys
        access.requiresNoticeTokens = requiresNoticeTokens
        return access
    }

    /// Whether another file says the same, whoever may send what, and wherever it stands there.
    package func isSameButForAccess(_ other: CollectorPipeline) -> Bool {
        withoutAccess == other.withoutAccess
            && tls?.certificate.text == other.tls?.certificate.text
            && tls?.key.text == other.tls?.key.text
    }

    private var withoutAccess: CollectorPipeline {
        var rest = self
        rest.tls = nil
        rest.requiresKeys = true
        rest.keys = []
        rest.tokenKeys = []
        rest.requiresNoticeTokens = true
        return rest
    }
}

extension CollectorPipeline.ProducerKey {
    /// The topics that producers of their own may send to.
    private static let open: [PipelineStream] = [.bids, .impressions, .overlayClicks]

    fileprivate init(_ node: ConfigurationNode) throws(ConfigurationError) {
        let mapping = try node.mapping(["name", "sha256", "topics", "requests_per_second"])
        name = try mapping.required("name").name()
        digest = try mapping.required("sha256").digest()
        requestsPerSecond = try mapping["requests_per_second"]?.integer(in: 1...1_000_000).asInt
        let listed = try mapping.required("topics")
        var topics: Set<PipelineStream> = []
        for element in try listed.elements() {
            let topic = try element.word(PipelineStream.self)
            guard Self.open.contains(topic) else {
                let known = Self.open.map(\.rawValue).joined(separator: ", ")
                throw element.badValue("is no topic that producers send to: write \(known)")
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

    /// What the collector takes; the defaults when there is no `collector.yaml`.
    ///
    /// Throws when the file has to be there, and is not, or is empty.
    package func collector(
        isRequired: Bool = false
    ) throws(ConfigurationError) -> CollectorPipeline {
        if let unknown = try unknownFiles().first { throw unknown }
        return try collectorPipeline(isRequired: isRequired)
    }

    func collectorPipeline(
        isRequired: Bool = false
    ) throws(ConfigurationError) -> CollectorPipeline {
        try CollectorPipeline(content(.collector, isRequired: isRequired), directory: path)
    }
}
