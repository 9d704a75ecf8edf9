import ConfigurationValues
import Streams

/// A time range relative to an instant, in hours, days, weeks (from Monday) or months of a time zone: complete units, or
/// units up to the instant.
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
    /// - Parameters:
    ///   - instant: in milliseconds since 1970.
    ///   - zone: that of the days; hours are the same in every zone.
    /// - Returns: the inclusive beginning and the exclusive end, in milliseconds since 1970.
    package func bounds(
        at instant: Int64, in zone: ReportTimeZone = .utc
    ) -> (since: Int64, until: Int64) {
        let earlier = isToDate ? count - 1 : count
        guard unit != .hour else {
            let start = Hour(containing: instant).startMilliseconds
            return (
                start - Int64(earlier) * Hour.milliseconds, isToDate ? instant + 1 : start
            )
        }
        let start = start(of: zone.dayNumber(milliseconds: instant))
        let first: Int64 =
            switch unit {
            case .hour, .day: start - Int64(earlier)
            case .week: start - 7 * Int64(earlier)
            // A day before the first of a month is in the previous month.
            case .month: (0..<earlier).reduce(start) { first, _ in self.start(of: first - 1) }
            }
        return (zone.start(ofDay: first), isToDate ? instant + 1 : zone.start(ofDay: start))
    }

    /// The first day of the unit that contains a day, in days since 1970.
    private func start(of day: Int64) -> Int64 {
        switch unit {
        case .hour, .day: return day
        case .week:
            // 1970 began on a Thursday.
            let rest = (day - 4) % 7
            return day - (rest < 0 ? rest + 7 : rest)
        case .month:
            let dayOfMonth = Int64(Hour(hoursSince1970: day * 24).day.suffix(2)) ?? 1
            return day - (dayOfMonth - 1)
        }
    }
}

extension UTC {
    /// The day of a time, such as 2026-11-21.
    package static func day(milliseconds: Int64) -> String {
        String(text(milliseconds: milliseconds).prefix { $0 != "T" })
    }
}
