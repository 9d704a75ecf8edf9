import Dispatch

/// Judges batches of postbacks on several threads.
///
/// Results depend on the requests and the keys alone: not on the number of threads, the order of
/// the batch, or what else is being verified. Any number of batches may be under way at once.
package struct Attestor: Sendable {
    private let keys: TrustedKeys
    private let threadCount: Int
    private let queue = DispatchQueue(label: "weir.attestation", attributes: .concurrent)

    /// An attestor that lets at most `threadCount` threads, the caller's among them, work on a
    /// batch; less than 1 counts as 1.
    package init(keys: TrustedKeys, threadCount: Int) {
        self.keys = keys
        self.threadCount = max(1, threadCount)
    }

    /// The result for each of `requests`, whose ranges lie in `bytes`, in their order. Returns when
    /// all are known.
    package func attest(
        _ requests: [AttestationRequest],
        bytes: UnsafeRawBufferPointer
    ) -> [AttestationResult] {
        guard threadCount > 1, requests.count > AttestationRun.requestsPerChunk else {
            return requests.map { keys.judge($0, bytes: bytes) }
        }
        return begin(requests, bytes: .borrowed(bytes)).finish()
    }

    /// Begins to verify `requests`, whose ranges lie in `bytes`, and returns at once.
    ///
    /// All but one of the threads start now; the caller's joins them in `finish()`. With a single
    /// thread all the work is done there.
    package func begin(_ requests: [AttestationRequest], bytes: [UInt8]) -> PendingAttestation {
        begin(requests, bytes: .owned(bytes))
    }

    private func begin(
        _ requests: [AttestationRequest],
        bytes: AttestationRun.Bytes
    ) -> PendingAttestation {
        let run = AttestationRun(keys: keys, requests: requests, bytes: bytes)
        for _ in 0..<min(threadCount - 1, run.chunkCount) {
            queue.async { run.work() }
        }
        return PendingAttestation(run)
    }
}
