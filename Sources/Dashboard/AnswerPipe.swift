import Dispatch
import Synchronization

/// Passes the parts of an answer from the thread that writes it to a connection, a few at a time. A slow client slows
/// the writer down and does not use memory.
final class AnswerPipe: Sendable {
    /// The maximum number of waiting parts.
    private static let mostParts = 4
    /// The timeout for a client that does not read.
    private static let patience: DispatchTimeInterval = .seconds(60)

    private let parts: AsyncStream<AnswerPart>
    private let continuation: AsyncStream<AnswerPart>.Continuation
    /// Starts at 0 and is signalled up to its capacity: freeing a semaphore below its initial value crashes the
    /// process.
    private let room = DispatchSemaphore(value: 0)
    private let isOpen = Atomic<Bool>(true)
    private let isWhole = Atomic<Bool>(false)
    private let cut: @Sendable () -> Void

    /// - Parameter cut: closes the connection of a client that does not read.
    init(cut: @escaping @Sendable () -> Void) {
        self.cut = cut
        (parts, continuation) = AsyncStream.makeStream(of: AnswerPart.self)
        for _ in 0..<Self.mostParts { room.signal() }
    }

    /// False once the reader has gone.
    var isWanted: Bool { isOpen.load(ordering: .acquiring) }

    /// Sends a part once there is room.
    ///
    /// - Throws: `CancellationError` when the reader has gone or is too slow.
    func send(_ part: AnswerPart) throws {
        guard isWanted else { throw CancellationError() }
        let isInTime = room.wait(timeout: .now() + Self.patience) == .success
        guard isInTime, isWanted else {
            close()
            if !isInTime { cut() }
            throw CancellationError()
        }
        continuation.yield(part)
    }

    /// Must be called by the writer at the end, in all cases.
    func finish() {
        isWhole.store(isWanted, ordering: .releasing)
        continuation.finish()
    }

    fileprivate func close() {
        isOpen.store(false, ordering: .releasing)
        room.signal()
    }

    var reader: AnswerReader { AnswerReader(self) }

    fileprivate func forEach(_ body: (AnswerPart) async throws -> Void) async throws {
        for await part in parts {
            room.signal()
            try await body(part)
        }
        guard isWhole.load(ordering: .acquiring) else { throw CancellationError() }
    }

    fileprivate func first() async -> AnswerPart? {
        var iterator = parts.makeAsyncIterator()
        let part = await iterator.next()
        room.signal()
        return part
    }
}

/// The reading end of a pipe. Releasing it stops the writer.
final class AnswerReader: Sendable {
    private let pipe: AnswerPipe

    fileprivate init(_ pipe: AnswerPipe) { self.pipe = pipe }

    deinit { pipe.close() }

    /// The head of the answer; nil if the writer ends without one.
    func head() async -> AnswerHead? {
        guard case .head(let head) = await pipe.first() else { return nil }
        return head
    }

    /// Calls `body` with all bytes that follow.
    ///
    /// - Throws: errors of `body`; `CancellationError` for an incomplete answer.
    func forEach(_ body: ([UInt8]) async throws -> Void) async throws {
        try await pipe.forEach { part in
            switch part {
            case .head: break
            case .bytes(let bytes): try await body(bytes)
            case .cut: throw CancellationError()
            }
        }
    }
}
