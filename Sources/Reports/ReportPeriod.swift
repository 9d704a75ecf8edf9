import Streams

/// A stretch of time that ends at an instant: whole hours, days, weeks (from Monday) or months, in UTC.
package struct ReportPeriod: Equatable, Sendable {
    private enum Unit: String, CaseIterable {
        case hour, day, week, month
    }

    private let unit: Unit
    /// How many units before that of the instant; 0 for that one itself.
    private let count: Int

    package static let forms =
        "last 7 days, last 24 hours, last 4 weeks, last 3 months, last month, this day, this week, this month"

    /// Reads one of the forms; nil for another text.
    package init?(_ text: String) {
        guard let match = text.wholeMatch(of: /(last|this) (?:(\d{1,4}) )?(hour|day|week|month)s?/),
            let unit = Unit(rawValue: String(match.3))
        else { return nil }
        let count = match.2.flatMap { Int($0) }
        guard match.1 == "last" ? count != 0 : count == nil else { return nil }
        self.unit = unit
        self.count = match.1 == "last" ? count ?? 1 : 0
    }

    /// Whole units before the one that the instant lies in; or that one, as far as it goes.
    ///
    /// - Parameter instant: in milliseconds since 1970.
    /// - Returns: from when on, and before when, in milliseconds since 1970.
    package func bounds(at instant: Int64) -> (since: Int64, until: Int64) {
        let start = start(of: instant)
        guard count > 0 else { return (start, instant + 1) }
        switch unit {
        case .hour: return (start - Int64(count) * Hour.milliseconds, start)
        case .day: return (start - Int64(count) * Self.day, start)
        case .week: return (start - Int64(count) * 7 * Self.day, start)
        case .month:
            // A day of a month before lies at most 31 days before its end.
            let first = (0..<count).reduce(start) { first, _ in self.start(of: first - Self.day) }
            return (first, start)
        }
    }

    private static let day = 24 * Hour.milliseconds

    /// The beginning of the unit that an instant lies in.
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
