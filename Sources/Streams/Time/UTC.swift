/// Instants in UTC as text, in the proleptic Gregorian calendar; without locale, time zone and clock.
package enum UTC {
    private static let millisecondsPerDay: Int64 = 86_400_000

    /// Writes an instant as RFC 3339: `2026-11-21T05:00:00Z`, with milliseconds unless they are 0.
    package static func text(milliseconds: Int64) -> String {
        let (seconds, fraction) = parts(milliseconds, 1000)
        return text(seconds: seconds, milliseconds: fraction)
    }

    fileprivate static func text(seconds: Int64, milliseconds: Int64 = 0) -> String {
        let (days, second) = parts(seconds, 86_400)
        let date = civilDate(daysSince1970: days)
        return String(unsafeUninitializedCapacity: 48) { text in
            var end = 0
            func write(_ byte: UInt8) {
                text[end] = byte
                end += 1
            }
            /// Writes at least `width` digits, after a minus if the number is negative.
            func write(_ number: Int64, _ width: Int) {
                if number < 0 { write(dash) }
                var count = 1
                var rest = number.magnitude
                while rest >= 10 || count < width {
                    rest /= 10
                    count += 1
                }
                end += count
                rest = number.magnitude
                for index in 1...count {
                    text[end - index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                    rest /= 10
                }
            }
            write(date.year, 4)
            write(dash)
            write(date.month, 2)
            write(dash)
            write(date.day, 2)
            write(UInt8(ascii: "T"))
            write(second / 3600, 2)
            write(colon)
            write(second / 60 % 60, 2)
            write(colon)
            write(second % 60, 2)
            if milliseconds != 0 {
                write(UInt8(ascii: "."))
                write(milliseconds, 3)
            }
            write(UInt8(ascii: "Z"))
            return end
        }
    }

    /// Quotient and remainder; rounds towards the past.
    private static func parts(_ number: Int64, _ unit: Int64) -> (whole: Int64, rest: Int64) {
        let rest = number % unit
        return rest < 0 ? (number / unit - 1, rest + unit) : (number / unit, rest)
    }

    /// Reads `2026-11-21`, `2026-11-21T05:00:00Z` or `2026-11-21T05:00:00.250+01:00`; nil for other texts, and for days
    /// outside the calendar.
    package static func milliseconds(text: String) -> Int64? {
        let bytes = Array(text.utf8)
        guard bytes.count >= 10, let midnight = midnight(bytes) else { return nil }
        if bytes.count == 10 { return midnight }
        guard bytes.count >= 20, bytes[10] == UInt8(ascii: "T"), bytes[13] == colon,
            bytes[16] == colon, let hour = number(bytes[11..<13]), hour < 24,
            let minute = number(bytes[14..<16]), minute < 60,
            let second = number(bytes[17..<19]), second < 60
        else { return nil }
        var rest = bytes[19...]
        var fraction: Int64 = 0
        if rest.first == UInt8(ascii: ".") {
            let digits = rest.dropFirst().prefix { (0x30...0x39).contains($0) }
            guard (1...3).contains(digits.count), let number = number(digits) else { return nil }
            fraction = number * [100, 10, 1][digits.count - 1]
            rest = rest.dropFirst(1 + digits.count)
        }
        guard let zoneMinutes = zoneMinutes(Array(rest)) else { return nil }
        return midnight + ((hour * 60 + minute - zoneMinutes) * 60 + second) * 1000 + fraction
    }

    private static let colon = UInt8(ascii: ":")
    private static let dash = UInt8(ascii: "-")

    /// Reads only the form `2026-11-21`, as the first hour of the day; nil for days outside the calendar.
    package static func day(_ text: UnsafeRawBufferPointer) -> Hour? {
        guard text.count == 10 else { return nil }
        return midnight(text).map { Hour(containing: $0) }
    }

    private static func midnight(_ text: some RandomAccessCollection<UInt8>) -> Int64? {
        func part(_ start: Int, _ count: Int) -> Int64? {
            number(text.dropFirst(start).prefix(count))
        }
        guard text.dropFirst(4).first == dash, text.dropFirst(7).first == dash,
            let year = part(0, 4), let month = part(5, 2), let day = part(8, 2),
            (1...12).contains(month), day >= 1
        else { return nil }
        let days = daysSince1970(year: year, month: month, day: day)
        guard civilDate(daysSince1970: days) == (year, month, day) else { return nil }
        return days * millisecondsPerDay
    }

    private static func zoneMinutes(_ zone: [UInt8]) -> Int64? {
        if zone == [UInt8(ascii: "Z")] { return 0 }
        let isWest = zone.first == UInt8(ascii: "-")
        guard zone.count == 6, isWest || zone[0] == UInt8(ascii: "+"), zone[3] == colon,
            let hours = number(zone[1..<3]), hours < 24, let minutes = number(zone[4..<6]),
            minutes < 60
        else { return nil }
        return (hours * 60 + minutes) * (isWest ? -1 : 1)
    }

    /// A few decimal digits.
    private static func number(_ digits: some Sequence<UInt8>) -> Int64? {
        digits.reduce(0) { number, byte in
            guard let number, (0x30...0x39).contains(byte) else { return nil }
            return number * 10 + Int64(byte - 0x30)
        }
    }

    /// Days are counted in eras of 400 years that begin on the first of March.
    private static func civilDate(
        daysSince1970: Int64
    ) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = daysSince1970 + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, day)
    }

    private static func daysSince1970(year: Int64, month: Int64, day: Int64) -> Int64 {
        let marchYear = month <= 2 ? year - 1 : year
        let era = (marchYear >= 0 ? marchYear : marchYear - 399) / 400
        let yearOfEra = marchYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }
}

