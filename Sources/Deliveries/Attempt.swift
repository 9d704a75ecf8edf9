import Crypto
import EventLog
import Foundation
import HTTPClient
import Streams

extension RequestResult {
    /// Masks the partner's secrets in the detail.
    func masked(by template: RequestTemplate) -> RequestResult {
        switch self {
        case .answered: self
        case .failed(let fault, let detail): .failed(fault, detail: template.masking(detail))
        case .addressRefused(let detail): .addressRefused(detail: template.masking(detail))
        }
    }
}

enum AttemptOutcome: String, CaseIterable, Sendable {
    /// 200 to 299.
    case delivered
    /// Retried: 5xx, 429, no answer in time, no connection.
    case retry
    /// Not retried automatically: any status that no other case covers.
    case refused
    /// 3xx: redirects are not followed.
    case redirect
    /// 410: the partner accepts nothing more at this address.
    case gone
    /// 401 or 403: the partner rejects the sender, so it would answer every other document the same way.
    case denied
    /// The address is not allowed.
    case address

    init(_ result: RequestResult) {
        switch result {
        case .answered(let status, _, _):
            switch status {
            case 200...299: self = .delivered
            case 300...399: self = .redirect
            case 401, 403: self = .denied
            case 410: self = .gone
            case 429, 500...599: self = .retry
            default: self = .refused
            }
        case .failed: self = .retry
        case .addressRefused: self = .address
        }
    }
}

struct Attempt: Equatable, Sendable {
    var startedMilliseconds: Int64
    var durationMilliseconds: Int64
    var result: RequestResult

    /// The failure in words; nil for an answer.
    var fault: String? {
        switch result {
        case .answered: nil
        case .failed(let fault, let detail): "\(fault.rawValue): \(detail)"
        case .addressRefused(let detail): detail
        }
    }

    var endMilliseconds: Int64 { startedMilliseconds + durationMilliseconds }

    var status: Int? {
        if case .answered(let status, _, _) = result { status } else { nil }
    }
}

/// The retry schedule of failed deliveries, as recommended by Standard Webhooks.
package enum RetrySchedule {
    /// Pauses between attempts in milliseconds: 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h. The first
    /// attempt is made at once.
    static let pausesMilliseconds: [Int64] = [
        5000, 300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000, 50_400_000, 72_000_000,
        86_400_000,
    ]
    static let attemptCount = pausesMilliseconds.count + 1
    /// The schedule in words: "10 attempts over 3 days and 3 hours, up to a tenth longer". Hours are rounded down, so
    /// that the promise is kept.
    package static var explanation: String {
        let hours = pausesMilliseconds.reduce(0, +) / 3_600_000
        return
            "\(attemptCount) attempts over \(hours / 24) days and \(hours % 24) hours, plus up to 10 %"
    }
    /// The longest pause that a partner can request with `Retry-After`.
    static let maxRetryAfterMilliseconds = RetryAfter.longestMilliseconds

    /// The longest pause that this schedule or a partner can cause.
    static let longestPauseMilliseconds = max(
        (pausesMilliseconds.max() ?? 0) / 10 * 11, maxRetryAfterMilliseconds)

    /// The pause after a failed attempt, counted from 1; nil after the last. The pause is up to a tenth longer than
    /// scheduled, so that deliveries that failed together are not retried together. The extra time depends only on
    /// the delivery and the attempt.
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

/// The clock of the schedule of retries.
protocol DeliveryClock: Sendable {
    /// Milliseconds since 1970.
    var nowMilliseconds: Int64 { get }
}

struct SystemClock: DeliveryClock {
    var nowMilliseconds: Int64 { WallClock.milliseconds }
}
