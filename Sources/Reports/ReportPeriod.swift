import Streams

/// A time range relative to an instant, in hours, days, weeks (from Monday) or months in UTC: complete units, or units
/// up to the instant.
package struct ReportPeriod: Equatable, Sendable {
    private enum Unit: String, CaseIterable {
        case hour, day, week, month
    }

    private let unit: Unit
    /// The number of units; at least 1.
    private let count: Int
    /// Whether the last unit is the current one up to the instant; otherwise it is the previous one.
    private let isToDate: Bool

    package static let forms =
        "last 7 days, last 24 hours, last 4 weeks, last 3 months, last month, this day, this week, this month, 7 days to date"

    /// Parses one of the forms; nil for another text.
    package init?(_ text: String) {
        if let match = text.wholeMatch(of: /(\d{1,4}) (hour|day|week|month)s? to date/) {
            guard let unit = Unit(rawValue: String(match.2)), let count = Int(match.1), count > 0
            else { return nil }
            self.init(unit: unit, count: count, isToDate: true)
            return
        }
        guard let match = text.wholeMatch(of: /(last|this) (?:(\d{1,4}) )?(hour|day|week|month)s?/),
            let unit = Unit(rawValue: String(match.3))
        else { return nil }
        let count = match.2.flatMap { Int($0) }
        guard match.1 == "last" ? count != 0 : count == nil else { return nil }
        self.init(unit: unit, count: count ?? 1, isToDate: match.1 == "this")
    }

    private init(unit: Unit, count: Int, isToDate: Bool) {
        self.unit = unit
        self.count = count
        self.isToDate = isToDate
    }

    /// The units before the current one, or those up to the instant.
    ///
    /// - Parameter instant: in milliseconds since 1970.
    /// - Returns: the inclusive beginning and the exclusive end, in milliseconds since 1970.
    package func bounds(at instant: Int64) -> (since: Int64, until: Int64) {
        let start = start(of: instant)
        let earlier = isToDate ? count - 1 : count
        let until = isToDate ? instant + 1 : start
        switch unit {
        case .hour: return (start - Int64(earlier) * Hour.milliseconds, until)
        case .day: return (start - Int64(earlier) * Self.day, until)
        case .week: return (start - Int64(earlier) * 7 * Self.day, until)
        case .month:
            // A day before the first of a month is in the previous month.
            let first = (0..<earlier).reduce(start) { first, _ in self.start(of: first - Self.day) }
            return (first, until)
        }
    }

    private static let day = 24 * Hour.milliseconds

    /// The beginning of the unit that contains an instant.
    private func start(of instant: Int64) -> Int64 {
        func floor(_ size: Int64, from origin: Int64 = 0) -> Int64 {
            let rest = (instant - origin) % size
            return instant - (rest < 0 ? rest + size : rest)
        }
        switch unit {
        case .hour: return floor(Hour.milliseconds)
        case .day: return floor(Self.day)
        // 1970 began on a Thursday.
        case .week: return floor(7 * Self.day, from: 4 * Self.day)
        case .month:
            let midnight = floor(Self.day)
            let dayOfMonth = Int64(UTC.text(milliseconds: midnight).prefix(10).suffix(2)) ?? 1
            return midnight - (dayOfMonth - 1) * Self.day
        }
    }
}

extension UTC {
    /// The day of a time, such as 2026-11-21.
    package static func day(milliseconds: Int64) -> String {
        String(text(milliseconds: milliseconds).prefix { $0 != "T" })
    }
}
