import ConfigurationFiles
import ConfigurationValues
import EventLog
import Program
import Yams

/// The directory of topic descriptions, each an AsyncAPI document.
struct TopicDirectory {
    let path: String
    /// Configured names of topics, by their described ones.
    var renamed: [String: String] = [:]

    init(_ path: String) {
        self.path = path
    }

    var exists: Bool { files.isDirectory(path) }

    private var files: any ConfigurationSource { BuiltInFiles.source(of: path) }

    /// The topics, by name in bytewise order.
    func topics() throws(CommandError) -> [DescribedTopic] {
        guard exists, let names = files.names(in: path) else {
            throw .failure(
                "no directory of topics \(path): give --topics the directory that Weir ships"
            )
        }
        var topics: [DescribedTopic] = []
        for name in names.sorted() where name.hasSuffix(".yaml") && !name.hasPrefix(".") {
            for var topic in try self.topics(inFile: "\(path)/\(name)") {
                topic.name = renamed[topic.name] ?? topic.name
                if let other = topics.first(where: { $0.name == topic.name }) {
                    throw .failure(
                        "\(topic.file): topic \(topic.name) is already described in \(other.file): "
                            + "remove one of them")
                }
                topics.append(topic)
            }
        }
        return topics.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }

    func topic(_ name: String, missingFrom log: String) throws(CommandError) -> DescribedTopic {
        guard exists else {
            throw .failure(
                "\(log) has no topic '\(name)', and no directory \(path) that describes it: "
                    + "give --topics, or create it with weir topics apply")
        }
        let topics = try topics()
        guard let found = topics.first(where: { $0.name == name }) else {
            throw .failure(
                "\(log) has no topic '\(name)', and \(path) describes only "
                    + "\(topics.map(\.name).joined(separator: ", ")): describe it there, "
                    + "then run weir topics apply")
        }
        return found
    }

    private func topics(inFile file: String) throws(CommandError) -> [DescribedTopic] {
        let document: Node?
        do {
            document = try Yams.compose(yaml: files.text(of: file))
        } catch let error as ConfigurationError {
            throw .failure("\(file) cannot be read: \(error.explanation)")
        } catch {
            let explanation = "\(error)".split(whereSeparator: \.isNewline).joined(separator: " ")
            throw .failure("\(file) cannot be read: \(explanation)")
        }
        guard let channels = document?["channels"]?.mapping else {
            throw .failure("\(file) has no channels: describe a topic, or remove the file")
        }
        var topics: [DescribedTopic] = []
        for (name, channel) in channels {
            topics.append(try Self.topic(channel, name: name.string ?? "", file: file))
        }
        return topics
    }

    private static func topic(
        _ channel: Node, name: String, file: String
    ) throws(CommandError) -> DescribedTopic {
        guard let address = channel["address"]?.string else {
            throw .failure("\(file): channels.\(name) has no address: write the topic's name")
        }
        let kafka = channel["bindings"]?["kafka"]
        guard let count = kafka?["partitions"]?.int, (1...10_000).contains(count) else {
            throw .failure(
                "\(file): channels.\(name).bindings.kafka.partitions is not a number of partitions: "
                    + "write 1 to 10000")
        }
        var settings: [String: String] = [:]
        for section in [kafka?["topicConfiguration"], channel["x-weir-topic-config"]] {
            for (key, value) in section?.mapping ?? [:] {
                let explanation = value.sequence.map { $0.map(text).joined(separator: ",") }
                settings[key.string ?? ""] = explanation ?? text(value)
            }
        }
        return DescribedTopic(
            name: address, partitionCount: Int32(count),
            replicaCount: try replicaCount(kafka, name: name, file: file), settings: settings,
            file: file)
    }

    private static func replicaCount(
        _ kafka: Node?, name: String, file: String
    ) throws(CommandError) -> Int32? {
        guard let written = kafka?["replicas"] else { return nil }
        guard let count = written.int, (1...1000).contains(count) else {
            throw .failure(
                "\(file): channels.\(name).bindings.kafka.replicas is not a number of replicas: "
                    + "write 1 to 1000, or remove it")
        }
        return Int32(count)
    }

    /// A whole number in plain digits, any other value unchanged.
    private static func text(_ value: Node) -> String {
        value.int.map { "\($0)" } ?? value.string ?? ""
    }
}

struct DescribedTopic: Equatable {
    var name: String
    var partitionCount: Int32
    /// Copies of each partition in a cluster; nil for the cluster's default.
    var replicaCount: Int32?
    /// Settings of the topic by Kafka's names, unchanged.
    var settings: [String: String]
    var file: String

