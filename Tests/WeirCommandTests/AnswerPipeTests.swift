import Foundation
import Synchronization
import TestKit
import Testing

@testable import weir

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

    @Test("what a command wrote ends with the error where it fails midway, and else with nothing")
    func output() throws {
        let files = try TemporaryDirectory()
        let path = try files.write("", to: "rows")
        func write(_ pieces: [String]) throws -> String {
            let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
            try file.truncate(atOffset: 0)
            #expect(throws: TestFault.self) {
                try BufferedOutput.writing(as: .csv, fileDescriptor: file.fileDescriptor) { sink in
                    for piece in pieces { try sink(Array(piece.utf8)) }
                    throw TestFault("the disk is full")
                }
            }
            return try String(contentsOfFile: path, encoding: .utf8)
        }
        #expect(try write([]) == "")
        #expect(try write(["a,b\r\n1,2\r\n"]).hasPrefix("a,b\r\n1,2\r\nweir_error: "))
    }
}

/// Counts on any thread.
private final class MadeCount: Sendable {
    private let all = Mutex(0)

    var count: Int { all.withLock { $0 } }

    func add() { all.withLock { $0 += 1 } }
}
