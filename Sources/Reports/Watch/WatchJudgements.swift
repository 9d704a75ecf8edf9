import Store
import Streams
import Synchronization

/// The last judgement of each rule. It stays valid while the records of the judged hours are the same, so until a late
/// record arrives or the hour is over.
final class WatchJudgements: Sendable {
    /// The judged hours.
    struct State: Equatable {
        struct Hours: Equatable {
            let identity: String
            let partitions: [Int32]
            /// The digest of those before `end`; nil without records.
            let records: ContentDigest?
        }

        let end: Hour
        /// One for each store of the rule.
        var hours: [Hours]
    }

    private struct Entry {
        let rule: WatchRule
        let state: State
        let report: WatchReport
    }

    /// More rules than a file has: the oldest judgement is removed.
    private static let mostEntries = 200

    private let entries = Mutex<[Entry]>([])

    func report(_ rule: WatchRule, _ state: State) -> WatchReport? {
        entries.withLock { entries in
            entries.first { $0.rule == rule && $0.state == state }?.report
        }
    }

    func keep(_ report: WatchReport, _ rule: WatchRule, _ state: State) {
        entries.withLock { entries in
            entries.removeAll { $0.rule == rule }
            if entries.count == Self.mostEntries { entries.removeFirst() }
            entries.append(Entry(rule: rule, state: state, report: report))
        }
    }
}
