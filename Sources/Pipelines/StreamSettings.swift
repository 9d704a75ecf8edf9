/// The settings that every worker has.
package struct StreamSettings: Equatable, Sendable {
    /// The topic that the worker reads (`topic`, by default the name of its file).
    package let topic: String
    /// The consumer group that the worker is in (`group`, by default `weir-` and the name of its file).
    package let group: String
    /// Most records that are folded and committed together (`batch_records`), 1...1,000,000.
    package let batchRecords: Int
    /// How long records wait at most for their commit (`commit_interval_ms`), 1...60,000.
    package let commitIntervalMilliseconds: Int
    /// Most ids that the dedupe memory may hold (`dedupe_max_ids`); nil: no bound.
    package let dedupeMaxIDs: Int?
    /// Largest value that is decoded (`max_record_bytes`), 1...1,048,576 bytes.
    package let maxRecordBytes: Int
    /// Settings of librdkafka (`kafka`), by the names that it gives them, as they are written.
    package let kafka: [String: String]
    /// Where each of them stands, for errors: `pipelines/bids.yaml:7: kafka.fetch.max.bytes`.
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
    /// For numbers whose bounds were checked.
    var asInt: Int { Int(self) }
}

extension ConfigurationNode {
    /// A name that Kafka allows for a topic. A group may have any name there: it is held to the same, so
    /// that it can stand in addresses, labels and command lines.
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

    /// Where each of the settings stands.
    func kafkaPlaces() throws(ConfigurationError) -> [String: String] {
        var places: [String: String] = [:]
        for (name, value) in try entries() {
            places[name] = "\(value.file):\(value.line): \(value.path)"
        }
        return places
    }
}

extension UInt8 {
    /// One of A-Z, a-z, 0-9.
    var isASCIILetterOrDigit: Bool {
        (0x30...0x39).contains(self) || (0x41...0x5A).contains(self) || (0x61...0x7A).contains(self)
    }
}
