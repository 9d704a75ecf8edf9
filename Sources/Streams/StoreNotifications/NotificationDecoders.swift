import Dispatch
import Synchronization

/// The decoders of a fold, each lent to one thread at a time.
final class NotificationDecoders: Sendable {
    private let idle: Mutex<[StoreNotificationDecoder]>
    private let available: DispatchSemaphore

    init(_ decoders: [StoreNotificationDecoder]) {
        idle = Mutex(decoders)
        available = DispatchSemaphore(value: 0)
        for _ in decoders { available.signal() }
    }

    /// Calls `body` with a decoder, once one is idle.
    func lend(
        _ body: (StoreNotificationDecoder) -> NotificationChunk
    ) -> NotificationChunk {
        available.wait()
        defer { available.signal() }
        guard let decoder = idle.withLock({ $0.popLast() }) else { return NotificationChunk() }
        defer { idle.withLock { $0.append(decoder) } }
        return body(decoder)
    }
}
