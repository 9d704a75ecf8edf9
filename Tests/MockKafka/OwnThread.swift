import Foundation

/// Runs each piece of work on a thread of its own.
private final class OwnThread: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        Thread.detachNewThread { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

/// Runs work that waits on a thread of its own, so that tests wait side by side.
package func onThread<Answer: Sendable>(
    _ body: @escaping @Sendable () throws -> Answer
) async throws -> Answer {
    try await withTaskExecutorPreference(OwnThread()) { try body() }
}

/// Does something a little later, on a thread of its own.
package func after(_ seconds: Double, _ body: @escaping @Sendable () -> Void) {
    Thread.detachNewThread {
        Thread.sleep(forTimeInterval: seconds)
        body()
    }
}
