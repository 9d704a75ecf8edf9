import EventLog

/// A topic of a log beside its description.
struct TopicComparison {
    /// Partitions first, then replicas, then settings by name.
    private(set) var drifts: [TopicDrift] = []
    /// Why the settings could not be compared; nil when they were, or the log has none.
    private(set) var unknown: String?

    private let described: DescribedTopic
    /// `HOST:PORT,...` of a cluster, for commands; nil for an embedded log.
    private let brokers: String?

    init(_ described: DescribedTopic, _ found: TopicDescription, _ settings: inout TopicSettings) {
        self.described = described
        let address = settings.log.address
        let kafka = "kafka://"
        brokers =
            address.hasPrefix(kafka) ? String(address.dropFirst(kafka.count)) : nil
        comparePartitions(found.partitionCount)
        if let wanted = described.replicaCount, let count = found.replicaCount, count != wanted {
            note("replicas", "\(count)", "\(wanted)", replicasRemedy(count, wanted))
        }
        do throws(LogError) {
            guard let found = try settings.ask(described.name) else { return }
            compare(found)
        } catch {
            unknown = error.description
        }
    }

    private mutating func comparePartitions(_ count: Int32) {
        let wanted = described.partitionCount
        guard count != wanted else { return }
        note("partitions", "\(count)", "\(wanted)", partitionsRemedy(count, wanted))
    }

    private mutating func compare(_ settings: [String: String]) {
        for (name, wanted) in described.settings.sorted(by: { $0.key < $1.key }) {
            let found = settings[name]
            if let found, Self.normal(found) == Self.normal(wanted) { continue }
            note(name, found, wanted, settingRemedy(name, wanted, isKnown: found != nil))
        }
    }

    private mutating func note(
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

// MARK: What to do

extension TopicComparison {
    private func partitionsRemedy(_ count: Int32, _ wanted: Int32) -> String {
        let description = "write \(count) in \(described.file)"
        guard let brokers else { return "\(description), or begin a new log" }
        guard count < wanted else {
            return "\(description), or create the topic anew: Kafka takes no partitions away"
        }
        return
            "\(description), or add partitions with kafka-topics.sh --bootstrap-server \(brokers) "
            + "--alter --topic \(described.name) --partitions \(wanted): keys then land in other "
            + "partitions, where their duplicates are not known, and a worker goes on only with "
            + "--accept-partition-count \(wanted)"
    }

    private func replicasRemedy(_ count: Int32, _ wanted: Int32) -> String {
        "write \(count) in \(described.file), or move partitions with kafka-reassign-partitions.sh"
    }

    private func settingRemedy(_ name: String, _ wanted: String, isKnown: Bool) -> String {
        guard isKnown, let brokers else {
            return "the log does not know it: remove it from \(described.file)"
        }
        let value = wanted.contains(",") ? "[\(wanted)]" : wanted
        return "write it in \(described.file), or change it with kafka-configs.sh "
            + "--bootstrap-server \(brokers) --alter --entity-type topics "
            + "--entity-name \(described.name) --add-config \(name)=\(value)"
    }
}

/// One way in which a topic differs from its description.
struct TopicDrift: Equatable {
    /// `partitions`, `replicas`, or the name of a setting.
    var subject: String
    /// What the log has; nil when it does not know the setting.
    var found: String?
    /// What the description says.
    var described: String
    var remedy: String

    /// Subject and both values, in a few words.
    var words: String { "\(subject) \(found ?? "unknown"), not \(described)" }
}

/// Asks a log for the settings of topics. After one question without an answer it asks no more:
/// each would wait in vain.
struct TopicSettings {
    let log: any LogBackend
    private var failure: LogError?

    init(of log: any LogBackend) {
        self.log = log
    }

    /// The settings of a topic; nil where the log has none.
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
