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
            "\(store) was folded from another log than the one to be replayed, or from another topic than '\(topic)': give --log and --data that belong together, or --configuration present with a --data that holds no store of it"
        case .notEmpty(let directory, let file):
            "\(directory) holds \(file), which no replay has put there: give --into an empty or new directory"
        case .isLive(let directory):
            "\(directory) holds the stores that are in force: give --into a directory of its own"
        case .otherSettings(let directory, let setting, let was, let now):
            "\(directory) was begun with \(setting) \(was), not \(now): give what it was begun with, or --into a new directory"
        case .otherConfiguration(let store):
            "\(store) was begun under another configuration than the present one: put that back, or give --into a new directory"
        case .badManifest(let path, let detail):
            "\(path) is not understood (\(detail)): give --into a new directory"
        case .nothing(let detail): detail
        case .emptyRange(let topics):
            "no record of \(topics.joined(separator: ", ")) lies in this range: weir lag says where the partitions end; give --from-offset or --from-time before that, and --to-offset or --to-time behind the first record"
        case .unknownTopic(let topic, let known):
            "no worker folds a topic '\(topic)': \(UnknownName(topic, known: known))"
        case .stuck(let store): "\(store) went no further, although records are left: report this"
        }
    }
}
