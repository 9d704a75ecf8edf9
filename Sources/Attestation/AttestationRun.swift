import Dispatch
import Synchronization

/// One batch being verified by several threads, each taking the next chunk until none is left.
///
/// `@unchecked Sendable`: `requests` and `bytes` are constant; a result is written once, by the
/// thread that took its chunk, and read only after `wait()` has seen every chunk completed.
/// Borrowed bytes are read only within a chunk, hence never after `wait()`.
final class AttestationRun: @unchecked Sendable {
    /// The memory that requests point into.
    enum Bytes {
        case owned([UInt8])
        case borrowed(UnsafeRawBufferPointer)
    }

    /// Half a millisecond of P-256: long beside the cost of taking a chunk, short beside a batch.
    static let requestsPerChunk = 16

    let chunkCount: Int
    private let keys: TrustedKeys
    private let requests: [AttestationRequest]
    private let bytes: Bytes
    private let results: UnsafeMutableBufferPointer<AttestationResult>
    private let nextChunk = Atomic<Int>(0)
    private let chunksLeft: Atomic<Int>
    private let completed = DispatchSemaphore(value: 0)

    init(keys: TrustedKeys, requests: [AttestationRequest], bytes: Bytes) {
        self.keys = keys
        self.requests = requests
        self.bytes = bytes
        chunkCount = (requests.count + Self.requestsPerChunk - 1) / Self.requestsPerChunk
        chunksLeft = Atomic(chunkCount)
        results = .allocate(capacity: requests.count)
        results.initialize(repeating: AttestationResult(verdict: .invalid))
        if chunkCount == 0 { completed.signal() }
    }

    deinit {
        results.deinitialize()
        results.deallocate()
    }

    /// Verifies chunks until all are taken.
    func work() {
        switch bytes {
        case .owned(let array): array.withUnsafeBytes(work(on:))
        case .borrowed(let buffer): work(on: buffer)
        }
    }

    /// Waits until every chunk is completed, whoever took it; to be called once.
    func wait() -> [AttestationResult] {
        completed.wait()
        return Array(results)
    }

    private func work(on bytes: UnsafeRawBufferPointer) {
        while true {
            let chunk = nextChunk.wrappingAdd(1, ordering: .relaxed).oldValue
            guard chunk < chunkCount else { return }
            let start = chunk * Self.requestsPerChunk
            for index in start..<min(start + Self.requestsPerChunk, requests.count) {
                results[index] = keys.judge(requests[index], bytes: bytes)
            }
            if chunksLeft.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 {
                completed.signal()
            }
        }
    }
}
