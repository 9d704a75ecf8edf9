import DatabaseFiles
import EventLog
import Foundation

/// Connection and settings of a Kafka cluster, by the names of librdkafka.
package struct KafkaSettings: Sendable {
    /// Default memory for fetched records, in bytes.
    static let defaultMemoryBytes = 64 << 20

    /// `HOST:PORT` of the first brokers.
    let brokers: [String]
    /// The configured settings with resolved secrets.
    let written: [String: String]
    /// The place of each setting, if known: `pipelines/kafka.yaml:7: settings.sasl.username`.
    private let places: [String: String]
    /// Memory for records, in bytes: waiting records, those in a broker's answer, and those in the two batches of a
    /// worker. It excludes librdkafka's overhead per record, and records that are compressed to less than a
    /// sixteenth.
    let memoryBytes: Int
    /// The share of one batch.
    var batchBytes: Int { memoryBytes / 4 }
    /// The name of this instance in its group, which lets it keep its partitions over a restart; nil: a new member
    /// each time.
    let memberName: String?

    /// In the configured settings a value `env:NAME` is an environment variable, and `file:PATH` the first line of a
    /// file.
    ///
    /// `places` has the place of each setting, for errors. Throws `badSetting` for a setting that Weir controls, a
    /// secret in plain text, a missing variable or file, and incomplete SASL settings.
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
        try checkSigningIn()
    }

    /// Throws if SASL settings are incomplete. librdkafka treats a missing mechanism as Kerberos, and its errors then
    /// mention only Kerberos.
    private func checkSigningIn() throws(LogError) {
        let name = "security.protocol"
        guard let security = written[name]?.uppercased(), security.hasPrefix("SASL_") else {
            return
        }
        guard let mechanism = written["sasl.mechanism"] ?? written["sasl.mechanisms"] else {
            throw .badSetting(
                subject(name),
                detail:
                    "is \(security), but sasl.mechanism is missing: add it with the mechanism of your cluster, "
                    + "for example SCRAM-SHA-512 or PLAIN (GSSAPI for Kerberos)")
        }
        let isByName =
            mechanism.uppercased() == "PLAIN" || mechanism.uppercased().hasPrefix("SCRAM")
        let missing = ["sasl.username", "sasl.password"].filter { (written[$0] ?? "").isEmpty }
        guard !isByName || missing.isEmpty else {
            throw .badSetting(
                subject("sasl.mechanism"),
                detail: "is \(mechanism), but \(missing.joined(separator: " and ")) "
                    + "\(missing.count == 1 ? "is" : "are") missing: add \(missing.count == 1 ? "it" : "both")"
            )
        }
    }

    /// A setting as errors name it.
    func subject(_ name: String) -> String { Self.subject(name, at: places[name]) }

    private static func subject(_ name: String, at place: String?) -> String {
        (place.map { "\($0): " } ?? "") + "the Kafka setting \(name)"
    }

    private static let reserved = [
        "bootstrap.servers": "is set by --log: remove it",
        "metadata.broker.list": "is set by --log: remove it",
        "group.id": "is set by `group` in the program's file: remove it",
        "group.instance.id": "is set by --member: remove it",
        "enable.auto.commit":
            "is always off, because offsets follow the store's commits: remove it",
        "auto.commit.enable":
            "is always off, because offsets follow the store's commits: remove it",
        "enable.auto.offset.store":
            "is always off, because offsets follow the store's commits: remove it",
        "auto.offset.reset":
            "is always error, because offsets come from the store and are never reset: remove it",
        "enable.partition.eof":
            "is always on, because it reports the end of a partition: remove it",
        "enable.idempotence": "is always on, so that a retry publishes nothing twice: remove it",
        "acks": "is always all, so that published records are durable: remove it",
        "request.required.acks": "is always all, so that published records are durable: remove it",
        "delivery.report.only.error":
            "is always off, because Weir waits for every record: remove it",
        "allow.auto.create.topics":
            "is always off, because topics are created as described in topics/: remove it",
        "transactional.id": "is not used, because Weir does not publish in transactions: remove it",
    ]

    private static let isolationReason =
        "is always read_committed, so that aborted records are never counted: remove it"

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
            let found: String
            do throws(RegularFileError) {
                found = try RegularFile.text(of: path)
            } catch {
                throw .badSetting(subject, detail: "names the file \(path), which \(error)")
            }
            // Only a PEM key has several lines.
            return name.hasSuffix(".pem")
                ? found : found.split(whereSeparator: \.isNewline).first.map(String.init) ?? ""
        }
        guard !secrets.contains(name) else {
            throw .badSetting(
                subject, detail: "is a secret: write env:NAME or file:PATH instead")
        }
        return text
    }
}

// MARK: For each kind of client

extension KafkaSettings {
    /// Settings of a client that looks up and manages topics.
    var forLookups: [(String, String)] { common + own([]) }

    func forReading(group: String?) -> [(String, String)] {
        // A fetch returns compressed records, and librdkafka expands a whole answer at once. Small records cost
        // librdkafka more than their bytes, so their number is bounded too. librdkafka requires room for the longest
        // message in a fetch.
        let longest = written["message.max.bytes"].flatMap { Int($0) } ?? 1_000_000
        let fetchBytes = max(memoryBytes / 32, 1 << 16, longest)
        var settings = common
        settings += own([
            ("queued.max.messages.kbytes", "\(max(memoryBytes / 8 / 1024, 64))"),
            ("queued.min.messages", "\(max(memoryBytes / 4096, 1000))"),
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
        // librdkafka requires a group name; a reader for single records never joins it.
        settings.append(("group.id", group ?? "weir"))
        if let group, let memberName {
            settings.append(("group.instance.id", "\(group)-\(memberName)"))
        }
        return settings
    }

    /// Settings of a consumer for single records. A broker answers with at least one batch, however little a fetch
    /// requests.
    var forLooking: [(String, String)] {
        let little = [
            ("fetch.message.max.bytes", "1024"), ("fetch.wait.max.ms", "10"),
            ("queued.min.messages", "1"), ("queued.max.messages.kbytes", "64"),
        ]
        return forReading(group: nil).filter { name, _ in !little.contains { $0.0 == name } }
            + little
    }

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

    /// Defaults, which the configured settings override.
    private func own(_ settings: [(String, String)]) -> [(String, String)] {
        settings.filter { written[$0.0] == nil }
    }
}
