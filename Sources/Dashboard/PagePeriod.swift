import Monitoring
import Program
import Reports
import Streams

// The days of a page, and the days that they are compared with.

extension PageContext {
    /// The selectable periods. Those to date end with the day of the newest record; the others are whole days before
    /// it. `weir report` counts both in the same way.
    enum Period: String, CaseIterable {
        case day = "1d"
        case week = "7d"
        case month = "30d"
        case quarter = "90d"
        case lastDay = "last-1d"
        case lastWeek = "last-7d"
        case lastFourWeeks = "last-28d"
        case lastMonth = "last-30d"
        case lastQuarter = "last-90d"
        case thisMonth = "this-month"
        case all

        /// As in a saved report.
        var name: String {
            switch self {
            case .day: "this day"
            case .week: "7 days to date"
            case .month: "30 days to date"
            case .quarter: "90 days to date"
            case .lastDay: "last day"
            case .lastWeek: "last 7 days"
            case .lastFourWeeks: "last 28 days"
            case .lastMonth: "last 30 days"
            case .lastQuarter: "last 90 days"
            case .thisMonth: "this month"
            case .all: "all days"
            }
        }

        /// The others are valid in addresses.
        static let menu: [Period] = [
            .day, .lastDay, .week, .lastWeek, .lastFourWeeks, .thisMonth, .month, .lastQuarter,
            .all,
        ]
    }

    enum Comparison: String, CaseIterable {
        case previous, week, none

        var label: String {
            switch self {
            case .previous: "Previous period"
            case .week: "Same days of last week"
            case .none: "None"
            }
        }
    }

    /// A time range as texts of its first day and of the day after the last; nil for no bound.
    typealias Days = (since: String?, until: String?)

    /// Two ranges of equal length.
    struct Compared {
        /// The compared part of the shown days.
        let now: Days
        let before: Days
        /// Whether `now` is shorter than the shown days, because their last hour is not over.
        let isPartial: Bool
        /// The earlier range: `the 7 days before`, `the same hours of the day before, until 13:00`.
        let words: String
    }

    static let dayMilliseconds: Int64 = 86_400_000

    /// Parameters of the period menu. It sends back the choice that it showed, because choosing another one overrides
    /// given dates.
    static let period = "period"
    static let shownPeriod = "shown"
    static let compare = "compare"
    static let ofDays = [period, "since", "until"]

    /// Throws for an unknown period or comparison, and for dates without a day: ignoring them would show other days.
    static func check(_ parameters: QueryParameters) throws {
        func check(_ name: String, _ valid: [String]) throws(CommandError) {
            guard let value = parameters[name].nonempty, !valid.contains(value) else { return }
            throw .usage(
                "unknown \(name) '\(value)': use one of \(valid.joined(separator: ", "))")
        }
        try check(period, Period.allCases.map(\.rawValue))
        try check(compare, Comparison.allCases.map(\.rawValue))
        var dates = ReportAddress(Funnel.name)
        dates.since = parameters["since"].nonempty
        dates.until = parameters["until"].nonempty
        _ = try dates.resolved
    }

    /// A period as in the menu. Days of older data have their dates, because `weir dump --day yesterday` means the
    /// clock's day.
    func label(_ period: Period) -> String {
        let newest = Self.floor(newestMilliseconds ?? presentMilliseconds, Self.dayMilliseconds)
        let isToday = newest == Self.floor(presentMilliseconds, Self.dayMilliseconds)
        func date(_ milliseconds: Int64) -> String {
            Self.name(ofDay: UTC.day(milliseconds: milliseconds), isShort: true)
        }
        return switch period {
        case .day: isToday ? "Today" : "\(date(newest)), newest day"
        case .lastDay:
            isToday ? "Yesterday" : "\(date(newest - Self.dayMilliseconds)), the day before"
        default: period.name.prefix(1).uppercased() + period.name.dropFirst()
        }
    }

    /// Whether the reader has chosen days.
    var isLimitedInTime: Bool { Self.ofDays.contains { parameters[$0].nonempty != nil } }

    var comparison: Comparison {
        parameters[Self.compare].nonempty.flatMap(Comparison.init(rawValue:)) ?? .previous
    }

    /// The choice in force; nil when dates are given.
    func period(default period: Period) -> Period? {
        let chosen = parameters[Self.period].nonempty.flatMap(Period.init(rawValue:))
        guard parameters["since"].nonempty != nil || parameters["until"].nonempty != nil else {
            return chosen ?? period
        }
        guard let shown = parameters[Self.shownPeriod], chosen?.rawValue != shown else {
            return nil
        }
        return chosen
    }

    /// The chosen days. Without a chosen end, they end with the newest record.
    func bounds(default period: Period) -> Days {
        guard let chosen = self.period(default: period) else {
            let (since, until) = (parameters["since"].nonempty, parameters["until"].nonempty)
            guard let since, until == nil, let start = UTC.milliseconds(text: since),
                let end = endOfNewestDay, start < end
            else { return (since, until) }
            return (since, UTC.day(milliseconds: end))
        }
        guard let newest = newestMilliseconds, let stretch = ReportPeriod(chosen.name) else {
            return (nil, nil)
        }
        let (since, until) = stretch.bounds(at: newest)
        // A period to date requests its last day as a whole, so that addresses do not change with each record.
        return (UTC.day(milliseconds: since), UTC.day(milliseconds: Self.endOfDay(until - 1)))
    }

