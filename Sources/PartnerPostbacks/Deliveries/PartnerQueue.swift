/// What is on its way to one partner, and whether more may be sent. Partners share nothing but the store,
/// so that none waits for another.
struct PartnerQueue {
    var route: PartnerRoute
    private(set) var breaker = Breaker()
    /// Deliveries on their way, by number, with their documents' ids.
    private(set) var inFlight: [Int64: String] = [:]
    /// When requests of the last second were sent.
    private var sentMilliseconds: [Int64] = []
    /// Deliveries that were sent once, where once is enough.
    private var attempted: Set<Int64>?

    /// A queue in which nothing is on its way.
    init(_ route: PartnerRoute, attemptsOnce: Bool) {
        self.route = route
        attempted = attemptsOnce ? [] : nil
    }

    /// How many requests may be sent now.
    mutating func room(nowMilliseconds now: Int64) -> Int {
        guard breaker.admits(nowMilliseconds: now) else { return 0 }
        guard !breaker.isOpen else { return inFlight.isEmpty ? 1 : 0 }
        let places = route.concurrency - inFlight.count
        guard let rate = route.ratePerSecond else { return places }
        // What was sent later than now was sent by a clock that has gone back since.
        sentMilliseconds.removeAll { $0 <= now - 1000 || $0 > now }
        return min(places, rate - sentMilliseconds.count)
    }

    /// When the next request may be sent, as far as the rate and the breaker go.
    var opensMilliseconds: Int64 {
        let byBreaker = breaker.rest?.untilMilliseconds ?? 0
        guard let rate = route.ratePerSecond, sentMilliseconds.count >= rate else {
            return byBreaker
        }
        return max(byBreaker, sentMilliseconds[sentMilliseconds.count - rate] + 1000)
    }

    /// Goes on with the rest of an earlier run; nil: with none.
    mutating func resume(_ rest: PartnerRest?) {
        breaker = Breaker(rest: rest)
    }

    /// So many due deliveries have to be looked at to find one that may be sent.
    var busyCount: Int { inFlight.count + (attempted?.count ?? 0) }

    /// Whether a delivery may be sent: neither it nor another revision is on its way.
    func admits(_ delivery: DueDelivery) -> Bool {
        inFlight[delivery.number] == nil && !inFlight.values.contains(delivery.id)
            && attempted?.contains(delivery.number) != true
    }

    mutating func noteSent(_ delivery: DueDelivery, nowMilliseconds: Int64) {
        inFlight[delivery.number] = delivery.id
        attempted?.insert(delivery.number)
        if route.ratePerSecond != nil { sentMilliseconds.append(nowMilliseconds) }
        breaker.noteSent()
    }

    mutating func noteEnded(_ number: Int64, _ result: AttemptResult, nowMilliseconds: Int64) {
        inFlight[number] = nil
        switch result {
        case .answered(429, let asked):
            breaker.note(pauseAskedMilliseconds: asked, nowMilliseconds: nowMilliseconds)
        case .answered(503, let asked?):
            breaker.note(pauseAskedMilliseconds: asked, nowMilliseconds: nowMilliseconds)
        case .answered, .addressRefused:
            breaker.note(isReached: true, nowMilliseconds: nowMilliseconds)
        case .failed: breaker.note(isReached: false, nowMilliseconds: nowMilliseconds)
        }
    }
}
