import ArgumentParser
import Foundation
import Streams
import Synchronization

/// Times as a person writes them.
enum LogTime {
    /// The accepted forms, for help and errors.
    static let forms = """
        RFC 3339, a date, milliseconds since 1970, now, today, yesterday (from midnight, UTC), or so long \
        ago: 90s, 15m, 24h, 7d, 2w
        """

    /// The clock at the start of the program: all relative times of a command line refer to the
    /// same instant.
    private static let startMilliseconds = Int64(Date().timeIntervalSince1970 * 1000)
    private static let dayMilliseconds: Int64 = 86_400_000
    /// Numbers count as milliseconds since 1970 from 2001-09-09 to the end of 9999. A person who
    /// writes a smaller number means seconds, days or a year.
    private static let numbers: ClosedRange<Int64> = 1_000_000_000_000...253_402_300_799_999
    private static let units: [Character: Int64] = [
        "s": 1000, "m": 60_000, "h": 3_600_000, "d": dayMilliseconds, "w": 7 * dayMilliseconds,
    ]
    /// The relative times that were explained on standard error already.
    private static let named = Mutex<Set<String>>([])

    /// Milliseconds since 1970. What a relative time stands for is written to standard error, once.
    static func milliseconds(_ text: String, option: String) throws(CommandError) -> Int64 {
        if let number = Int64(text) {
            guard numbers.contains(number) else {
                throw .usage(
                    "\(option) \(text) is no time: a number is milliseconds since 1970, from 2001-09-09 on "
                        + "(\(numbers.lowerBound)); write \(forms)")
            }
            return number
        }
        if let time = UTC.milliseconds(text: text) { return time }
        if let time = relative(text, nowMilliseconds: startMilliseconds) {
            let words = "\(option) \(text) is \(UTC.text(milliseconds: time))"
            if named.withLock({ $0.insert(words).inserted }) { Notice.write(words) }
            return time
        }
        throw .usage("\(option) '\(text)' is no time: write \(forms)")
    }

    /// `now`, `today`, `yesterday`, and a number with a unit, with a minus or without; nil for anything else,
    /// and for what lies before the year 0.
    static func relative(_ text: String, nowMilliseconds now: Int64) -> Int64? {
        let midnight = now - now % dayMilliseconds
        switch text {
        case "now": return now
        case "today": return midnight
        case "yesterday": return midnight - dayMilliseconds
        default:
            let digits = text.drop { $0 == "-" }.dropLast()
            guard text.count - digits.count <= 2, !digits.isEmpty,
                digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
                let count = Int64(digits), let unit = text.last.flatMap({ units[$0] })
            else { return nil }
            let (span, overflows) = count.multipliedReportingOverflow(by: unit)
            return overflows || span > now ? nil : now - span
        }
    }
}

/// The selected time span.
struct TimeOptions: ParsableArguments {
    @Option(parsing: .unconditional, help: "Only from this time on: \(LogTime.forms).")
    var since: String?
    @Option(parsing: .unconditional, help: "Only before this time.")
    var until: String?

    var isGiven: Bool { since != nil || until != nil }

    /// Both in milliseconds since 1970; nil for one that was not given.
    func milliseconds() throws(CommandError) -> (since: Int64?, until: Int64?) {
        func time(_ text: String?, _ option: String) throws(CommandError) -> Int64? {
            guard let text else { return nil }
            return try LogTime.milliseconds(text, option: option)
        }
        let (start, end) = (try time(since, "--since"), try time(until, "--until"))
        if let start, let end, end < start {
            throw .usage(
                "--until \(UTC.text(milliseconds: end)) lies before --since "
                    + "\(UTC.text(milliseconds: start)): nothing lies between")
        }
        return (start, end)
    }
}
