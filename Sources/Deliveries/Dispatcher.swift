import Foundation
import HTTPClient
import JSON
import Logging
import Store

package protocol PartnerSender: Sendable {
    /// Sends a request and calls back once, on any thread.
    func send(
        _ request: OutgoingRequest, to destination: Destination,
        completion: @escaping @Sendable (RequestResult) -> Void)
}

extension HTTPSender: PartnerSender {}

/// Sends due deliveries, partner by partner, and records the results in the store. Called from one thread; requests
/// run on threads of the sender.
final class Dispatcher {
    private let store: DeliveryStore
    private let sender: any PartnerSender
    private let clock: any DeliveryClock
    private let parser: JSONParser
    private let metrics: DeliveryMetrics?
    private let logger: Logger
    private let inbox = ResultInbox()
    private var queues: [PartnerQueue]
    /// Removed partners with requests in flight.
    private var leaving: Set<String> = []
    /// Partners without an address in their files.
    private var off: Set<String>
    private let attemptsOnce: Bool

    /// - Parameter attemptsOnce: whether each delivery is sent at most once.
    init(
        store: DeliveryStore, routes: [PartnerRoute], sender: any PartnerSender,
        clock: any DeliveryClock, parser: JSONParser, off: Set<String> = [], attemptsOnce: Bool,
        metrics: DeliveryMetrics? = nil,
        logger: Logger = Logger(label: PartnerPostbacksWorker.programName)
    ) {
        self.store = store
        self.sender = sender
        self.clock = clock
        self.parser = parser
        self.off = off
        self.attemptsOnce = attemptsOnce
        self.metrics = metrics
        self.logger = logger
        queues = routes.map { PartnerQueue($0, attemptsOnce: attemptsOnce) }
    }

    /// Restores the pauses of an earlier run, and reports disabled partners.
    func resume() throws {
        let resting = try store.restingPartners()
        for index in queues.indices {
            queues[index].resume(resting[queues[index].route.name])
            updateBreaker(of: queues[index])
        }
        for partner in try store.disabledPartners() { say(partner) }
    }

    /// A disabled partner needs an operator, so it is logged.
    private func say(_ partner: DisabledPartner) {
        logger.warning(
            "deliveries to a partner are stopped: it \(partner.explanation)",
            metadata: [
                "partner": "\(partner.name)",
                "remedy":
                    "\(partner.remedy) weir deliveries retry --partner \(partner.name)",
            ])
    }

    /// Replaces the partners. Requests in flight to removed ones complete first.
    func use(_ routes: [PartnerRoute], off: Set<String> = []) throws {
        self.off = off
        let existing = queues
        queues = routes.map { route in
            guard var queue = existing.first(where: { $0.route.name == route.name }) else {
                return PartnerQueue(route, attemptsOnce: attemptsOnce)
            }
            queue.route = route
            return queue
        }
        let names = Set(routes.map(\.name))
        let left = existing.filter { !names.contains($0.route.name) && !$0.inFlight.isEmpty }
        leaving = Set(left.map(\.route.name))
        queues += left
        metrics?.setPartners(routes.map(\.name) + leaving)
        try begin(isStart: false)
    }

    /// Records the present partners in the store.
    func begin(isStart: Bool) throws {
        let staying = queues.filter { !leaving.contains($0.route.name) }
        let urls = Dictionary(uniqueKeysWithValues: staying.map { ($0.route.name, $0.route.url) })
        try store.begin(
            ConfiguredPartners(urls: urls, off: off), isStart: isStart,
            nowMilliseconds: clock.nowMilliseconds)
    }

    /// Drops removed partners once their last request has ended. That request may have left its delivery pending,
    /// which is then held.
    private func letGo() throws {
        let gone = queues.filter { leaving.contains($0.route.name) && $0.inFlight.isEmpty }
        guard !gone.isEmpty else { return }
        let names = Set(gone.map(\.route.name))
        queues.removeAll { names.contains($0.route.name) }
        leaving.subtract(names)
        metrics?.setPartners(queues.map(\.route.name))
        try begin(isStart: false)
    }

    var inFlightCount: Int { queues.reduce(0) { $0 + $1.inFlight.count } }

    /// Records ended attempts and sends due deliveries. Returns how many requests were sent.
    @discardableResult
    func runOnce(waitMilliseconds: Int = 0) throws -> Int {
        try collect(waitMilliseconds: waitMilliseconds)
        var sent = 0
        for index in queues.indices { sent += try send(&queues[index]) }
        return sent
    }

