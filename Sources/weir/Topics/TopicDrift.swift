/// One way in which a topic differs from its description.
struct TopicDrift: Equatable {
    /// `partitions`, `replicas`, or the name of a setting.
    var subject: String
    /// What the log has; nil when it does not know the setting.
    var found: String?
    /// What the description says.
    var described: String
    /// What to do about it.
    var remedy: String

    /// Subject and both values, in a few words.
    var words: String { "\(subject) \(found ?? "unknown"), not \(described)" }
}