    /// The file, or how to get a copy of a built-in one.
    var fileToEdit: String {
        guard let path = BuiltInPath.inRepository(file) else { return file }
        return "\(path), which weir init --topics topics writes"
    }

    /// The settings including the number of replicas, as a log expects them.
    var creationSettings: [String: String] {
        var settings = settings
        settings["replicas"] = replicaCount.map { "\($0)" }
        return settings
    }
}

struct TopicComparison {
    /// Partitions first, then replicas, then settings by name.
    private(set) var drifts: [TopicDrift] = []
    /// Why the settings could not be compared; nil when they were, or when the log does not have settings.
    private(set) var unknown: String?

    private let described: DescribedTopic
    /// `HOST:PORT,...` of a cluster, for commands; nil for an embedded log.
    private let brokers: String?

    init(_ described: DescribedTopic, _ found: TopicDescription, _ settings: inout TopicSettings) {
        self.described = described
        let address = settings.log.address
        let kafka = "kafka://"
        brokers = address.hasPrefix(kafka) ? String(address.dropFirst(kafka.count)) : nil
        let (count, wanted) = (found.partitionCount, described.partitionCount)
        if count != wanted {
            add("partitions", "\(count)", "\(wanted)", partitionsRemedy(count, wanted))
        }
        if let wanted = described.replicaCount, let count = found.replicaCount, count != wanted {
            add(
                "replicas", "\(count)", "\(wanted)",
                "write \(count) in \(described.fileToEdit), or move partitions with kafka-reassign-partitions.sh"
            )
        }
        do throws(LogError) {
            guard let found = try settings.ask(described.name) else { return }
            compare(found)
        } catch {
            unknown = error.description
        }
    }

    private mutating func compare(_ settings: [String: String]) {
        for (name, wanted) in described.settings.sorted(by: { $0.key < $1.key }) {
            let found = settings[name]
            if let found, Self.normal(found) == Self.normal(wanted) { continue }
            add(name, found, wanted, settingRemedy(name, wanted, isKnown: found != nil))
        }
    }

    private mutating func add(
        _ subject: String, _ found: String?, _ described: String, _ remedy: String
    ) {
        drifts.append(
            TopicDrift(subject: subject, found: found, described: described, remedy: remedy))
    }

    /// Numbers are compared by value, words without case, lists without order.
    private static func normal(_ text: String) -> [String] {
        text.split(separator: ",", omittingEmptySubsequences: false).map { part in
            let word = part.filter { !$0.isWhitespace }.lowercased()
            return Int64(word).map { "\($0)" } ?? word
        }.sorted()
    }
}

// MARK: Remedies

extension TopicComparison {
    private func partitionsRemedy(_ count: Int32, _ wanted: Int32) -> String {
        let description = "write \(count) in \(described.fileToEdit)"
        guard let brokers else { return "\(description), or create a new log" }
        guard count < wanted else {
            return "\(description), or recreate the topic: Kafka cannot remove partitions"
        }
        return
            "\(description), or add partitions with kafka-topics.sh --bootstrap-server \(brokers) "
            + "--alter --topic \(described.name) --partitions \(wanted); keys then go to other "
            + "partitions, which cannot detect their duplicates, and a worker continues only with "
            + "--accept-partition-count \(wanted)"
    }

    private func settingRemedy(_ name: String, _ wanted: String, isKnown: Bool) -> String {
        guard isKnown, let brokers else {
            return "the log does not support it: remove it from \(described.fileToEdit)"
        }
        let value = wanted.contains(",") ? "[\(wanted)]" : wanted
        return "write it in \(described.fileToEdit), or change it with kafka-configs.sh "
            + "--bootstrap-server \(brokers) --alter --entity-type topics "
            + "--entity-name \(described.name) --add-config \(name)=\(value)"
    }
}

/// A difference between a topic and its description.
struct TopicDrift: Equatable {
    /// `partitions`, `replicas`, or the name of a setting.
    var subject: String
    /// The value in the log; nil when the log does not know the setting.
    var found: String?
    var described: String
    var remedy: String

    var explanation: String { "\(subject) \(found ?? "unknown"), not \(described)" }
}

/// Queries a log for the settings of topics. After one timeout it stops, because the others would time out too.
struct TopicSettings {
    let log: any LogBackend
    private var failure: LogError?

    init(of log: any LogBackend) {
        self.log = log
    }

    mutating func ask(_ topic: String) throws(LogError) -> [String: String]? {
        if let failure { throw failure }
        do throws(LogError) {
            return try log.settings(ofTopic: topic)
        } catch {
            failure = error
            throw error
        }
    }
}