    /// Records ended attempts without sending. Waits at most `waitMilliseconds` for the first.
    func collect(waitMilliseconds: Int) throws {
        let ended = inbox.take(waitMilliseconds: inFlightCount > 0 ? waitMilliseconds : 0)
        guard !ended.isEmpty else { return }
        for partner in try store.record(ended) { say(partner) }
        let now = clock.nowMilliseconds
        for delivery in ended {
            guard case .attempt(let attempt) = delivery.ending,
                let index = queues.firstIndex(where: { $0.route.name == delivery.partner })
            else { continue }
            // If an operator has ended the last pause, a newly requested one is a new pause.
            try endRest(of: &queues[index])
            let before = queues[index].breaker.rest
            queues[index].didEnd(delivery.number, attempt.result, nowMilliseconds: now)
            metrics?.count(attempt, partner: delivery.partner)
            let rest = queues[index].breaker.rest
            guard rest != before else { continue }
            try store.set(rest, partner: delivery.partner, url: queues[index].route.url)
            updateBreaker(of: queues[index])
        }
        if !leaving.isEmpty { try letGo() }
    }

    /// When the next delivery may be sent, milliseconds since 1970; nil if none waits.
    func nextDueMilliseconds() throws -> Int64? {
        var next: Int64?
        for queue in queues {
            guard try !store.isDisabled(partner: queue.route.name),
                let due = try store.nextDue(partner: queue.route.name)
            else { continue }
            let start = max(due, queue.opensMilliseconds)
            next = min(next ?? start, start)
        }
        return next
    }

    /// Whether nothing is in flight and nothing more can be sent in this run. Deliveries that wait for a later
    /// attempt or for an unreachable partner do not count.
    func isSettled() throws -> Bool {
        guard inFlightCount == 0 else { return false }
        let now = clock.nowMilliseconds
        for queue in queues where !queue.breaker.isOpen {
            guard try !store.isDisabled(partner: queue.route.name) else { continue }
            let due = try store.due(
                partner: queue.route.name, nowMilliseconds: now, limit: queue.busyCount + 1)
            if due.contains(where: queue.admits) { return false }
        }
        return true
    }

    private func updateBreaker(of queue: PartnerQueue) {
        metrics?.setBreaker(isOpen: queue.breaker.isOpen, partner: queue.route.name)
    }

    /// An operator may have ended the pause of a partner in the store.
    private func endRest(of queue: inout PartnerQueue) throws {
        guard queue.breaker.isOpen, try !store.isResting(partner: queue.route.name) else { return }
        queue.resume(nil)
        updateBreaker(of: queue)
    }

    private func send(_ queue: inout PartnerQueue) throws -> Int {
        guard !leaving.contains(queue.route.name) else { return 0 }
        let now = clock.nowMilliseconds
        try endRest(of: &queue)
        let room = queue.room(nowMilliseconds: now)
        guard room > 0, try !store.isDisabled(partner: queue.route.name) else { return 0 }
        let due = try store.due(
            partner: queue.route.name, nowMilliseconds: now, limit: room + queue.busyCount)
        var sent = 0
        var faults: [FinishedDelivery] = []
        for delivery in due where sent < room && queue.admits(delivery) {
            if let fault = try send(delivery, &queue, now) {
                faults.append(fault)
            } else {
                sent += 1
            }
        }
        if !faults.isEmpty { try store.record(faults) }
        return sent
    }

    /// Sends a delivery, or returns why its document does not result in a request.
    private func send(
        _ delivery: DueDelivery, _ queue: inout PartnerQueue, _ now: Int64
    ) throws -> FinishedDelivery? {
        let document = try DeliveryDocument(delivery.document, parser: parser)
        let route = queue.route
        let clock = clock
        let inbox = inbox
        @Sendable func ending(_ ending: FinishedDelivery.Ending) -> FinishedDelivery {
            FinishedDelivery(
                number: delivery.number, key: document.idempotencyKey, partner: route.name,
                url: route.url, ending: ending)
        }
        let request: OutgoingRequest
        do throws(RenderingFault) {
            request = try route.request(document, nowMilliseconds: now)
        } catch {
            return ending(.fault(error))
        }
        queue.didSend(delivery, nowMilliseconds: now)
        sender.send(request, to: route.destination) { result in
            let duration = max(0, clock.nowMilliseconds - now)
            inbox.put(
                ending(
                    .attempt(
                        Attempt(
                            startedMilliseconds: now, durationMilliseconds: duration,
                            result: result.masked(by: route.template)))))
        }
        return nil
    }
}

/// Ended attempts, from the threads of the sender to the loop. The lock guards all of it, which makes it `@unchecked
/// Sendable`.
final class ResultInbox: @unchecked Sendable {
    private let condition = NSCondition()
    private var results: [FinishedDelivery] = []

    func put(_ result: FinishedDelivery) {
        condition.lock()
        results.append(result)
        condition.signal()
        condition.unlock()
    }

    /// Takes all results. Waits at most `waitMilliseconds` for the first.
    func take(waitMilliseconds: Int) -> [FinishedDelivery] {
        condition.lock()
        defer { condition.unlock() }
        if results.isEmpty, waitMilliseconds > 0 {
            _ = condition.wait(until: Date(timeIntervalSinceNow: Double(waitMilliseconds) / 1000))
        }
        defer { results = [] }
        return results
    }
}
