import Dispatch
import EventLog
import Streams
import Synchronization

/// Folds batches, each lane on its own thread, while the worker reads the next batch.
///
/// A stream that remembers ids permanently reads its memory from the store, which is used from one thread. It has one
/// lane, which folds on the worker's thread when its batch is due.
///
/// `@unchecked Sendable`: between `start` and `finish` only its lane's thread uses a fold.
final class Lanes<Fold: StreamFold>: @unchecked Sendable {
    private(set) var folds: FoldLanes<Fold>
    /// Folds without effects, which go on while the effects of `folds` are stored; nil if these are stored first.
    private var others: FoldLanes<Fold>?
    private let queues: [DispatchQueue]
    private let group = DispatchGroup()
    private let failure = Mutex<(any Error)?>(nil)
    private var upcoming: Fold.Prepared?

    init(_ folds: FoldLanes<Fold>, others: FoldLanes<Fold>?) {
        self.folds = folds
        self.others = others
        queues = folds.folds.indices.map { DispatchQueue(label: "lane \($0)") }
    }

    /// Whether folds run on other threads than the worker's.
    private var isBeside: Bool { Fold.hasWindow }

    /// Begins to fold a batch, which must not change until `finish`.
    func start(_ prepared: Fold.Prepared) {
        upcoming = prepared
        guard isBeside else { return }
        nonisolated(unsafe) let prepared = prepared
        for lane in queues.indices {
            queues[lane].async(group: group) { self.fold(prepared, in: lane) }
        }
    }

    /// Folds the batch to its end. Throws a lane's read error.
    func finish() throws {
        guard let prepared = upcoming else { return }
        upcoming = nil
        if isBeside { group.wait() } else { fold(prepared, in: 0) }
        if let failure = failure.withLock({ $0.take() }) { throw failure }
    }

    /// Waits until every lane has stopped, and ignores their errors.
    func settle() {
        group.wait()
    }

    /// Whether other folds can go on.
    var canTakeTurns: Bool { others != nil }

    /// Goes on with the other folds; call it after `finish`, when these are cleared. Returns the folds with the effects
    /// up to now.
    func takeTurns() -> FoldLanes<Fold>? {
        guard let next = others else { return nil }
        let full = folds
        full.handOver(to: next)
        (folds, others) = (next, full)
        return full
    }

    /// Waits until every lane has stopped, and forgets all effects.
    func discard() {
        group.wait()
        upcoming = nil
        failure.withLock { $0 = nil }
        folds.clear()
        others?.clear()
    }

    private func fold(_ prepared: Fold.Prepared, in lane: Int) {
        let fold = folds.folds[lane]
        let batch = prepared.batch
        do {
            if queues.count == 1 {
                for index in 0..<batch.count { try fold.fold(index, of: prepared) }
            } else {
                for index in 0..<batch.count
                where folds.lane(of: batch.position(index).partition) == lane {
                    try fold.fold(index, of: prepared)
                }
            }
        } catch {
            failure.withLock { $0 = $0 ?? error }
        }
    }
}
