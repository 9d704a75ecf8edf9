import Dispatch
import EventLog
import Signatures

/// A batch of notifications that is being verified and decoded.
package final class PreparedNotifications {
    /// A record's share of a millisecond, most of it signatures: long beside the cost of taking a chunk,
    /// short beside a batch.
    private static let recordsPerChunk = 16

    let batch: RecordBatch
    private let run: ConcurrentChunks<NotificationChunk>
    private var chunks: [NotificationChunk] = []

    init(
        _ batch: RecordBatch, decoders: NotificationDecoders, threadCount: Int, queue: DispatchQueue
    ) {
        self.batch = batch
        let lent = LentBatch(batch: batch)
        let count = batch.count
        run = ConcurrentChunks(
            count: (count + Self.recordsPerChunk - 1) / Self.recordsPerChunk,
            threadCount: threadCount, on: queue
        ) { chunk in
            let start = chunk * Self.recordsPerChunk
            let range = start..<min(start + Self.recordsPerChunk, count)
            return decoders.lend { $0.decode(lent.batch, range) }
        }
    }

    deinit {
        // No thread may read the batch once it can be filled again.
        _ = run.finish()
    }

    /// Waits until all is verified.
    func wait() {
        if chunks.isEmpty { chunks = run.finish() }
    }

    /// Number of records that were verified, whatever came of it. To be called after `wait`.
    var verifications: Int {
        chunks.reduce(0) { sum, chunk in
            sum
                + chunk.items.count { item in
                    if case .failure(.rejected) = item.event { false } else { true }
                }
        }
    }

    /// What was read of a record, and the texts of its event. To be called after `wait`.
    func item(_ index: Int) -> (item: NotificationChunk.Item, bytes: [UInt8]) {
        let chunk = chunks[index / Self.recordsPerChunk]
        return (chunk.items[index % Self.recordsPerChunk], chunk.bytes)
    }
}

/// A batch that several threads read.
///
/// `@unchecked Sendable`: a batch that is prepared is not changed until it is folded, and folding it, or
/// dropping it, waits for the threads.
private struct LentBatch: @unchecked Sendable {
    let batch: RecordBatch
}
