import NIOPosix
import Synchronization

/// Threads for answers, one answer each.
final class AnswerThreads: Sendable {
    private let threads: NIOThreadPool
    private let most: Int
    private let busy = Mutex(0)

    init(_ most: Int) {
        self.most = most
        threads = NIOThreadPool(numberOfThreads: most)
        threads.start()
    }

    /// Runs the work on its own thread; false when all of them are busy.
    func begin(_ work: @escaping @Sendable () -> Void) -> Bool {
        let isFree = busy.withLock { count in
            guard count < most else { return false }
            count += 1
            return true
        }
        guard isFree else { return false }
        threads.submit { [self] _ in
            work()
            busy.withLock { $0 -= 1 }
        }
        return true
    }

    func stop() { try? threads.syncShutdownGracefully() }
}
