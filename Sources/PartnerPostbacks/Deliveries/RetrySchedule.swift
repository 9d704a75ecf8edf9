import Crypto

/// When a delivery is tried again: the schedule that Standard Webhooks recommends.
package enum RetrySchedule {
    /// Pauses between an attempt and the next, in milliseconds: 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h,
    /// 20 h, 24 h. The first attempt is made at once.
    package static let pausesMilliseconds: [Int64] = [
        5000, 300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000, 50_400_000, 72_000_000,
        86_400_000,
    ]
    /// So often a delivery is tried.
    package static let attemptCount = pausesMilliseconds.count + 1
    /// How often and for how long, for people: "10 attempts over 3 days and 3 hours, up to a tenth longer".
    /// Whole hours, rounded down: what is promised is kept.
    package static var words: String {
        let hours = pausesMilliseconds.reduce(0, +) / 3_600_000
        return
            "\(attemptCount) attempts over \(hours / 24) days and \(hours % 24) hours, up to a tenth longer"
    }
    /// A partner may ask for a longer pause than the schedule's (`Retry-After`), up to this.
    package static let maxRetryAfterMilliseconds: Int64 = 86_400_000

    /// No pause is longer, in milliseconds.
    static let longestPauseMilliseconds = max(
        (pausesMilliseconds.max() ?? 0) / 10 * 11, maxRetryAfterMilliseconds)

    /// The pause after a failed attempt, counted from 1; nil after the last. Up to a tenth longer than the
    /// schedule says, so that what failed together does not come back together: how much follows from the
    /// delivery and the attempt, and from nothing else.
    package static func pauseMilliseconds(
        afterAttempt attempt: Int, key: String, retryAfterMilliseconds: Int64? = nil
    ) -> Int64? {
        guard pausesMilliseconds.indices.contains(attempt - 1) else { return nil }
        let pause = pausesMilliseconds[attempt - 1]
        let hash = SHA256.hash(data: Array("\(key) \(attempt)".utf8))
        let number = hash.prefix(2).reduce(Int64(0)) { $0 << 8 | Int64($1) }
        let scheduled = pause + pause / 10 * number / 65_536
        return max(
            scheduled, min(retryAfterMilliseconds ?? 0, maxRetryAfterMilliseconds))
    }
}
