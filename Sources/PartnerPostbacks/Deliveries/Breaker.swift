/// Keeps a partner from being asked again and again while it is away: after some failures to reach it in
/// a row nothing is sent for a pause that doubles, then one probe.
struct Breaker: Equatable, Sendable {
    /// So many failures in a row open it.
    static let failuresToOpen = 5
    /// The first pause, in milliseconds.
    static let firstPauseMilliseconds: Int64 = 30_000
    /// The longest pause, in milliseconds.
    static let longestPauseMilliseconds: Int64 = 1_800_000

    private var failures = 0
    private var pauseMilliseconds: Int64 = 0
    /// Nothing is sent before then; nil while it is closed.
    private(set) var opensAgainMilliseconds: Int64?
    private var isProbing = false

    /// Whether the partner counts as away.
    var isOpen: Bool { opensAgainMilliseconds != nil }

    /// Whether a request may be sent now.
    func admits(nowMilliseconds: Int64) -> Bool {
        guard let opensAgainMilliseconds else { return true }
        return !isProbing && nowMilliseconds >= opensAgainMilliseconds
    }

    /// A request is sent.
    mutating func noteSent() {
        if isOpen { isProbing = true }
    }

    /// The partner was reached, or not.
    mutating func note(isReached: Bool, nowMilliseconds: Int64) {
        guard !isReached else {
            self = Breaker()
            return
        }
        failures += 1
        guard failures >= Self.failuresToOpen else { return }
        // Failures of requests that were on their way when it opened make the pause no longer.
        guard !isOpen || isProbing else { return }
        pauseMilliseconds =
            isOpen
            ? min(pauseMilliseconds * 2, Self.longestPauseMilliseconds)
            : Self.firstPauseMilliseconds
        opensAgainMilliseconds = nowMilliseconds + pauseMilliseconds
        isProbing = false
    }
}
