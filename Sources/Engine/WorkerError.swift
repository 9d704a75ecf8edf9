import EventLog
import Store
import Wording

/// An error that ends a worker: fault, place and remedy.
package enum WorkerError: OperatorError {
    /// The log failed.
    case log(LogError)
    /// The store failed.
    case store(StoreError)
    /// The log is not the folded one.
    case changed(LogChange)
    /// The configuration changes the meaning of folded data.
    case historyChanged(HistoryFault, store: String)
    /// The dedupe memory has reached its bound of ids.
    case dedupeMemoryFull(ids: Int, bound: Int, stream: String)
    /// The log returned an offset that was already read.
    case offsetsAgain(TopicPartition, offset: Int64, expected: Int64)
    /// Anything that should not happen.
    case unexpected(String)

    init(_ error: any Error) {
        switch error {
        case let error as StoreError: self = .store(error)
        case let error as LogError: self = .log(error)
        case let error as LogChange: self = .changed(error)
        case let error as WorkerError: self = error
        default: self = .unexpected("\(error)")
        }
    }

    /// One line: fault, place and remedy.
    package var description: String {
        switch self {
        case .log(let error): error.description
        case .store(let error): error.description
        case .changed(let change): change.description
        case .historyChanged(.rules(let folded, let present), let store):
            "\(store) was folded under rules \(folded), and this version of Weir folds under rules \(present): fold it again (weir replay --topic TOPIC --into DIR --configuration present, then weir promote DIR), or use the version of Weir that folded it"
        case .historyChanged(.model(let detail), let store):
            "\(detail), and \(store) has folded records under the old text: take the change back, or replay (weir replay --into DIR --configuration present) and promote what that gives (weir promote DIR)"
        case .dedupeMemoryFull(let ids, let bound, let stream):
            "the dedupe memory of \(stream) holds \(ids) ids and dedupe_max_ids is \(bound): raise it in the pipeline's file (32 bytes of memory an id), then start again: nothing is lost"
        case .offsetsAgain(let partition, let offset, let expected):
            "\(partition) gave offset \(offset) where \(expected) was to come: nothing of it was folded; see weir lag and the cluster, then start again"
        case .unexpected(let detail): detail
        }
    }
}
