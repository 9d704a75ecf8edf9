import EventLog

/// Why records were not acknowledged. What it says of is in the log or not, nobody knows: whoever sent it
/// sends it again.
package enum AppendRefusal: Error, Equatable, Sendable {
    /// So much waits for the log already that no more is taken.
    case full
    /// The log has not answered in time.
    case late
    /// The log refused.
    case log(LogError)
    /// The collector is being stopped.
    case stopped

    /// After how many seconds it is worth to try again.
    package var retryAfterSeconds: Int {
        switch self {
        case .full, .stopped: 1
        case .late, .log: 5
        }
    }

    /// What is wrong, for whoever sent the records: says nothing of the log's whereabouts.
    package var words: String {
        switch self {
        case .full: "too much waits for the log: try again"
        case .late: "the log has not acknowledged in time: try again"
        case .log(.unknownTopic(let topic, _)): "the log has no topic '\(topic)'"
        case .log: "the log has not acknowledged: try again"
        case .stopped: "the collector is stopping: try again"
        }
    }
}
