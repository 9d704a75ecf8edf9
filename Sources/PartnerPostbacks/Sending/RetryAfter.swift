import Foundation

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

    /// Seconds since 1970 of `Sun, 06 Nov 1994 08:49:37 GMT`.
    private static func seconds(ofDate text: String) -> Int64? {
        text.withCString { text in
            var parts = tm()
            guard let rest = strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &parts), rest.pointee == 0
            else { return nil }
            return Int64(timegm(&parts))
        }
    }
}
