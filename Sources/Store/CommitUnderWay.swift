import Dispatch
import GRDB
import Streams

/// A started commit: it is written and waits for the disk while the next batches are folded.
///
/// `@unchecked Sendable`: the result is written before the semaphore is signalled, and read after that.
final class CommitUnderWay: @unchecked Sendable {
    private let done = DispatchSemaphore(value: 0)
    private var failure: (any Error)?
    private var end = ContinuousClock.now
    /// Released before `wait` returns: it may hold the store, which must not be released on its own queue.
    private var write: (@Sendable (Database) throws -> Void)?

    /// Commits the transaction of the queue's connection that is open, or that `write` begins. Later work of the queue
    /// waits for it.
    init(on queue: DatabaseQueue, _ write: @escaping @Sendable (Database) throws -> Void = { _ in })
    {
        self.write = write
        queue.asyncWriteWithoutTransaction { [self] db in
            do {
                try self.write?(db)
                try db.commit()
            } catch {
                failure = error
                try? db.rollback()
            }
            self.write = nil
            end = .now
            done.signal()
        }
    }

    /// Waits until the commit is durable, and returns since when; throws why it is not. Call it once.
    func wait() throws -> ContinuousClock.Instant {
        done.wait()
        if let failure { throw failure }
        return end
    }
}

/// How many records of a stored batch had each outcome.
package struct StoredBatch: Equatable, Sendable {
    /// Whether a sum overflowed, so that the batch was folded again record by record.
    package internal(set) var hasOverflowed = false
    private var records = Array(repeating: Int64(0), count: Outcome.allCases.count)
    private var rejections = Array(repeating: Int64(0), count: RejectionReason.allCases.count)

    package func count(_ outcome: Outcome) -> Int64 { records[outcome.rawValue] }

    package func count(_ reason: RejectionReason) -> Int64 { rejections[Int(reason.rawValue)] }

    mutating func add(_ effects: FoldEffects) {
        effects.outcomes.forEachRow { _, measures in
            for (outcome, count) in measures.enumerated() { records[outcome] += count }
        }
        for refused in effects.refused {
            if case .rejected(let rejection) = refused.cause {
                rejections[Int(rejection.reason.rawValue)] += 1
            }
        }
    }
}
