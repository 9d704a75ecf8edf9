import EventLog
import Foundation

/// How to reach a Kafka cluster and how to work with it: settings of librdkafka, by its names.
package struct KafkaSettings: Sendable {
    /// Memory that fetched records may take by default, in bytes.
    package static let defaultMemoryBytes = 64 << 20

    /// `HOST:PORT` of brokers to begin with.
    let brokers: [String]
    /// What was written, secrets resolved.
    let written: [String: String]
    /// Where each was written, if that is known: `pipelines/kafka.yaml:7: settings.sasl.username`.
    private let places: [String: String]
    /// What fetched records that wait to be read may take, in bytes. What librdkafka keeps beside each
    /// record, and one answer of each broker, come on top.
    let memoryBytes: Int
    /// Names this instance among the members of its group, so that it keeps its partitions over a
    /// restart; nil: a new member each time.
    let memberName: String?

    /// Takes settings as they are written: a value `env:NAME` stands for an environment variable,
    /// `file:PATH` for the first line of a file.
    ///
    /// `places` says where each was written, for errors. Throws `badSetting` for a setting that is Weir's own, a secret that is written out, and a variable
    /// or file that is not there.
    package init(
        brokers: [String], written: [String: String] = [:], places: [String: String] = [:],
        memoryBytes: Int = Self.defaultMemoryBytes, memberName: String? = nil
    ) throws(LogError) {
        self.brokers = brokers
        self.places = places
        self.memoryBytes = memoryBytes
        self.memberName = memberName
        var resolved: [String: String] = [:]
        for (name, text) in written.sorted(by: { $0.key < $1.key }) {
            let subject = Self.subject(name, at: places[name])
            if let reason = Self.reserved[name] { throw .badSetting(subject, detail: reason) }
            guard name != "isolation.level" || text == "read_committed" else {
                throw .badSetting(subject, detail: Self.isolationReason)
            }
            resolved[name] = try Self.value(text, of: name, subject)
        }
        self.written = resolved
    }

    /// What an error calls a setting.
    func subject(_ name: String) -> String { Self.subject(name, at: places[name]) }

    private static func subject(_ name: String, at place: String?) -> String {
        (place.map { "\($0): " } ?? "") + "the Kafka setting \(name)"
    }

    private static let reserved = [
        "bootstrap.servers": "is what --log names: remove it",
        "metadata.broker.list": "is what --log names: remove it",
        "group.id": "is what `group` of a program's file names: remove it",
        "group.instance.id": "is what --member names: remove it",
        "enable.auto.commit": "is off: offsets follow the store's commits; remove it",
        "auto.commit.enable": "is off: offsets follow the store's commits; remove it",
        "enable.auto.offset.store": "is off: offsets follow the store's commits; remove it",
        "auto.offset.reset":
            "is error: offsets come from the store, and are never reset; remove it",
        "enable.partition.eof": "is on: it tells where a partition ends; remove it",
        "enable.idempotence": "is on: nothing is published twice by a retry; remove it",
        "acks": "is all: what is published is durable; remove it",
        "request.required.acks": "is all: what is published is durable; remove it",
        "delivery.report.only.error": "is off: every record is waited for; remove it",
        "allow.auto.create.topics":
            "is off: topics are created as topics/ describes them; remove it",
        "transactional.id": "is not used: nothing is published within a transaction; remove it",
    ]

    private static let isolationReason =
        "is read_committed: what a producer took back is never counted; remove it"

    private static let secrets: Set = [
        "sasl.password", "sasl.oauthbearer.client.secret", "ssl.key.password", "ssl.key.pem",
        "ssl.keystore.password",
    ]

    private static func value(
        _ text: String, of name: String, _ subject: String
    ) throws(LogError) -> String {
        if text.hasPrefix("env:") {
            let variable = String(text.dropFirst("env:".count))
            guard let found = ProcessInfo.processInfo.environment[variable], !found.isEmpty else {
                throw .badSetting(
                    subject, detail: "names the variable \(variable), which is not set")
            }
            return found
        }
        if text.hasPrefix("file:") {
            let path = String(text.dropFirst("file:".count))
            guard let found = try? String(contentsOfFile: path, encoding: .utf8) else {
                throw .badSetting(subject, detail: "names the file \(path), which cannot be read")
            }
            // Only a key in PEM has several lines.
            return name.hasSuffix(".pem")
                ? found : found.split(whereSeparator: \.isNewline).first.map(String.init) ?? ""
        }
        guard !secrets.contains(name) else {
            throw .badSetting(
                subject, detail: "is a secret: write env:NAME or file:PATH instead of it")
        }
        return text
    }
}

// MARK: For each kind of client

extension KafkaSettings {
    /// Settings of a client that looks things up and manages topics.
    var forLookups: [(String, String)] { common + own([]) }

    /// Settings of a consumer of a group.
    func forReading(group: String?) -> [(String, String)] {
        // Most of the budget is for records that wait; the rest for those on their way. Small records
        // cost librdkafka more than their bytes, so that their number is bounded too.
        let fetchBytes = max(memoryBytes / 4, 1 << 16)
        var settings = common
        settings += own([
            ("queued.max.messages.kbytes", "\(max(memoryBytes / 2 / 1024, 64))"),
            ("queued.min.messages", "\(max(memoryBytes / 1024, 1000))"),
            ("fetch.max.bytes", "\(fetchBytes)"),
            ("receive.message.max.bytes", "\(max(fetchBytes + (1 << 20), 100_000_000))"),
            ("fetch.message.max.bytes", "\(min(max(fetchBytes / 4, 1 << 16), 4 << 20))"),
            ("fetch.wait.max.ms", "100"), ("check.crcs", "true"),
            ("partition.assignment.strategy", "cooperative-sticky"),
        ])
        settings += [
            ("enable.auto.commit", "false"), ("enable.auto.offset.store", "false"),
            ("auto.offset.reset", "error"), ("enable.partition.eof", "true"),
        ]
        // librdkafka reads nothing without the name of a group; one that only looks never joins it.
        settings.append(("group.id", group ?? "weir"))
        if let group, let memberName {
            settings.append(("group.instance.id", "\(group)-\(memberName)"))
        }
        return settings
    }

    /// Settings of a consumer that looks at single records: a broker answers with one batch at least,
    /// however little is asked for.
    var forLooking: [(String, String)] {
        let little = [
            ("fetch.message.max.bytes", "1024"), ("fetch.wait.max.ms", "10"),
            ("queued.min.messages", "1"), ("queued.max.messages.kbytes", "64"),
        ]
        return forReading(group: nil).filter { name, _ in !little.contains { $0.0 == name } }
            + little
    }

    /// Settings of a producer.
    var forWriting: [(String, String)] {
        common
            + own([
                ("linger.ms", "5"), ("message.timeout.ms", "120000"),
                ("message.max.bytes", "8388608"), ("compression.type", "lz4"),
            ])
            + [("enable.idempotence", "true"), ("acks", "all")]
    }

    private var common: [(String, String)] {
        [
            ("bootstrap.servers", brokers.joined(separator: ",")), ("client.id", "weir"),
            ("log.connection.close", "false"), ("topic.metadata.refresh.interval.ms", "30000"),
        ].filter { written[$0.0] == nil } + written.sorted { $0.key < $1.key }
    }

    /// Settings that may be written otherwise.
    private func own(_ settings: [(String, String)]) -> [(String, String)] {
        settings.filter { written[$0.0] == nil }
    }
}
