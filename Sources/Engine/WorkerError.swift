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
            "\(store) was folded with rules \(folded), but this version of Weir uses rules \(present): fold it again (weir replay --topic TOPIC --into DIR --configuration present, then weir promote DIR), or use the version of Weir that folded it"
        case .historyChanged(.model(let detail), let store):
            "\(detail), but \(store) has folded records under the old text: undo the change, or replay (weir replay --into DIR --configuration present) and promote the result (weir promote DIR)"
        case .dedupeMemoryFull(let ids, let bound, let stream):
            "the dedupe memory of \(stream) contains \(ids) ids, but dedupe_max_ids is \(bound): raise it in the pipeline's file (32 bytes of memory per id), then restart. Nothing is lost"
        case .offsetsAgain(let partition, let offset, let expected):
            "\(partition) returned offset \(offset), but \(expected) was expected: no record was folded; check weir lag and the cluster, then restart"
        case .unexpected(let detail): detail
        }
    }
}
