import HTTPClient
import Store

/// The requests in flight to one partner, and whether more may be sent. Partners share only the
/// store, so that none waits for another.
struct PartnerQueue {
    var route: PartnerRoute
    private(set) var breaker = Breaker()
    /// Deliveries in flight, by number, with the ids of their documents.
    private(set) var inFlight: [Int64: String] = [:]
    /// When the requests of the last second were sent.
    private var sentMilliseconds: [Int64] = []
    /// Deliveries sent in this run, if each is sent only once; otherwise nil.
    private var attempted: Set<Int64>?

    init(_ route: PartnerRoute, attemptsOnce: Bool) {
        self.route = route
        attempted = attemptsOnce ? [] : nil
    }

    /// How many requests may be sent at present.
    mutating func room(nowMilliseconds now: Int64) -> Int {
        guard breaker.admits(nowMilliseconds: now) else { return 0 }
        guard !breaker.isOpen else { return inFlight.isEmpty ? 1 : 0 }
        let slots = route.concurrency - inFlight.count
        guard let rate = route.ratePerSecond else { return slots }
        // A time in the future was set before the clock went back.
        sentMilliseconds.removeAll { $0 <= now - 1000 || $0 > now }
        return min(slots, rate - sentMilliseconds.count)
    }

    /// When the rate and the breaker allow the next request, milliseconds since 1970.
    var opensMilliseconds: Int64 {
        let byBreaker = breaker.rest?.untilMilliseconds ?? 0
        guard let rate = route.ratePerSecond, sentMilliseconds.count >= rate else {
            return byBreaker
        }
        return max(byBreaker, sentMilliseconds[sentMilliseconds.count - rate] + 1000)
    }

    /// Restores the rest of an earlier run; nil means none.
    mutating func resume(_ rest: PartnerRest?) {
        breaker = Breaker(rest: rest)
    }

    /// The number of due deliveries that may have to be skipped to find one to send.
    var busyCount: Int { inFlight.count + (attempted?.count ?? 0) }

    /// Whether a delivery may be sent: no revision of its document is in flight.
    func admits(_ delivery: DueDelivery) -> Bool {
        inFlight[delivery.number] == nil && !inFlight.values.contains(delivery.id)
            && attempted?.contains(delivery.number) != true
    }

    mutating func didSend(_ delivery: DueDelivery, nowMilliseconds: Int64) {
        inFlight[delivery.number] = delivery.id
        attempted?.insert(delivery.number)
        if route.ratePerSecond != nil { sentMilliseconds.append(nowMilliseconds) }
        breaker.didSend()
    }

    mutating func didEnd(_ number: Int64, _ result: RequestResult, nowMilliseconds: Int64) {
        inFlight[number] = nil
        switch result {
        case .answered(429, let asked, _):
            breaker.update(pauseAskedMilliseconds: asked, nowMilliseconds: nowMilliseconds)
        case .answered(503, let asked?, _):
            breaker.update(pauseAskedMilliseconds: asked, nowMilliseconds: nowMilliseconds)
        case .answered, .addressRefused:
            breaker.update(isReached: true, nowMilliseconds: nowMilliseconds)
        case .failed: breaker.update(isReached: false, nowMilliseconds: nowMilliseconds)
        }
    }
}

/// Protects a partner that is unreachable or requests a pause: nothing is sent for a time, then one probe. The time
/// doubles after repeated failures to reach the partner, and while it keeps requesting a pause.
struct Breaker: Equatable, Sendable {
    /// Consecutive failures that open the breaker.
    static let failuresToOpen = 5
    /// The first pause after failures, in milliseconds.
    static let firstPauseMilliseconds: Int64 = 30_000
    /// The pause if a partner requests one without a length, in milliseconds.
    static let unstatedPauseMilliseconds: Int64 = 5000
    /// The shortest pause that a partner can request, in milliseconds.
    static let shortestPauseMilliseconds: Int64 = 1000
    /// The longest pause that doubling reaches, in milliseconds.
    static let longestPauseMilliseconds: Int64 = 1_800_000

    private var failures = 0
    /// The current pause; nil while the breaker is closed.
    private(set) var rest: PartnerRest?
    private var isProbing = false

    init(rest: PartnerRest? = nil) {
        self.rest = rest
    }

    var isOpen: Bool { rest != nil }

    /// Whether a request may be sent now.
    func admits(nowMilliseconds: Int64) -> Bool {
        guard let rest else { return true }
        return !isProbing && rest.isOver(nowMilliseconds: nowMilliseconds)
    }

    mutating func didSend() {
        if isOpen { isProbing = true }
    }

    mutating func update(isReached: Bool, nowMilliseconds: Int64) {
        // A request sent before the partner requested a pause has no information about that pause.
        guard rest?.cause != .asked || isProbing else { return }
        guard !isReached else {
            self = Breaker()
            return
        }
        failures += 1
        guard failures >= Self.failuresToOpen || isOpen else { return }
        // Failures of requests that were in flight when the breaker opened do not lengthen the pause.
        guard !isOpen || isProbing else { return }
        let pause =
            rest?.cause == .away ? doubledMilliseconds : Self.firstPauseMilliseconds
        open(.away, pauseMilliseconds: pause, nowMilliseconds)
    }

    /// The partner requests a pause; nil for one without a length.
    mutating func update(pauseAskedMilliseconds asked: Int64?, nowMilliseconds: Int64) {
        let wanted = min(
            asked ?? Self.unstatedPauseMilliseconds, RetrySchedule.maxRetryAfterMilliseconds)
        let pause = max(
            wanted, Self.shortestPauseMilliseconds, isProbing ? doubledMilliseconds : 0)
        failures = 0
        // If several answers request a pause, the longest counts.
        if !isProbing, let rest, rest.cause == .asked,
            !rest.isOver(nowMilliseconds: nowMilliseconds),
            rest.untilMilliseconds >= nowMilliseconds + pause
        {
            return
        }
        open(.asked, pauseMilliseconds: pause, nowMilliseconds)
    }

    private var doubledMilliseconds: Int64 {
        min((rest?.pauseMilliseconds ?? 0) * 2, Self.longestPauseMilliseconds)
    }

    private mutating func open(
        _ cause: PartnerRest.Cause, pauseMilliseconds: Int64, _ nowMilliseconds: Int64
    ) {
        rest = PartnerRest(
            cause: cause, pauseMilliseconds: pauseMilliseconds,
            untilMilliseconds: nowMilliseconds + pauseMilliseconds)
        isProbing = false
    }
}
