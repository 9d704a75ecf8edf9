import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import Streams
import Synchronization

/// The parts of a partner's answer that decide about a delivery.
struct Answer: Equatable, Sendable {
    var status: Int
    /// The pause that the partner asks for.
    var retryAfterMilliseconds: Int64?
}

/// Reads the status and discards the body. A short body is read to its end, so that the connection
/// can be reused.
final class AnswerReading: HTTPClientResponseDelegate {
    private struct TooLong: Error {}

    /// A longer body is cut off together with its connection.
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

    /// The answer, if its head arrived before the connection failed.
    var answer: Answer? { state.withLock { $0.answer } }
}

/// The header `Retry-After` of RFC 9110: seconds, or a date.
enum RetryAfter {
    /// The pause in milliseconds; nil for anything else. A date counts from the `Date` of the
    /// answer.
    static func milliseconds(_ text: String, date: String?) -> Int64? {
        let text = text.trimmingCharacters(in: .whitespaces)
        if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            guard let seconds = Int64(text), seconds < 1_000_000_000 else {
                return RetrySchedule.maxRetryAfterMilliseconds
            }
            return seconds * 1000
        }
        guard let until = seconds(ofDate: text) else { return nil }
        let now = date.flatMap(seconds(ofDate:)) ?? Int64(Date().timeIntervalSince1970)
        return max(0, until - now) * 1000
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Seconds since 1970 of `Sun, 06 Nov 1994 08:49:37 GMT`.
    private static func seconds(ofDate text: String) -> Int64? {
        guard
            let parts = text.wholeMatch(
                of: /[A-Z][a-z]{2}, (\d\d) ([A-Z][a-z]{2}) (\d{4}) (\d\d:\d\d:\d\d) GMT/)?.output,
            let month = months.firstIndex(of: String(parts.2))
        else { return nil }
        let number = (month < 9 ? "0" : "") + String(month + 1)
        let milliseconds = UTC.milliseconds(text: "\(parts.3)-\(number)-\(parts.1)T\(parts.4)Z")
        return milliseconds.map { $0 / 1000 }
    }
}
