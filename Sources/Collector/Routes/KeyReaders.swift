import Streams
import Synchronization

/// Readers of keys, each lent to one thread at a time.
final class KeyReaders: Sendable {
    private let idle = Mutex<[RecordKeyReader]>([])

    /// Calls `body` with a reader. Throws what `body` throws; a machine without memory for a reader
    /// is short of everything, and is said as `overflow`.
    func read<Answer>(
        _ body: (RecordKeyReader) throws(Rejection) -> Answer
    ) throws(Rejection) -> Answer {
        guard let reader = idle.withLock({ $0.popLast() }) ?? RecordKeyReader() else {
            throw .overflow
        }
        defer { idle.withLock { $0.append(reader) } }
        return try body(reader)
    }
}
