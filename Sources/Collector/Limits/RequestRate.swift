import Synchronization

/// How many requests a second are allowed over time, and as many more at once.
final class RequestRate: Sendable {
    private let interval: Duration
    private let burst: Duration
    /// When all that was taken so far is worn off.
    private let settled: Mutex<ContinuousClock.Instant>

    init(perSecond count: Int, now: ContinuousClock.Instant = .now) {
        interval = .seconds(1) / count
        burst = .seconds(1)
        settled = Mutex(now)
    }

    /// Takes one; nil when that is allowed, else after how many seconds it is.
    func take(now: ContinuousClock.Instant = .now) -> Int? {
        settled.withLock { settled in
            let after = max(settled, now) + interval
            let excess = now.duration(to: after) - burst
            guard excess > .zero else {
                settled = after
                return nil
            }
            return Int(excess.components.seconds) + 1
        }
    }
}
