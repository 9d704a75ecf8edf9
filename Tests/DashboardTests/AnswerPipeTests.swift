import Foundation
import Synchronization
import Testing

@testable import Dashboard

@Suite("Answers that are written while they are made", .timeLimit(.minutes(2)))
struct AnswerPipeTests {
    @Test("a client that reads slowly slows the making down, and gets everything in order")
    func order() async throws {
        let pipe = AnswerPipe {}
        let reader = pipe.reader
        let made = MadeCount()
        DispatchQueue.global().async {
            try? pipe.send(.head(AnswerHead()))
            for number in 0..<100 {
                try? pipe.send(.bytes([UInt8(number)]))
                made.add()
            }
            pipe.finish()
        }
        #expect(await reader.head() == AnswerHead())
        try await Task.sleep(for: .milliseconds(200))
        #expect(made.count < 8)
        var read: [UInt8] = []
        try await reader.forEach { read += $0 }
        #expect(read == (0..<100).map { UInt8($0) })
    }

    @Test("an answer that is cut, or whose maker gave up, never looks whole")
    func cut() async throws {
        let pipe = AnswerPipe {}
        let reader = pipe.reader
        try pipe.send(.head(AnswerHead()))
        try pipe.send(.bytes([1]))
        try pipe.send(.cut)
        pipe.finish()
        _ = await reader.head()
        await #expect(throws: CancellationError.self) { try await reader.forEach { _ in } }
    }

    @Test("the making ends once nobody reads")
    func gone() {
        let pipe = AnswerPipe {}
        do {
            let reader = pipe.reader
            #expect(pipe.isWanted)
            withExtendedLifetime(reader) {}
        }
        #expect(!pipe.isWanted)
        #expect(throws: CancellationError.self) { try pipe.send(.cut) }
    }
}

/// Counts on any thread.
private final class MadeCount: Sendable {
    private let all = Mutex(0)

    var count: Int { all.withLock { $0 } }

    func add() { all.withLock { $0 += 1 } }
}
