import Dispatch
import Synchronization

/// Hands the parts of an answer from the thread that makes it to a connection, a few at a time: a client who reads
/// slowly slows the making down, and holds no memory.
final class AnswerPipe: Sendable {
    /// Parts that wait at most.
    private static let mostParts = 4
    /// How long the maker waits for a client that takes nothing.
    private static let patience: DispatchTimeInterval = .seconds(60)

    private let parts: AsyncStream<AnswerPart>
    private let continuation: AsyncStream<AnswerPart>.Continuation
    /// Begins at 0 and is raised to its room: a semaphore that is freed below its beginning ends the process.
    private let room = DispatchSemaphore(value: 0)
    private let isOpen = Atomic<Bool>(true)
    private let isWhole = Atomic<Bool>(false)
    private let cut: @Sendable () -> Void

    /// - Parameter cut: ends the connection of a client that takes nothing.
    init(cut: @escaping @Sendable () -> Void) {
        self.cut = cut
        (parts, continuation) = AsyncStream.makeStream(of: AnswerPart.self)
        for _ in 0..<Self.mostParts { room.signal() }
    }

    /// False once nobody waits for the rest.
    var isWanted: Bool { isOpen.load(ordering: .acquiring) }

    /// Hands a part over, once there is room.
    ///
    /// - Throws: `CancellationError` when nobody waits for it, or takes too long.
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

    /// To be called by the maker at the end, whatever came before.
    func finish() {
        isWhole.store(isWanted, ordering: .releasing)
        continuation.finish()
    }

    fileprivate func close() {
        isOpen.store(false, ordering: .releasing)
        room.signal()
    }

    /// The other end.
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

/// The end of a pipe that a connection reads. Once it is gone the making ends.
final class AnswerReader: Sendable {
    private let pipe: AnswerPipe

    fileprivate init(_ pipe: AnswerPipe) { self.pipe = pipe }

    deinit { pipe.close() }

    /// What the answer begins with; nil when nothing comes.
    func head() async -> AnswerHead? {
        guard case .head(let head) = await pipe.first() else { return nil }
        return head
    }

    /// Calls `body` with all bytes that follow.
    ///
    /// - Throws: what `body` throws; `CancellationError` when the answer is not whole.
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
