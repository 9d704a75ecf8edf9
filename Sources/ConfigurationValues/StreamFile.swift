/// A worker's file: the settings of every worker, and the stream's own keys.
package struct StreamFile {
    package let settings: StreamSettings
    /// `dedupe_window_seconds`: how long an id is remembered, 0...31,622,400; nil: without limit.
    package let dedupeWindowSeconds: Int?
    /// The whole file, for the stream's own keys.
    package let mapping: ConfigurationMapping
    /// Paths in the file are relative to it.
    package let directory: PipelineDirectory

    static let windowKey = "dedupe_window_seconds"

    init(
        _ node: ConfigurationNode, stream: String, defaultWindowSeconds: Int?,
        keys: [ConfigurationKey],
        directory: PipelineDirectory
    ) throws(ConfigurationError) {
        if defaultWindowSeconds == nil,
            let window = try node.entries().first(where: { $0.key == Self.windowKey })
        {
            throw window.value.fault(
                .unknownKey, "ids of \(stream) are remembered permanently: remove this key")
        }
        mapping = try node.mapping(Self.keys(defaultWindowSeconds: defaultWindowSeconds) + keys)
        settings = try StreamSettings(mapping, stream: stream)
        self.directory = directory
        dedupeWindowSeconds =
            defaultWindowSeconds == nil ? nil : try mapping.integer(Self.windowKey).asInt
    }

    /// The keys that every worker has.
    package static func keys(defaultWindowSeconds: Int?) -> [ConfigurationKey] {
        StreamSettings.keys(gathersBatches: defaultWindowSeconds != nil)
            + (defaultWindowSeconds.map { seconds in
                [
                    .integer(
                        windowKey, 0...31_622_400, default: Int64(seconds),
                        """
                        Seconds of event time for which Weir remembers an id. A record with a remembered id is a \
                        duplicate. A change affects the numbers.
                        """)
                ]
            } ?? [])
    }
}

package struct StreamSettings: Equatable, Sendable {
    /// `topic`, by default the name of the file.
    package let topic: String
    /// `group`, by default `weir-` and the name of the file.
    package let group: String
    /// `batch_records`: most records of one commit, 1...1,000,000; by default 10,000, and 100,000 in streams that
    /// remember ids for a window of time.
    package let batchRecords: Int
    /// `commit_interval_ms`: the longest time a record waits for its commit, 1...60,000; by default 200.
    package let commitIntervalMilliseconds: Int
    /// `dedupe_max_ids`: most ids in the dedupe memory; nil for no bound.
    package let dedupeMaxIDs: Int?
    /// `explain_days`: for how many days of event time a store keeps which records added to its rows, 0...36,525; by
    /// default 90.
    package let explainDays: Int
    /// `snapshots`: the directory of snapshots of the partitions; nil for none.
    package let snapshots: String?
    /// `broker_patience_seconds`: how long a running worker waits for unresponsive brokers, 0...86,400; by default
    /// 600.
    package let brokerPatienceSeconds: Int
    /// `max_record_bytes`: the longest value that is decoded, 1...1,048,576 bytes; by default 1,048,576.
    package let maxRecordBytes: Int
    /// `kafka`: settings of librdkafka by its names, as written.
    package let kafka: [String: String]
    /// The place of each setting for errors: `pipelines/bids.yaml:7: kafka.fetch.max.bytes`.
    package let kafkaLocations: [String: String]

    /// The keys of every worker.
    package static let keys = keys(gathersBatches: false)

    /// - Parameter gathersBatches: whether a commit of the stream may gather several batches.
    static func keys(gathersBatches: Bool) -> [ConfigurationKey] {
        [
            .text(
                "topic", "name of a topic", default: "the name of the file", "The topic to read."),
            .text(
                "group", "name of a group", default: "weir- and the name of the file",
                """
                The consumer group in Kafka. Each worker file needs its own group, even in a second installation on \
                the same cluster. If you fold a store again under a new group, the worker publishes all of its \
                partner postbacks again.
                """),
            .integer(
                "batch_records", 1...1_000_000, default: gathersBatches ? 100_000 : 10_000,
                """
                The maximum number of records in a transaction, which also stores the next offset. Streams that remember \
                ids for a window of time have 100000 by default. They read a twentieth at a time.
                """),
            .integer(
                "commit_interval_ms", 1...60_000, default: 200,
                """
                Longest time in milliseconds that a record waits for its commit while few records arrive. If there are \
                more records to read, it is a second.
                """),
            .integer(
                "dedupe_max_ids", 1...1_000_000_000_000,
                "The maximum number of remembered ids. At the limit the worker stops. Default: no limit."
            ),
            .integer(
                "explain_days", 0...36_525, default: 90,
                """
                Days of event time for which the store keeps which records added to a number, so that weir explain and \
                the pages list them at once. For older numbers they fold the log again. 0: for none.
                """),
            .text(
                "snapshots", "directory",
                """
                Where the worker writes snapshots of its partitions, for workers that take over a partition. Relative \
                paths begin at the working directory. Default: none.
                """),
            .integer(
                "broker_patience_seconds", 0...86_400, default: 600,
                "Seconds that a running worker waits for brokers that do not answer. Then it ends with 1."
            ),
            .integer(
                "max_record_bytes", 1...1_048_576, default: 1_048_576,
                "Larger values are rejected as too_large."),
            .text(
                "kafka", "mapping of names to values",
                "Settings of librdkafka by its own names. They override those in kafka.yaml."),
        ]
    }

    /// The keys of the program that delivers to partners, which remembers no ids and has no rows.
    package static let partnerPostbacksKeys = keys.filter {
        !["dedupe_max_ids", "explain_days", "snapshots"].contains($0.name)
    }

    init(_ mapping: ConfigurationMapping, stream: String) throws(ConfigurationError) {
        topic = try mapping["topic"]?.kafkaName(of: "topic") ?? stream
        group = try mapping["group"]?.kafkaName(of: "group") ?? "weir-\(stream)"
        batchRecords = try mapping.integer("batch_records").asInt
        commitIntervalMilliseconds = try mapping.integer("commit_interval_ms").asInt
        dedupeMaxIDs =
            mapping["dedupe_max_ids"] == nil
            ? nil : try mapping.optionalInteger("dedupe_max_ids")?.asInt
        explainDays =
            mapping.declares("explain_days") ? try mapping.integer("explain_days").asInt : 0
        snapshots =
            mapping.declares("snapshots")
            ? try mapping["snapshots"]?.text("a directory").withoutFileScheme : nil
        brokerPatienceSeconds = try mapping.integer("broker_patience_seconds").asInt
        maxRecordBytes = try mapping.integer("max_record_bytes").asInt
        kafka = try mapping["kafka"]?.kafkaSettings() ?? [:]
        kafkaLocations = try mapping["kafka"]?.kafkaLocations() ?? [:]
    }
}

