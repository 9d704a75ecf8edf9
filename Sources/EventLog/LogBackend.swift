/// A topic of a log.
package struct TopicDescription: Equatable, Sendable {
    package var name: String
    package var partitionCount: Int32
    /// Differs from that of a deleted topic of the same name.
    package var identity: String
    /// Copies of each partition; nil for a log without replicas.
    package var replicaCount: Int32?
    /// Whether the topic is an archive: a copy of a topic of another log. Producers cannot publish to it.
    package var isArchive: Bool

    package init(
        name: String, partitionCount: Int32, identity: String, replicaCount: Int32? = nil,
        isArchive: Bool = false
    ) {
        self.name = name
        self.partitionCount = partitionCount
        self.identity = identity
        self.replicaCount = replicaCount
        self.isArchive = isArchive
    }
}

/// An event log: append-only topics with partitions.
///
/// The module has the types that both backends share: `LogReader`, `LogWriter`, `RecordBatch`, `LogError`. The module
/// EmbeddedLog has the backend in one SQLite file and copies of topics; KafkaLog has the backend for Kafka. Readers
/// and writers are synchronous, and each is used by one thread.
///
///     let log = try EmbeddedLog(path: "weir.log", mode: .create)
///     try log.createTopic("bids", partitionCount: 4)
///     let writer = try log.writer()
///     try writer.append([OutgoingRecord(topic: "bids", key: nil, value: Array("{}".utf8))])
///
///     let reader = try log.reader(topic: "bids")
///     let batch = RecordBatch()
///     try reader.subscribe(.all)
///     while try reader.read(
///         into: batch, maxRecords: 1000, maxBytes: 1 << 20, waitMilliseconds: 100) != .idle
///     {
///         for index in 0..<batch.count { fold(batch[index]) }
///     }
package protocol LogBackend: AnyObject {
    /// The address as opened, for messages.
    var address: String { get }

    /// The topics, by name in bytewise order.
    func topics() throws(LogError) -> [TopicDescription]

    /// Creates a topic unless it exists; returns whether it was created. Never changes an existing topic.
    ///
    /// - Parameter settings: by Kafka's names, and `replicas`; the embedded log ignores them.
    @discardableResult
    func createTopic(
        _ name: String, partitionCount: Int32, settings: [String: String]
    ) throws(LogError) -> Bool

    /// The settings of a topic by Kafka's names; nil for a log without settings.
    func settings(ofTopic name: String) throws(LogError) -> [String: String]?

    /// A reader of one topic. Throws `unknownTopic`.
    ///
    /// - Parameter group: the consumer group for reading and committing offsets; nil for a reader that commits
    ///   nothing.
    func reader(topic: String, group: String?) throws(LogError) -> any LogReader

    /// A reader for single records, which fetches few others. Throws `unknownTopic`.
    func lookingReader(topic: String) throws(LogError) -> any LogReader

    func writer() throws(LogError) -> any LogWriter
}

extension LogBackend {
    /// Creates a topic with the default settings of the log.
    @discardableResult
    package func createTopic(_ name: String, partitionCount: Int32) throws(LogError) -> Bool {
        try createTopic(name, partitionCount: partitionCount, settings: [:])
    }

    /// A log that fetches nothing ahead needs no special reader.
    package func lookingReader(topic: String) throws(LogError) -> any LogReader {
        try reader(topic: topic, group: nil)
    }

    package func reader(topic: String) throws(LogError) -> any LogReader {
        try reader(topic: topic, group: nil)
    }
}

/// The address of an event log, as given to `--log`.
package enum LogAddress: Hashable, Sendable, CustomStringConvertible {
    /// The embedded log in one SQLite file: `sqlite:PATH`.
    case sqlite(path: String)
    /// A Kafka cluster: `kafka://HOST:PORT[,HOST:PORT]`; each element is `HOST:PORT`.
    case kafka([String])

    /// Throws `badAddress`.
    package init(_ text: String) throws(LogError) {
        if text.hasPrefix("sqlite:") {
            let path = text.dropFirst("sqlite:".count)
            guard !path.isEmpty, !path.utf8.contains(0) else {
                throw .badAddress(Self.masked(text))
            }
            self = .sqlite(path: String(path))
        } else if text.hasPrefix("kafka://") {
            let brokers = text.dropFirst("kafka://".count)
                .split(separator: ",", omittingEmptySubsequences: false)
            guard brokers.allSatisfy(Self.isHostAndPort) else {
                throw .badAddress(Self.masked(text))
            }
            self = .kafka(brokers.map(String.init))
        } else {
            throw .badAddress(Self.masked(text))
        }
    }

    /// The file of an embedded log; nil for a cluster.
    package var path: String? {
        if case .sqlite(let path) = self { path } else { nil }
    }

    package var description: String {
        switch self {
        case .sqlite(let path): "sqlite:\(path)"
        case .kafka(let brokers): "kafka://" + brokers.joined(separator: ",")
        }
    }

    /// An address with its user and password masked.
    package static func masked(_ text: String) -> String {
        guard let at = text.lastIndex(of: "@") else { return text }
        let scheme = text[..<at].firstRange(of: "://").map { text[..<$0.upperBound] } ?? ""
        return scheme + "***" + text[at...]
    }

    /// A name, an IPv4 address or an IPv6 address in brackets, a colon, and a port from 1 to 65535.
    private static func isHostAndPort(_ text: Substring) -> Bool {
        guard let colon = text.lastIndex(of: ":") else { return false }
        let host = text[..<colon]
        let port = text[text.index(after: colon)...]
        guard let number = UInt16(port), number > 0, port.utf8.allSatisfy(isDigit) else {
            return false
        }
        if host.hasPrefix("["), host.hasSuffix("]") { return host.utf8.count > 2 }
        return !host.isEmpty
            && !host.contains { "/:@[]".contains($0) || $0.isWhitespace || !$0.isASCII }
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
