/// Keeps a partner from being asked again and again while it is away or asks for a pause: nothing is sent to
/// it for a time, then one probe. After failures to reach it in a row, and while it goes on asking for a
/// pause, that time doubles.
struct Breaker: Equatable, Sendable {
    /// So many failures in a row open it.
    static let failuresToOpen = 5
    /// The first pause after failures, in milliseconds.
    static let firstPauseMilliseconds: Int64 = 30_000
    /// The pause of a partner that asks for one and does not say how long, in milliseconds.
    static let unstatedPauseMilliseconds: Int64 = 5000
    /// The shortest pause that a partner can ask for, in milliseconds.
    static let shortestPauseMilliseconds: Int64 = 1000
    /// Doubling ends here, in milliseconds.
    static let longestPauseMilliseconds: Int64 = 1_800_000

    private var failures = 0
    /// Why nothing is sent, and until when; nil while it is closed.
    private(set) var rest: PartnerRest?
    private var isProbing = false

    /// A breaker that is closed, or open as it was left.
    init(rest: PartnerRest? = nil) {
        self.rest = rest
    }

    /// Whether the partner gets probes only.
    var isOpen: Bool { rest != nil }

    /// Whether a request may be sent now: the pause is over, or lies so far ahead that the clock has gone back
    /// since it was set.
    func admits(nowMilliseconds: Int64) -> Bool {
        guard let rest else { return true }
        let left = rest.untilMilliseconds - nowMilliseconds
        let longest = rest.pauseMilliseconds + DeliveryStore.clockSlackMilliseconds
        return !isProbing && (left <= 0 || left > longest)
    }

    /// A request is sent.
    mutating func noteSent() {
        if isOpen { isProbing = true }
    }

    /// The partner was reached, or not.
    mutating func note(isReached: Bool, nowMilliseconds: Int64) {
        // What was sent before the partner asked for a pause says nothing of that pause.
        guard rest?.cause != .asked || isProbing else { return }
        guard !isReached else {
            self = Breaker()
            return
        }
        failures += 1
        guard failures >= Self.failuresToOpen || isOpen else { return }
        // Failures of requests that were on their way when it opened make the pause no longer.
        guard !isOpen || isProbing else { return }
        let pause =
            rest?.cause == .away ? doubledMilliseconds : Self.firstPauseMilliseconds
        open(.away, pauseMilliseconds: pause, nowMilliseconds)
    }

    /// The partner asks for a pause, of so long when it says so.
    mutating func note(pauseAskedMilliseconds asked: Int64?, nowMilliseconds: Int64) {
        let wanted = min(
            asked ?? Self.unstatedPauseMilliseconds, RetrySchedule.maxRetryAfterMilliseconds)
        let pause = max(
            wanted, Self.shortestPauseMilliseconds, isProbing ? doubledMilliseconds : 0)
        failures = 0
        // Of several that ask at once, the longest pause counts.
        if !isProbing, let rest, rest.cause == .asked,
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
