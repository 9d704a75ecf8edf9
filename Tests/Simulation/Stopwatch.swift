import Foundation
import Synchronization

/// Measures how long something takes, but for the time in which this process stood still: nothing else
/// went on in it then either.
package final class Stopwatch: Sendable {
    private let state: State

    /// Begins to measure.
    package init() {
        state = State()
        Thread.detachNewThread { [state] in state.run() }
    }

    deinit { state.isOver.store(true, ordering: .relaxed) }

    /// What it has measured so far.
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
