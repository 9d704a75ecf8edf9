import EventLog
import Foundation
import Streams

/// The header `Retry-After` of RFC 9110: seconds, or a date in any of its three forms. Also the form of the App Store
/// Server API, which RFC 9110 does not have: milliseconds since 1970
/// (https://developer.apple.com/documentation/appstoreserverapi/identifying-rate-limits).
package enum RetryAfter {
    /// The longest pause that a number of seconds can request: a day.
    package static let longestMilliseconds: Int64 = 86_400_000
    /// Numbers that are instants in milliseconds since 1970, from 2001-09-09 to 2286-11-20. As seconds they would be a
    /// pause of at least 31,000 years.
    private static let instants: Range<Int64> = 1_000_000_000_000..<10_000_000_000_000

    /// The pause in milliseconds; nil for anything else. A date counts from the `Date` of the answer, otherwise from
    /// `nowSeconds` since 1970.
    static func milliseconds(
        _ text: String, date: String?, nowSeconds: Int64 = WallClock.milliseconds / 1000
    ) -> Int64? {
        let text = text.trimmingCharacters(in: .whitespaces)
        let now = date.flatMap { seconds(ofDate: $0, nowSeconds: nowSeconds) } ?? nowSeconds
        if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            guard let number = Int64(text) else { return longestMilliseconds }
            if instants.contains(number) { return max(0, number - now * 1000) }
            return number < 1_000_000_000 ? number * 1000 : longestMilliseconds
        }
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
