import Dispatch
import GRDB

/// A commit that was asked for: it waits for the disk while the next batch is folded.
///
/// `@unchecked Sendable`: what came of it is written before the semaphore is signalled, and read after.
final class CommitUnderWay: @unchecked Sendable {
    private let done = DispatchSemaphore(value: 0)
    private var failure: (any Error)?
    private var end = ContinuousClock.now

    /// Commits the transaction that is open on the queue's connection. What else the queue is given waits
    /// its turn behind.
    init(on queue: DatabaseQueue) {
        queue.asyncWriteWithoutTransaction { [self] db in
            do {
                try db.commit()
            } catch {
                failure = error
                try? db.rollback()
            }
            end = .now
            done.signal()
        }
    }

    /// Waits until the commit is durable, and says since when; or throws why it is not. To be called once.
    func wait() throws -> ContinuousClock.Instant {
        done.wait()
        if let failure { throw failure }
        return end
    }
}
