import Foundation
import Streams

/// The header `Retry-After` of RFC 9110: seconds, or a date.
enum RetryAfter {
    /// The pause in milliseconds; nil for what is neither. A date counts from the answer's own.
    static func milliseconds(_ text: String, date: String?) -> Int64? {
        let text = text.trimmingCharacters(in: .whitespaces)
        if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            guard let seconds = Int64(text), seconds < 1_000_000_000 else {
                return RetrySchedule.maxRetryAfterMilliseconds
            }
            return seconds * 1000
        }
        guard let until = seconds(ofDate: text) else { return nil }
        let now = date.flatMap(seconds(ofDate:)) ?? Int64(Date().timeIntervalSince1970)
        return max(0, until - now) * 1000
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Seconds since 1970 of `Sun, 06 Nov 1994 08:49:37 GMT`.
    private static func seconds(ofDate text: String) -> Int64? {
        guard
            let parts = text.wholeMatch(
                of: /[A-Z][a-z]{2}, (\d\d) ([A-Z][a-z]{2}) (\d{4}) (\d\d:\d\d:\d\d) GMT/)?.output,
            let month = months.firstIndex(of: String(parts.2))
        else { return nil }
        let number = (month < 9 ? "0" : "") + String(month + 1)
        let milliseconds = UTC.milliseconds(text: "\(parts.3)-\(number)-\(parts.1)T\(parts.4)Z")
        return milliseconds.map { $0 / 1000 }
    }
}
