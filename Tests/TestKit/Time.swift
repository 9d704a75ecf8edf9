import Foundation
import Synchronization

/// Waiting for what other threads, processes and brokers do.
package enum Wait {
    /// Much more than anything takes on a machine that is busy with other things too.
    package static let seconds = 60.0

    /// Looks again and again; says whether it came true in time.
    @discardableResult
    package static func until(
        seconds: Double = Wait.seconds, _ isTrue: () throws -> Bool
    ) rethrows -> Bool {
        let deadline = ContinuousClock.now + .seconds(seconds)
        while try !isTrue() {
            guard ContinuousClock.now < deadline else { return try isTrue() }
            usleep(20_000)
        }
        return true
    }

    /// Pauses in short steps: a machine that stands still prolongs one of them, and what runs beside has
    /// the others.
    package static func steadily(seconds: Double) {
        for _ in 0..<Int(seconds / 0.02) { usleep(20_000) }
    }
}

/// Measures how long something takes, but for the time in which this process stood still: nothing else
/// went on in it then either.
package final class Stopwatch: Sendable {
    private let state: State

    package init() {
        state = State()
        Thread.detachNewThread { [state] in state.run() }
    }

    deinit { state.isOver.store(true, ordering: .relaxed) }

    package var seconds: Double { Double(state.milliseconds.load(ordering: .relaxed)) / 1000 }

    private final class State: Sendable {
        let milliseconds = Atomic<Int>(0)
        let isOver = Atomic<Bool>(false)
        /// A longer step is one in which the process stood still.
        private static let longestStep = Duration.milliseconds(100)

        func run() {
            var last = ContinuousClock.now
            var sum = Duration.zero
            while !isOver.load(ordering: .relaxed) {
                usleep(10_000)
                let now = ContinuousClock.now
                sum += min(last.duration(to: now), Self.longestStep)
                last = now
                milliseconds.store(Int(sum / .milliseconds(1)), ordering: .relaxed)
            }
        }
    }
}

/// Runs work on so many threads, and waits for all of it.
package func concurrently(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
    let group = DispatchGroup()
    for number in 0..<count {
        group.enter()
        Thread.detachNewThread {
            body(number)
            group.leave()
        }
    }
    group.wait()
}

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
) async throws -> Answer { try await withTaskExecutorPreference(OwnThread()) { try body() } }

/// Does something a little later, on a thread of its own.
package func after(_ seconds: Double, _ body: @escaping @Sendable () -> Void) {
    Thread.detachNewThread {
        Thread.sleep(forTimeInterval: seconds)
        body()
    }
}
