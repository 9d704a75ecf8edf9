import ConfigurationFiles
import Dispatch
import JSON
import Synchronization

/// Sends documents that are in no topic to one receiver, as partners are sent theirs: signed, in order, and tried
/// again by the same schedule. What waits is in memory only. Used from one thread.
package final class WebhookSender {
    private struct Waiting {
        let document: DeliveryDocument
        var attempts = 0
        var dueMilliseconds: Int64
    }

    private let route: PartnerRoute
    private let sender: HTTPSender
    private let parser: JSONParser
    private var waiting: [Waiting] = []

    /// - Parameter directory: the pipelines directory; paths of secrets are relative to it.
    package init(to receiver: Partner, directory: String) throws {
        route = try PartnerRoute(receiver, directory: directory)
        parser = try .make()
        sender = HTTPSender(partnerCount: 1)
    }

    deinit { sender.stop() }

    package var waitingCount: Int { waiting.count }

    /// Takes a document, JSON with `id`, `revision` and `partner`, to be sent when `send` is called next.
    package func add(_ document: [UInt8]) throws(UnreadableDocument) {
        waiting.append(
            Waiting(document: try DeliveryDocument(document, parser: parser), dueMilliseconds: 0))
    }

    /// Sends what is due, and waits for the answers. One that fails is tried again later, and those behind it
    /// wait for it.
    ///
    /// - Returns: what failed, and what happens next, in words; nil when nothing failed.
    package func send(nowMilliseconds: Int64) -> (fault: String, next: String)? {
        while var next = waiting.first, next.dueMilliseconds <= nowMilliseconds {
            guard let fault = attempt(next.document, nowMilliseconds: nowMilliseconds) else {
                waiting.removeFirst()
                continue
            }
            next.attempts += 1
            let pause = RetrySchedule.pauseMilliseconds(
                afterAttempt: next.attempts, key: next.document.idempotencyKey,
                retryAfterMilliseconds: fault.retryAfterMilliseconds)
            guard let pause else {
                waiting.removeFirst()
                return (fault.words, "given up after \(next.attempts) attempts")
            }
            next.dueMilliseconds = nowMilliseconds + pause
            waiting[0] = next
            return (fault.words, "sent again in \(pause / 1000) s, \(waiting.count) waiting")
        }
        return nil
    }

    /// Nil when the receiver took the document.
    private func attempt(
        _ document: DeliveryDocument, nowMilliseconds: Int64
    ) -> (words: String, retryAfterMilliseconds: Int64?)? {
        let request: PartnerRequest
        do throws(RenderingFault) {
            request = try route.request(document, nowMilliseconds: nowMilliseconds)
        } catch {
            return ("\(route.url): \(error)", nil)
        }
        let isAnswered = DispatchSemaphore(value: 0)
        let answer = Answer()
        sender.send(request, to: route.destination) { result in
            answer.result.withLock { $0 = result }
            isAnswered.signal()
        }
        isAnswered.wait()
        guard let result = answer.result.withLock({ $0 })?.masked(by: route.template) else {
            return ("\(route.url): no answer", nil)
        }
        switch result {
        case .answered(let status, _) where (200...299).contains(status): return nil
        case .answered(let status, let pause):
            return ("\(route.url) answered \(status)", pause)
        case .failed(let fault, let detail):
            return ("\(route.url): \(fault.rawValue): \(detail)", nil)
        case .addressRefused(let detail): return ("\(route.url) is sent nothing: \(detail)", nil)
        }
    }
}

private final class Answer: Sendable {
    let result = Mutex<AttemptResult?>(nil)
}