    /// The chosen days, and the days that they are compared with. If the last hour of the chosen days is not over, both
    /// ranges end with the last complete hour. Nil if the days have no beginning or no end, no hour of them is over, the
    /// first record is later than the earlier days, or the reader wants no comparison.
    func compared(default period: Period) -> Compared? {
        guard let range = comparedRange(default: period), !isBeforeFirst(range) else { return nil }
        return range
    }

    /// Why wanted days are not compared; nil if they are, or nothing can be said.
    func notCompared(default period: Period) -> String? {
        guard let firstMilliseconds, let range = comparedRange(default: period),
            isBeforeFirst(range)
        else { return nil }
        let first = Self.name(ofDay: UTC.day(milliseconds: firstMilliseconds), isShort: true)
        return "Not compared: records begin on \(first), so they do not cover \(range.words)."
    }

    private func isBeforeFirst(_ range: Compared) -> Bool {
        guard let firstMilliseconds, let since = range.before.since else { return false }
        return UTC.milliseconds(text: since).map { $0 < firstMilliseconds } ?? false
    }

    private func comparedRange(default period: Period) -> Compared? {
        let (since, until) = bounds(default: period)
        guard comparison != .none, let start = since.flatMap({ UTC.milliseconds(text: $0) }),
            let end = until.flatMap({ UTC.milliseconds(text: $0) }), start < end
        else { return nil }
        let lastHour = newestMilliseconds.map { Self.floor($0, Hour.milliseconds) } ?? end
        // Days after the newest record have no hours to compare.
        let isPartial = lastHour < end && start <= lastHour
        let compared = isPartial ? lastHour : end
        guard start < compared else { return nil }
        let days = (end - start + Self.dayMilliseconds - 1) / Self.dayMilliseconds
        let shift =
            comparison == .week ? (days + 6) / 7 * 7 * Self.dayMilliseconds : end - start
        return Compared(
            now: (since, isPartial ? Self.text(compared) : until),
            before: (Self.text(start - shift), Self.text(compared - shift)),
            isPartial: isPartial, words: words(days, isPartial, until: compared))
    }

    private func words(_ days: Int64, _ isPartial: Bool, until end: Int64) -> String {
        let hours = isPartial ? "the same hours of " : ""
        let range =
            switch (comparison, days) {
            case (.week, ...7): "the same days of the week before"
            case (.week, _): "the same weekdays, \((days + 6) / 7) weeks before"
            case (_, 1): "the day before"
            default: "the \(days) days before"
            }
        let time = UTC.text(milliseconds: end).dropFirst(11).prefix(5)
        return hours + range
            + (isPartial ? ", until \(time); imported costs count with their whole day" : "")
    }

    private var endOfNewestDay: Int64? { newestMilliseconds.map(Self.endOfDay) }

    private static func floor(_ milliseconds: Int64, _ size: Int64) -> Int64 {
        let rest = milliseconds % size
        return milliseconds - (rest < 0 ? rest + size : rest)
    }

    /// The midnight after an instant.
    private static func endOfDay(_ milliseconds: Int64) -> Int64 {
        floor(milliseconds, dayMilliseconds) + dayMilliseconds
    }

    /// A day, or an instant within one.
    private static func text(_ milliseconds: Int64) -> String {
        milliseconds % dayMilliseconds == 0
            ? UTC.day(milliseconds: milliseconds) : UTC.text(milliseconds: milliseconds)
    }

    /// The shown days in words: `24 November 2026, until 12:00`, `1 Nov 2026 to 28 Nov 2026`.
    func daysInWords(default period: Period) -> String {
        let (since, until) = bounds(default: period)
        let start = since.flatMap { UTC.milliseconds(text: $0) }
        let end = until.flatMap { UTC.milliseconds(text: $0) }
        guard start != nil || end != nil else { return "All days" }
        var words: String
        if let start, let end, start % Self.dayMilliseconds == 0,
            end - start == Self.dayMilliseconds
        {
            words = Self.name(ofDay: UTC.day(milliseconds: start), isShort: false)
        } else {
            let first = since.map { Self.name(of: $0) }
            let last = end.map { end in
                end % Self.dayMilliseconds == 0
                    ? Self.name(ofDay: UTC.day(milliseconds: end - 1), isShort: true)
                    : UTC.text(milliseconds: end)
            }
            words = [first, last].compactMap(\.self).joined(separator: " to ")
            if first == nil { words = "Until \(words)" }
            if last == nil { words = "Since \(words)" }
        }
        if let newest = newestMilliseconds, let end, newest < end,
            newest >= start ?? .min
        {
            words += ", until \(UTC.text(milliseconds: newest).dropFirst(11).prefix(5))"
        }
        return words
    }

    private static let months = [
        "January", "February", "March", "April", "May", "June", "July", "August", "September",
        "October", "November", "December",
    ]

    private static func name(of time: String) -> String {
        time.count == 10 ? name(ofDay: time, isShort: true) : time
    }

    /// A day such as `2026-11-25` as `25 November 2026`.
    static func name(ofDay day: String, isShort: Bool) -> String {
        let parts = day.split(separator: "-").compactMap { Int($0) }
        guard parts.count == 3, months.indices.contains(parts[1] - 1) else { return day }
        let month = months[parts[1] - 1]
        return "\(parts[2]) \(isShort ? String(month.prefix(3)) : month) \(parts[0])"
    }
}
