import Dispatch
import Synchronization

/// Verifies batches of postbacks on several threads.
///
/// The module checks whether a postback, an ad or an App Store message comes from Apple. It rebuilds the signed text
/// of each format, contains Apple's keys, and verifies a batch on all cores. A request is a plain value with ranges
/// in the arena of its batch.
///
///     let attestor = Attestor(keys: try TrustedKeys(), threadCount: 4)
///     var arena: [UInt8] = []
///     let request = AttestationRequest.skAdNetwork(
///         claims, signature: signature, isRelayed: false, arena: &arena)
///     let pending = attestor.begin([request], bytes: arena)
///     // ... the thread does other work ...
///     let verdict = pending.finish()[0].verdict
///
/// Results depend only on the requests and the keys: not on the number of threads, the order of the batch, or other
/// batches. Any number of batches may be in progress at once.
package struct Attestor: Sendable {
    /// Half a millisecond of P-256: long compared with claiming a chunk, short compared with a batch.
    private static let requestsPerChunk = 32

    private let keys: TrustedKeys
    private let threadCount: Int
    private let queue = DispatchQueue(label: "weir.attestation", attributes: .concurrent)

    /// At most `threadCount` threads, including the caller's, work on a batch; less than 1 counts as 1.
    package init(keys: TrustedKeys, threadCount: Int) {
        self.keys = keys
        self.threadCount = max(1, threadCount)
    }

    /// Begins to verify `requests`, with ranges in `bytes`, and returns at once.
    ///
    /// All threads but one start now; the caller's thread joins them in `finish()`. With a single thread all work
    /// happens there.
    package func begin(_ requests: [AttestationRequest], bytes: [UInt8]) -> PendingAttestation {
        let size = Self.requestsPerChunk
        let chunkCount = (requests.count + size - 1) / size
        let chunks = ConcurrentChunks(
            count: chunkCount, threadCount: threadCount, on: queue
        ) { [keys] chunk in
            bytes.withUnsafeBytes { bytes in
                keys.judge(
                    requests[chunk * size..<min((chunk + 1) * size, requests.count)], bytes: bytes)
            }
        }
        return PendingAttestation(chunks: chunks)
    }
}

/// A batch under verification. Dropping it without `finish()` is harmless.
package struct PendingAttestation: ~Copyable, Sendable {
    fileprivate let chunks: ConcurrentChunks<[AttestationResult]>

    /// Helps with the rest, waits for other threads, and returns the results in the order of the requests.
    package consuming func finish() -> [AttestationResult] {
        chunks.finish().flatMap(\.self)
    }
}

/// Work on numbered chunks by several threads, each taking the next chunk until none is left.
///
/// The result depends only on the work, not on the number of threads.
package final class ConcurrentChunks<Value: Sendable>: Sendable {
    private let count: Int
    private let work: @Sendable (Int) -> Value
    private let nextChunk = Atomic<Int>(0)
    private let chunksLeft: Atomic<Int>
    private let values: Mutex<[Value?]>
    private let completed = DispatchSemaphore(value: 0)

    /// Begins `work` on the chunks from 0 to `count - 1`, and returns at once.
    ///
    /// All but one of `threadCount` threads start now, on `queue`; the caller's thread joins them in `finish()`. With
    /// a single thread all work happens there.
    fileprivate init(
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

    /// Helps with the rest, waits for other threads, and returns the values in the order of the chunks.
    package func finish() -> [Value] {
        takeChunks()
        completed.wait()
        // A second call does not wait.
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

/// Tools that one thread at a time can use, and the threads that process the chunks of a batch with them.
package final class LentTools<Tool: Sendable>: Sendable {
    private let count: Int
    private let idle: Mutex<[Tool]>
    private let available: DispatchSemaphore
    private let queue: DispatchQueue

    /// At most one thread per tool, including the caller's, works on a batch. Requires at least one tool.
    package init(_ tools: [Tool], label: String) {
        count = tools.count
        idle = Mutex(tools)
        available = DispatchSemaphore(value: 0)
        queue = DispatchQueue(label: label, attributes: .concurrent)
        for _ in tools { available.signal() }
    }

    /// Begins `work` on the chunks from 0 to `chunks - 1`, each with one of the tools, and returns at once.
    package func begin<Value>(
        chunks: Int, work: @escaping @Sendable (Tool, _ chunk: Int) -> Value
    ) -> ConcurrentChunks<Value> {
        ConcurrentChunks(count: chunks, threadCount: count, on: queue) { [self] chunk in
            available.wait()
            let tool = idle.withLock { $0.removeLast() }
            defer {
                idle.withLock { $0.append(tool) }
                available.signal()
            }
            return work(tool, chunk)
        }
    }
}
