import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import Synchronization

/// What counts of a partner's answer.
struct Answer: Equatable, Sendable {
    var status: Int
    /// The pause that it asks for.
    var retryAfterMilliseconds: Int64?
}

/// Reads an answer: the status counts, of the body nothing does. A little of it is read, so that the
/// connection can be used again.
final class AnswerReading: HTTPClientResponseDelegate {
    private struct TooLong: Error {}

    /// A longer body is cut off, with its connection.
    static let bodyBytes = 65_536

    private let state = Mutex<(answer: Answer?, bytes: Int)>((nil, 0))

    func didReceiveHead(
        task: HTTPClient.Task<Answer>, _ head: HTTPResponseHead
    ) -> EventLoopFuture<Void> {
        let pause = head.headers.first(name: "Retry-After").flatMap { text in
            RetryAfter.milliseconds(text, date: head.headers.first(name: "Date"))
        }
        state.withLock {
            $0.answer = Answer(status: Int(head.status.code), retryAfterMilliseconds: pause)
        }
        return task.eventLoop.makeSucceededVoidFuture()
    }

    func didReceiveBodyPart(
        task: HTTPClient.Task<Answer>, _ buffer: ByteBuffer
    ) -> EventLoopFuture<Void> {
        let bytes = state.withLock { state in
            state.bytes += buffer.readableBytes
            return state.bytes
        }
        guard bytes <= Self.bodyBytes else {
            return task.eventLoop.makeFailedFuture(TooLong())
        }
        return task.eventLoop.makeSucceededVoidFuture()
    }

    func didFinishRequest(task: HTTPClient.Task<Answer>) throws -> Answer {
        guard let answer = state.withLock({ $0.answer }) else {
            throw HTTPClientError.remoteConnectionClosed
        }
        return answer
    }

    /// The answer that was given before the connection failed.
    var answer: Answer? { state.withLock { $0.answer } }
}
