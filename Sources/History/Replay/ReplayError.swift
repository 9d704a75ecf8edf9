import Wording

/// Why a replay or promotion is impossible: fault, place and remedy.
package enum ReplayError: OperatorError, Equatable, Sendable {
    /// A live store was folded from another log, or from another topic.
    case otherLog(store: String, topic: String)
    /// The directory contains a file that does not come from a replay.
    case notEmpty(directory: String, file: String)
    /// The directory contains the live stores.
    case isLive(directory: String)
    /// The directory was begun with other settings.
    case otherSettings(directory: String, setting: String, was: String, now: String)
    /// A store in the directory was folded under another configuration.
    case otherConfiguration(store: String)
    /// The file that describes the replay is unusable.
    case badManifest(path: String, detail: String)
    /// There is nothing to replay.
    case nothing(detail: String)
    /// None of the topics has a record in the requested range.
    case emptyRange(topics: [String])
    /// No worker folds this topic.
    case unknownTopic(String, known: [String])
    /// It made no progress, which should not happen.
    case stuck(store: String)

    package var description: String {
        switch self {
        case .otherLog(let store, let topic):
            "\(store) was folded from another log than the replayed one, or from another topic than '\(topic)': give --log and --data that belong together, or --configuration present with a --data directory without this store"
        case .notEmpty(let directory, let file):
            "\(directory) contains \(file), which is not from a replay: give --into an empty or new directory"
        case .isLive(let directory):
            "\(directory) contains the stores that are in force: give --into another directory"
        case .otherSettings(let directory, let setting, let was, let now):
            "\(directory) was started with \(setting) \(was), not \(now): use the same setting again, or give --into a new directory"
        case .otherConfiguration(let store):
            "\(store) was started under another configuration: restore that configuration, or give --into a new directory"
        case .badManifest(let path, let detail):
            "\(path) cannot be read (\(detail)): give --into a new directory"
        case .nothing(let detail): detail
        case .emptyRange(let topics):
            "no record of \(topics.joined(separator: ", ")) is in this range: give an earlier --from-offset or --from-time, or a later --to-offset or --to-time. weir lag shows where the partitions end"
        case .unknownTopic(let topic, let known):
            "no worker folds a topic '\(topic)': \(UnknownName(topic, known: known))"
        case .stuck(let store): "\(store) stopped although records are left: report this as a bug"
        }
    }
}
