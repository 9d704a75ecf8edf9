import Engine
import Store
import Wording

/// Why a set of stores is not put in force: fault, place and remedy.
package enum PromotionError: OperatorError, Equatable, Sendable {
    /// The directory is not a set of stores.
    case notASet(String, detail: String)
    /// The replay has not reached some of its topics.
    case unfinished(String, missing: [String])
    /// It was promoted for another data directory.
    case ofOther(String, data: String)
    /// A rollback requires an earlier promotion.
    case nothingToGoBackTo(data: String)
    /// The set before the promotion is already in force again.
    case alreadyBack(inForce: String, other: String)
    /// The stores were folded from another log, or from another topic.
    case otherLog(stream: String, old: String, new: String)
    /// The set lacks records that the present one has.
    case lessHistory(store: String, partition: Int32, first: Int64?, wanted: Int64)
    /// The set begins in the middle of the log, and no present store shows that this is enough.
    case lostBeginning(store: String, partition: Int32, first: Int64)
    /// The present store does not know all documents that partners have: it is missing, or its group has published
    /// more than it has folded.
    case unknownDocuments(
        store: String, data: String, isThere: Bool, partition: Int32, next: Int64?, published: Int64
    )
    /// A worker does not release its store.
    case notGivenUp(store: String, owner: String, seconds: Int)
    /// The worker of a stream is unknown or not configured.
    case noWorker(stream: String, pipelines: String)
    /// Another process is sending or backing up corrections, or promoting a set.
    case correctionsInUse(String, owner: String)
    /// Another promotion has changed the previous set.
    case changedMeanwhile(data: String)
    /// Another set came into force before the corrections of this one were sent.
    case notInForce(String)
    /// It was stopped before any change.
    case stopped
    /// The set did not reach the progress of the present one: the log, which begins at `earliest`, lacks the records
    /// between.
    case behind(store: String, partition: Int32, next: Int64, wanted: Int64, earliest: Int64)

    package var description: String {
        switch self {
        case .notASet(let directory, let detail):
            "\(directory) is not a set of replayed stores (\(detail)): make one with weir replay --into"
        case .unfinished(let directory, let missing):
            "\(directory) has no store of \(missing.joined(separator: ", ")) yet, but its \(ReplayManifest.fileName) lists it: run the same weir replay again to continue, then promote; nothing has changed"
        case .ofOther(let directory, let data):
            "\(directory) was already promoted for \(data) (see its \(PromotionJournal.fileName)): replay into another directory; nothing has changed"
        case .nothingToGoBackTo(let data):
            "nothing was promoted in \(data), so there is no set to go back to"
        case .alreadyBack(let inForce, let other):
            "\(inForce) is already in force after --back. To promote \(other) again, run weir promote \(ShellWords.quoted(other)). To send the corrections of --back, run it with --emit. Nothing has changed"
        case .otherLog(let stream, let old, let new):
            "\(new) was folded from another log than \(old), or from another topic of \(stream): replay the log of \(old)"
        case .lessHistory(let store, let partition, let first, let wanted):
            first.map { first in
                "\(store) begins partition \(partition) at offset \(first), but the present store at \(wanted), so the records between would be lost: replay from \(wanted) (use weir replay --archive if the log no longer contains it), or give --accept-lost-history"
            }
                ?? "\(store) has no partition \(partition), but the present store has it, so its records would be lost: replay it too, or give --accept-lost-history"
        case .lostBeginning(let store, let partition, let first):
            "\(store) begins partition \(partition) at offset \(first), and there is no present store to compare it with, so earlier records would not be counted: replay them from an archive (weir replay --archive), or give --accept-lost-history"
        case .unknownDocuments(
            let store, let data, let isThere, let partition, let next, let published):
            (next.map { "\(store) has folded partition \(partition) up to offset \($0)" }
                ?? (isThere ? "\(store) has no partition \(partition)" : "\(store) does not exist"))
                + ", but its group has published up to \(published) of partition \(partition), so weir cannot determine which documents partners have. "
                + (isThere
                    ? "Stop its worker, and read the documents from their topic: \(ShellWords.text(["weir", "backup", "revisions", "--data", data])). Then promote. "
                    : "Restore the store from a backup, then promote. ")
                + "If no other set was in force since, you can also let its worker fold the log again with its old configuration. If another data directory folds the partition, fold all partitions in one directory and promote there. --accept-lost-history promotes without corrections for the partition. Nothing has changed"
        case .notGivenUp(let store, let owner, let seconds):
            "\(store) was not released within \(seconds) s\(owner): stop that process, then try again; nothing has changed"
        case .noWorker(let stream, let pipelines):
            "\(pipelines) has no \(stream).yaml, which configures the fold of \(stream): give --pipelines"
        case .correctionsInUse(let path, let owner):
            "\(path) is in use by another weir promote or a backup\(owner): wait until it has ended, then send the corrections with --emit"
        case .changedMeanwhile(let data):
            "another weir promote has changed the set in force in \(data): check weir promote --back --dry-run, then try again; nothing has changed"
        case .notInForce(let directory):
            "the stores of \(directory) are no longer in force: none of their corrections was sent"
        case .stopped: "the command was stopped: nothing has changed"
        case .behind(let store, let partition, let next, let wanted, let earliest):
            "\(store) is folded up to offset \(next) of partition \(partition), but the present store up to \(wanted): "
                + (next < earliest
                    ? "the log now starts at offset \(earliest), and the records between were deleted; give --archive a copy that contains them, or replay the remaining records into a new directory"
                    : "the log ends there; give the right --log")
                + "; nothing has changed"
        }
    }
}
