/// A batch whose verification was begun. Dropping it without `finish()` is harmless.
package struct PendingAttestation: ~Copyable, Sendable {
    private let run: AttestationRun

    init(_ run: AttestationRun) {
        self.run = run
    }

    /// Helps with what is left, waits for what other threads have taken, and returns a result for
    /// each request, in their order.
    package consuming func finish() -> [AttestationResult] {
        run.work()
        return run.wait()
    }
}