extension String {
    /// The path of an address such as `file:/mnt/snapshots`.
    fileprivate var withoutFileScheme: String {
        hasPrefix("file:") ? String(dropFirst("file:".count)) : self
    }
}

extension Int64 {
    /// For numbers with a checked range.
    package var asInt: Int { Int(self) }
}

extension ConfigurationNode {
    /// A valid name of a Kafka topic. Kafka allows any name for a group; the same rule applies here, so that the name
    /// fits into addresses, labels and command lines.
    fileprivate func kafkaName(of kind: String) throws(ConfigurationError) -> String {
        let text = try text("the name of a \(kind)")
        let isNamed = text.utf8.allSatisfy { $0.isASCIILetterOrDigit || "._-".utf8.contains($0) }
        guard isNamed, (1...249).contains(text.utf8.count), text != ".", text != ".." else {
            throw badValue(
                "is not a name of a \(kind): write 1 to 249 letters, digits, dots, dashes or underscores"
            )
        }
        return text
    }

    func kafkaSettings() throws(ConfigurationError) -> [String: String] {
        var settings: [String: String] = [:]
        for (name, value) in try entries() {
            guard !name.isEmpty,
                name.utf8.allSatisfy({ $0.isASCIILetterOrDigit || "._-".utf8.contains($0) })
            else {
                throw value.badValue(
                    "is not a setting of librdkafka: write a name such as fetch.max.bytes")
            }
            settings[name] = try value.text("a text or a number")
        }
        return settings
    }

    func kafkaLocations() throws(ConfigurationError) -> [String: String] {
        var locations: [String: String] = [:]
        for (name, value) in try entries() {
            locations[name] = "\(value.file):\(value.line): \(value.path)"
        }
        return locations
    }
}

extension ConfigurationNode {
    /// The text of a file that this value names; relative paths begin at `directory`.
    package func textOfFile(
        _ path: String, in directory: PipelineDirectory
    ) throws(ConfigurationError) -> String {
        let file = path.hasPrefix("/") ? path : "\(directory.path)/\(path)"
        do {
            return try directory.source.text(of: file)
        } catch {
            throw fault(.missingFile, "the file '\(file)' \(error.explanation)")
        }
    }
}

extension UInt8 {
    /// A-Z, a-z or 0-9.
    package var isASCIILetterOrDigit: Bool {
        (0x30...0x39).contains(self) || (0x41...0x5A).contains(self) || (0x61...0x7A).contains(self)
    }
}

/// Connection to the Kafka cluster: `kafka.yaml`, which all programs read.
package struct KafkaFile: Equatable, Sendable {
    /// `memory_mib`: memory for records that are fetched, read and folded, 8...65,536 MiB; by default 64.
    package let memoryMebibytes: Int
    /// `settings`: settings of librdkafka by its names, as written.
    package let settings: [String: String]
    /// The place of each setting for errors: `pipelines/kafka.yaml:7: settings.sasl.username`.
    package let locations: [String: String]

    package static let keys: [ConfigurationKey] = [
        .integer(
            "memory_mib", 8...65_536, default: 64,
            """
            Memory in MiB for the records of each program: fetched records, the batch being read and the batch \
            being folded. Use more for a slow or distant cluster.
            """),
        .text(
            "settings", "mapping of names to values",
            """
            Settings of librdkafka by its own names. Write secrets as `env:NAME`, a variable, or `file:PATH`, \
            the first line of a file. Weir rejects settings that it depends on.
            """),
    ]

    /// The defaults without the file.
    package init() {
        memoryMebibytes = 64
        settings = [:]
        locations = [:]
    }

    init(_ node: ConfigurationNode) throws(ConfigurationError) {
        let mapping = try node.mapping(Self.keys)
        memoryMebibytes = try mapping.integer("memory_mib").asInt
        settings = try mapping["settings"]?.kafkaSettings() ?? [:]
        locations = try mapping["settings"]?.kafkaLocations() ?? [:]
    }
}

extension PipelineDirectory {
    package static let kafkaName = "kafka.yaml"

    /// The defaults without `kafka.yaml`.
    package func kafka() throws(ConfigurationError) -> KafkaFile {
        guard try names().contains(Self.kafkaName) else { return KafkaFile() }
        return try KafkaFile(root(of: "\(path)/\(Self.kafkaName)"))
    }
}
