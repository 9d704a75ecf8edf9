/// Instants as RFC 3339 writes them.
enum UTCInstant {
    /// Milliseconds since 1970 of a date, time and offset (`2026-01-31T05:00:00Z`); nil when the
    /// text is none, or lies within a millisecond. A leap second is none.
    static func milliseconds(rfc3339 text: String) -> Int64? {
        var rest = Substring(text).utf8
        guard let year = number(4, &rest), take("-", &rest),
            let month = number(2, &rest), (1...12).contains(month), take("-", &rest),
            let day = number(2, &rest), (1...daysIn(month, of: year)).contains(day),
            take("T", &rest) || take("t", &rest),
            let hour = number(2, &rest), hour < 24, take(":", &rest),
            let minute = number(2, &rest), minute < 60, take(":", &rest),
            let second = number(2, &rest), second < 60,
            let fraction = milliseconds(&rest),
            let offsetMinutes = offset(&rest), rest.isEmpty
        else { return nil }
        let minutes = (days(year, month, day) * 24 + hour) * 60 + minute - offsetMinutes
        return (minutes * 60 + second) * 1000 + fraction
    }

    private static func take(_ character: Unicode.Scalar, _ rest: inout Substring.UTF8View) -> Bool
    {
        guard let first = rest.first, UInt32(first) == character.value else { return false }
        rest.removeFirst()
        return true
    }

    private static func number(_ digits: Int, _ rest: inout Substring.UTF8View) -> Int64? {
        let text = rest.prefix(digits)
        guard text.count == digits, text.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        rest.removeFirst(digits)
        return text.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
    }

    /// The fraction of a second, 0 when there is none; nil for a dot without digits, and for
    /// digits that are not 0 beyond the third.
    private static func milliseconds(_ rest: inout Substring.UTF8View) -> Int64? {
        guard take(".", &rest) else { return 0 }
        let digits = Array(rest.prefix { (0x30...0x39).contains($0) })
        rest.removeFirst(digits.count)
        guard !digits.isEmpty, digits.dropFirst(3).allSatisfy({ $0 == 0x30 }) else { return nil }
        return (0..<3).reduce(0) { $0 * 10 + ($1 < digits.count ? Int64(digits[$1] - 0x30) : 0) }
    }

    /// Minutes that the clock is ahead of UTC.
    private static func offset(_ rest: inout Substring.UTF8View) -> Int64? {
        if take("Z", &rest) || take("z", &rest) { return 0 }
        let ahead = take("+", &rest)
        guard ahead || take("-", &rest),
            let hours = number(2, &rest), hours < 24, take(":", &rest),
            let minutes = number(2, &rest), minutes < 60
        else { return nil }
        return (ahead ? 1 : -1) * (hours * 60 + minutes)
    }

    private static func daysIn(_ month: Int64, of year: Int64) -> Int64 {
        switch month {
        case 2: isLeap(year) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    private static func isLeap(_ year: Int64) -> Bool {
        year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400))
    }

    /// Days since 1970 of a day of the Gregorian calendar from year 0 on.
    private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        // Leap days before the year: year 0 is one, hence the 1; 719 528 days lie before 1970.
        let leapDays = year == 0 ? 0 : (year - 1) / 4 - (year - 1) / 100 + (year - 1) / 400 + 1
        let months = (1..<month).reduce(0) { $0 + daysIn($1, of: year) }
        return year * 365 + leapDays + months + day - 1 - 719_528
    }
}
