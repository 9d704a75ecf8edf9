/// How long the records of a topic are kept, as its description says it by Kafka's names.
struct TopicRetention: Equatable {
    /// Records older than this go; nil: they never do.
    var milliseconds: Int64?
    /// The oldest records of a partition go while it has more bytes; nil: they never do.
    var bytes: Int64?
    /// Whether only the last record of each key is to be kept, whatever its age: such a topic is not trimmed.
    var isCompacted = false

    /// Reads `cleanup.policy`, `retention.ms` and `retention.bytes`; what is not described is kept for ever.
    init(_ topic: DescribedTopic) throws(CommandError) {
        let policies = (topic.settings["cleanup.policy"] ?? "delete").split(separator: ",")
        isCompacted = !policies.contains("delete")
        guard !isCompacted else { return }
        milliseconds = try Self.limit("retention.ms", of: topic)
        bytes = try Self.limit("retention.bytes", of: topic)
    }

    private static func limit(
        _ name: String, of topic: DescribedTopic
    ) throws(CommandError) -> Int64? {
        guard let text = topic.settings[name] else { return nil }
        guard let number = Int64(text), number >= -1 else {
            throw .failure(
                "\(topic.file): \(name) is '\(text)': write a whole number, or -1 for no limit")
        }
        return number == -1 ? nil : number
    }

    /// The rule in words; nil when there is no limit.
    var words: String? {
        let rules =
            (milliseconds.map { ["\(Self.span($0))"] } ?? [])
            + (bytes.map { ["\($0) bytes"] } ?? [])
        return rules.isEmpty ? nil : rules.joined(separator: " and ")
    }

    private static func span(_ milliseconds: Int64) -> String {
        for (unit, name) in [(86_400_000, "days"), (3_600_000, "hours"), (60_000, "minutes")]
        where milliseconds >= unit && milliseconds % Int64(unit) == 0 {
            return "\(milliseconds / Int64(unit)) \(name)"
        }
        return "\(milliseconds) ms"
    }
}