/// A whole hour in UTC, the bucket of event times.
package struct Hour: Hashable, Comparable, Sendable {
    package var hoursSince1970: Int64

    package static let milliseconds: Int64 = 3_600_000

    /// Rows of day tables without a day use this hour. Its text is empty.
    package static let unknown = Hour(hoursSince1970: .min)

    package init(hoursSince1970: Int64) {
        self.hoursSince1970 = hoursSince1970
    }

    /// The hour that contains an instant; rounds towards the past, before 1970 too.
    package init(containing timestampMilliseconds: Int64) {
        let quotient = timestampMilliseconds / Self.milliseconds
        let remainder = timestampMilliseconds % Self.milliseconds
        hoursSince1970 = remainder < 0 ? quotient - 1 : quotient
    }

    /// Reads the text of an hour or a day from a store, with a year of four digits or more.
    package init?(text: String) {
        let digits = text.prefix { $0 != "-" && $0 != "+" }
        // The calendar repeats every 400 years.
        let cycles = digits.count > 4 ? Int64(digits).map { ($0 - 2000) / 400 } ?? 0 : 0
        let near =
            cycles > 0
            ? Int64(digits).map { "\($0 - cycles * 400)" + text.dropFirst(digits.count) } : text
        guard let milliseconds = near.flatMap({ UTC.milliseconds(text: $0) }) else { return nil }
        self.init(containing: milliseconds)
        hoursSince1970 += cycles * 146_097 * 24
    }

    package var text: String {
        // The earliest hour begins before the first millisecond.
        self == .unknown ? "" : UTC.text(seconds: hoursSince1970 * 3600)
    }

    /// Its first millisecond since 1970, as far as 64 bits reach.
    package var startMilliseconds: Int64 {
        let (start, overflows) = hoursSince1970.multipliedReportingOverflow(by: Self.milliseconds)
        return overflows ? (hoursSince1970 < 0 ? .min : .max) : start
    }

    /// The first hour of its day.
    package var startOfDay: Hour {
        let hours = hoursSince1970 % 24
        return Hour(hoursSince1970: hoursSince1970 - (hours < 0 ? hours + 24 : hours))
    }

    /// Its day, as `2026-11-21`.
    package var day: String { String(text.prefix { $0 != "T" }) }

    package static func < (left: Hour, right: Hour) -> Bool {
        left.hoursSince1970 < right.hoursSince1970
    }
}
