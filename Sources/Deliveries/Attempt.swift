import Crypto
import EventLog
import Foundation
import Streams

/// The result of one request to a partner.
package enum AttemptResult: Equatable, Sendable {
    /// `retryAfterMilliseconds` is the pause that the partner requested.
    case answered(status: Int, retryAfterMilliseconds: Int64?)
    /// No HTTP answer.
    case failed(ConnectionFault, detail: String)
    /// The partner's address is not allowed.
    case addressRefused(detail: String)
}

extension AttemptResult {
    /// Masks the partner's secrets in the detail.
    func masked(by template: RequestTemplate) -> AttemptResult {
        switch self {
        case .answered: self
        case .failed(let fault, let detail): .failed(fault, detail: template.masking(detail))
        case .addressRefused(let detail): .addressRefused(detail: template.masking(detail))
        }
    }
}

package enum ConnectionFault: String, CaseIterable, Sendable {
    /// No answer in time.
    case timeout
    case resolution
    /// No connection, or one that closed before the answer.
    case connection
    /// No encrypted connection, or an unacceptable certificate.
    case tls
    /// The answer was not HTTP.
    case protocolError = "protocol"
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

    init(_ result: AttemptResult) {
        switch result {
        case .answered(let status, _):
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
    var result: AttemptResult

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
        if case .answered(let status, _) = result { status } else { nil }
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
    static let maxRetryAfterMilliseconds: Int64 = 86_400_000

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

/// The header `Retry-After` of RFC 9110: seconds, or a date in any of its three forms.
enum RetryAfter {
    /// The pause in milliseconds; nil for anything else. A date counts from the `Date` of the answer, otherwise from
    /// `nowSeconds` since 1970.
    static func milliseconds(
        _ text: String, date: String?, nowSeconds: Int64 = WallClock.milliseconds / 1000
    ) -> Int64? {
        let text = text.trimmingCharacters(in: .whitespaces)
        if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            guard let seconds = Int64(text), seconds < 1_000_000_000 else {
                return RetrySchedule.maxRetryAfterMilliseconds
            }
            return seconds * 1000
        }
        let now = date.flatMap { seconds(ofDate: $0, nowSeconds: nowSeconds) } ?? nowSeconds
        guard let until = seconds(ofDate: text, nowSeconds: now) else { return nil }
        return max(0, until - now) * 1000
    }

    private static let fiftyYearsInSeconds: Int64 = 1_577_880_000
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Seconds since 1970 of a date in HTTP's present form, of RFC 850, or of C's `asctime`: `Sun, 06 Nov 1994
    /// 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT`, `Sun Nov  6 08:49:37 1994`.
    private static func seconds(ofDate text: String, nowSeconds: Int64) -> Int64? {
        if let parts = text.wholeMatch(
            of: /[A-Z][a-z]{2}, (\d\d) ([A-Z][a-z]{2}) (\d{4}) (\d\d:\d\d:\d\d) GMT/)?.output
        {
            return seconds(year: parts.3, month: parts.2, day: parts.1, time: parts.4)
        }
        if let parts = text.wholeMatch(
            of: /[A-Z][a-z]{2} ([A-Z][a-z]{2}) ([ \d]\d) (\d\d:\d\d:\d\d) (\d{4})/)?.output
        {
            let day = parts.2.replacing(" ", with: "0")
            return seconds(year: parts.4, month: parts.1, day: day[...], time: parts.3)
        }
        guard
            let parts = text.wholeMatch(
                of: /[A-Z][a-z]{5,8}, (\d\d)-([A-Z][a-z]{2})-(\d\d) (\d\d:\d\d:\d\d) GMT/)?.output,
            let shortYear = Int(parts.3)
        else { return nil }
        // A year of two digits is the latest one with these digits that is at most 50 years ahead.
        guard let thisYear = Int(UTC.text(milliseconds: nowSeconds * 1000).prefix(4)) else {
            return nil
        }
        let candidates = [100, 0, -100].compactMap { century in
            seconds(
                year: "\(thisYear / 100 * 100 + century + shortYear)", month: parts.2, day: parts.1,
                time: parts.4)
        }
        return candidates.first { $0 - nowSeconds <= fiftyYearsInSeconds }
    }

    private static func seconds(
        year: Substring, month: Substring, day: Substring, time: Substring
    ) -> Int64? {
        guard let month = months.firstIndex(of: String(month)) else { return nil }
        let number = (month < 9 ? "0" : "") + String(month + 1)
        return UTC.milliseconds(text: "\(year)-\(number)-\(day)T\(time)Z").map { $0 / 1000 }
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
