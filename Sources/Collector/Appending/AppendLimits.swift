/// Bounds of what waits for the log.
package struct AppendLimits: Sendable {
    /// Records that may wait; beyond them nothing is taken.
    package var maxQueuedRecords: Int
    /// Bytes of keys, headers and values that may wait.
    package var maxQueuedBytes: Int
    /// Records that are appended together at most, but for those of one request.
    package var maxTurnRecords: Int
    /// How long a request waits for the log.
    package var deadlineSeconds: Double

    /// The defaults bound the memory of what waits to 64 MiB.
    package init(
        maxQueuedRecords: Int = 50_000, maxQueuedBytes: Int = 64 << 20,
        maxTurnRecords: Int = 10_000, deadlineSeconds: Double = 10
    ) {
        self.maxQueuedRecords = maxQueuedRecords
        self.maxQueuedBytes = maxQueuedBytes
        self.maxTurnRecords = maxTurnRecords
        self.deadlineSeconds = deadlineSeconds
    }
}
