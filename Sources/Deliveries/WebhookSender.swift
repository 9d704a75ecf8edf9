import ConfigurationValues
import HTTPClient
import JSON
import Wording

/// Sends documents without a topic to one receiver as to a partner: signed, in order, and with the same retry
/// schedule. Waiting documents are in memory only. Used from one thread.
package final class WebhookSender {
    private struct Waiting {
        let document: DeliveryDocument
        var attempts = 0
        var dueMilliseconds: Int64 = 0
        /// The receiver rejected this one; it may accept others.
        var isRefused = false
    }

    private struct Fault {
        let words: String
        let retryAfterMilliseconds: Int64?
        let isRefusal: Bool

        init(_ words: String, retryAfterMilliseconds: Int64? = nil, isRefusal: Bool = false) {
            self.words = words
            self.retryAfterMilliseconds = retryAfterMilliseconds
            self.isRefusal = isRefusal
        }
    }

    private let route: PartnerRoute
    private let sender: HTTPSender
    private let parser: JSONParser
    private var waiting: [Waiting] = []

    /// - Parameter directory: the pipelines directory; paths of secrets are relative to it.
    package init(to receiver: Partner, directory: String) throws {
        route = try PartnerRoute(receiver, directory: directory)
        parser = try .make()
        sender = HTTPSender(receiverCount: 1)
    }

    deinit { sender.stop() }

    package var waitingCount: Int { waiting.count }

    /// Adds a document, JSON with `id`, `revision` and `partner`, for the next call of `send`. That call also retries
    /// an unreachable receiver, so that new documents do not wait as long as those it missed.
    package func add(_ document: [UInt8]) throws(UnreadableDocument) {
        for index in waiting.indices where !waiting[index].isRefused {
            waiting[index].dueMilliseconds = 0
        }
        waiting.append(Waiting(document: try DeliveryDocument(document, parser: parser)))
    }

    /// Sends due documents, and waits for the answers. Failed ones are retried later. While the receiver is
    /// unreachable, all later documents wait; a rejected document holds back only those of the same id.
    ///
    /// - Returns: the failure, and what happens next, in words; nil without a failure.
    package func send(nowMilliseconds: Int64) -> (fault: String, next: String)? {
        var failure: (fault: String, next: String)?
        var heldIDs: Set<String> = []
        var index = 0
        while index < waiting.count {
            var next = waiting[index]
            guard next.dueMilliseconds <= nowMilliseconds, !heldIDs.contains(next.document.id)
            else {
                guard next.isRefused || heldIDs.contains(next.document.id) else { break }
                heldIDs.insert(next.document.id)
                index += 1
                continue
            }
            guard let fault = attempt(next.document, nowMilliseconds: nowMilliseconds) else {
                waiting.remove(at: index)
                continue
            }
            next.attempts += 1
            next.isRefused = fault.isRefusal
            let pause = RetrySchedule.pauseMilliseconds(
                afterAttempt: next.attempts, key: next.document.idempotencyKey,
                retryAfterMilliseconds: fault.retryAfterMilliseconds)
            if let pause {
                next.dueMilliseconds = nowMilliseconds + pause
                waiting[index] = next
                heldIDs.insert(next.document.id)
                index += 1
                failure = (
                    fault.words, "next attempt in \(pause / 1000) s, \(waiting.count) waiting"
                )
            } else {
                waiting.remove(at: index)
                failure = (fault.words, "given up after \(counted(next.attempts, "attempt"))")
            }
            guard fault.isRefusal else { break }
        }
        return failure
    }

    /// Nil if the receiver accepted the document.
    private func attempt(
        _ document: DeliveryDocument, nowMilliseconds: Int64
    ) -> Fault? {
        let request: OutgoingRequest
        do throws(RenderingFault) {
            request = try route.request(document, nowMilliseconds: nowMilliseconds)
        } catch {
            return Fault("\(route.url): \(error)", isRefusal: true)
        }
        let result = sender.result(of: request, to: route.destination).masked(by: route.template)
        switch result {
        case .answered(let status, _, _) where (200...299).contains(status): return nil
        case .answered(let status, let pause, _):
            // As for partners: these mean that the receiver is busy, not that it rejects the document.
            let isBusy = status >= 500 || [408, 425, 429].contains(status)
            return Fault(
                "\(route.url) answered \(status)", retryAfterMilliseconds: pause, isRefusal: !isBusy
            )
        case .failed(let fault, let detail):
            return Fault("\(route.url): \(fault.rawValue): \(detail)")
        case .addressRefused(let detail):
            return Fault("\(route.url) cannot be used: \(detail)")
        }
    }
}
