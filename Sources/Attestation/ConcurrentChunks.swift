import Dispatch
import Synchronization

/// Work on numbered chunks by several threads, each taking the next chunk until none is left.
///
/// What comes of it depends on the work alone: not on the number of threads or who took which chunk.
package final class ConcurrentChunks<Value: Sendable>: Sendable {
    private let count: Int
    private let work: @Sendable (Int) -> Value
    private let nextChunk = Atomic<Int>(0)
    private let chunksLeft: Atomic<Int>
    private let values: Mutex<[Value?]>
    private let completed = DispatchSemaphore(value: 0)

    /// Begins `work` on the chunks from 0 to `count - 1`, and returns at once.
    ///
    /// All but one of `threadCount` threads start now, on `queue`; the caller's joins them in
    /// `finish()`. With a single thread all the work is done there.
    package init(
        count: Int, threadCount: Int, on queue: DispatchQueue,
        work: @escaping @Sendable (Int) -> Value
    ) {
        self.count = count
        self.work = work
        chunksLeft = Atomic(count)
        values = Mutex(Array(repeating: nil, count: count))
        if count == 0 { completed.signal() }
        for _ in 0..<max(0, min(threadCount - 1, count)) {
            queue.async { self.takeChunks() }
        }
    }

    /// Helps with what is left, waits for what other threads have taken, and returns the values in the
    /// order of the chunks.
    package func finish() -> [Value] {
        takeChunks()
        completed.wait()
        // Whoever asks again need not wait.
        completed.signal()
        return values.withLock { $0.compactMap { $0 } }
    }

    private func takeChunks() {
        while true {
            let chunk = nextChunk.wrappingAdd(1, ordering: .relaxed).oldValue
            guard chunk < count else { return }
            let value = work(chunk)
            values.withLock { $0[chunk] = value }
            if chunksLeft.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 {
                completed.signal()
            }
        }
    }
}
