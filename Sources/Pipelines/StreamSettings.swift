/// The streams that have a file in the configuration. The raw value is the file's name without
/// `.yaml`, and the default topic.
package enum PipelineStream: String, CaseIterable, Sendable {
    case bids
    case impressions
    case overlayClicks = "overlay-clicks"
    case postbacks
    case storeNotifications = "store-notifications"
    case conversionUpdates = "conversion-updates"
    case partnerPostbacks = "partner-postbacks"

    package var fileName: String { "\(rawValue).yaml" }
    /// The consumer group where none is configured: the program's name.
    var defaultGroup: String { "weir-\(rawValue)" }
}

package struct StreamSettings: Equatable, Sendable {
    /// `topic`, by default the name of the file.
    package let topic: String
    /// `group`, by default `weir-` and the name of the file.
    package let group: String
    /// `batch_records`: most records of one commit, 1...1,000,000; by default 10,000.
    package let batchRecords: Int
    /// `commit_interval_ms`: how long a record waits for its commit at most, 1...60,000; by default
    /// 200.
    package let commitIntervalMilliseconds: Int
    /// `dedupe_max_ids`: most ids in the dedupe memory; nil for no bound.
    package let dedupeMaxIDs: Int?
    /// `max_record_bytes`: the longest value that is decoded, 1...1,048,576 bytes, which is the
    /// default.
    package let maxRecordBytes: Int
    /// `kafka`: settings of librdkafka by its names, as they are written.
    package let kafka: [String: String]
    /// The place of each setting for errors: `pipelines/bids.yaml:7: kafka.fetch.max.bytes`.
    package let kafkaPlaces: [String: String]

    static let keys = [
        "topic", "group", "batch_records", "commit_interval_ms", "dedupe_max_ids",
        "max_record_bytes",
        "kafka",
    ]

    init(_ mapping: ConfigurationMapping, topic stream: PipelineStream) throws(ConfigurationError) {
        topic = try mapping["topic"]?.kafkaName(of: "topic") ?? stream.rawValue
        group = try mapping["group"]?.kafkaName(of: "group") ?? stream.defaultGroup
        batchRecords =
            try mapping.integer("batch_records", in: 1...1_000_000, default: 10_000).asInt
        commitIntervalMilliseconds =
            try mapping.integer("commit_interval_ms", in: 1...60_000, default: 200).asInt
        dedupeMaxIDs = try mapping["dedupe_max_ids"]?.integer(in: 1...1_000_000_000_000).asInt
        maxRecordBytes =
            try mapping.integer("max_record_bytes", in: 1...1_048_576, default: 1_048_576).asInt
        kafka = try mapping["kafka"]?.kafkaSettings() ?? [:]
        kafkaPlaces = try mapping["kafka"]?.kafkaPlaces() ?? [:]
    }
}

extension Int64 {
    /// For numbers whose range was checked.
    var asInt: Int { Int(self) }
}

extension ConfigurationNode {
    /// A name that Kafka allows for a topic. Kafka allows a group any name; it is held to the same
    /// rule, so that it can stand in addresses, labels and command lines.
    fileprivate func kafkaName(of kind: String) throws(ConfigurationError) -> String {
        let text = try text("the name of a \(kind)")
        let isNamed = text.utf8.allSatisfy { $0.isASCIILetterOrDigit || "._-".utf8.contains($0) }
        guard isNamed, (1...249).contains(text.utf8.count), text != ".", text != ".." else {
            throw badValue(
                "is no \(kind): write 1 to 249 letters, digits, dots, dashes, underscores")
        }
        return text
    }

    func kafkaSettings() throws(ConfigurationError) -> [String: String] {
        var settings: [String: String] = [:]
        for (name, value) in try entries() {
            guard !name.isEmpty,
                name.utf8.allSatisfy({ $0.isASCIILetterOrDigit || "._-".utf8.contains($0) })
            else {
                throw value.badValue("is no setting of librdkafka: write a name as fetch.max.bytes")
            }
            settings[name] = try value.text("a text or a number")
        }
        return settings
    }

    func kafkaPlaces() throws(ConfigurationError) -> [String: String] {
        var places: [String: String] = [:]
        for (name, value) in try entries() {
            places[name] = "\(value.file):\(value.line): \(value.path)"
        }
        return places
    }
}

extension UInt8 {
    /// A-Z, a-z or 0-9.
    var isASCIILetterOrDigit: Bool {
        (0x30...0x39).contains(self) || (0x41...0x5A).contains(self) || (0x61...0x7A).contains(self)
    }
}

/// How to reach the Kafka cluster: `kafka.yaml`, which all programs read.
package struct KafkaFile: Equatable, Sendable {
    /// `memory_mib`: memory for records that are fetched and not read yet, 8...65,536 MiB; by
    /// default 64.
    package let memoryMebibytes: Int
    /// `settings`: settings of librdkafka by its names, as they are written.
    package let settings: [String: String]
    /// The place of each setting for errors: `pipelines/kafka.yaml:7: settings.sasl.username`.
    package let places: [String: String]

    /// The defaults without the file.
    package init() {
        memoryMebibytes = 64
        settings = [:]
        places = [:]
    }

    init(_ node: ConfigurationNode) throws(ConfigurationError) {
        let mapping = try node.mapping(["memory_mib", "settings"])
        memoryMebibytes = try mapping.integer("memory_mib", in: 8...65_536, default: 64).asInt
        settings = try mapping["settings"]?.kafkaSettings() ?? [:]
        places = try mapping["settings"]?.kafkaPlaces() ?? [:]
    }
}

extension PipelineDirectory {
    static let kafkaName = "kafka.yaml"

    /// The defaults without `kafka.yaml`.
    package func kafka() throws(ConfigurationError) -> KafkaFile {
        guard try names().contains(Self.kafkaName) else { return KafkaFile() }
        return try KafkaFile(ConfigurationFile.read("\(path)/\(Self.kafkaName)"))
    }
}
