import ConfigurationValues
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
        var timeZone = ReportTimeZone.utc
    }

    static let dayMilliseconds: Int64 = 86_400_000

    /// Parameters of the period menu. It sends back the choice that it showed, because choosing another one overrides
    /// given dates.
    static let period = "period"
    static let shownPeriod = "shown"
    static let compare = "compare"
    static let ofDays = [period, "since", "until"]

    /// Throws for an unknown period or comparison, and for dates without a day: ignoring them would show other days.
    static func check(_ parameters: QueryParameters, in zone: ReportTimeZone) throws {
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
        _ = try dates.resolved(in: zone)
    }

    /// A period as in the menu. Days of older data have their dates, because `weir dump --day yesterday` means the
    /// clock's day.
    func label(_ period: Period) -> String {
        let newest = timeZone.startOfDay(milliseconds: newestMilliseconds ?? presentMilliseconds)
        let isToday = newest == timeZone.startOfDay(milliseconds: presentMilliseconds)
        return switch period {
        case .day: isToday ? "Today" : "\(name(ofDayAt: newest)), newest day"
        case .lastDay:
            isToday ? "Yesterday" : "\(name(ofDayAt: newest - 1)), the day before"
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
            guard let since, until == nil, let start = timeZone.milliseconds(text: since),
                let newest = newestMilliseconds, start < endOfDay(newest)
            else { return (since, until) }
            return (since, timeZone.day(milliseconds: endOfDay(newest)))
        }
        guard let newest = newestMilliseconds, let stretch = ReportPeriod(chosen.name) else {
            return (nil, nil)
        }
        let (since, until) = stretch.bounds(at: newest, in: timeZone)
        // A period to date requests its last day as a whole, so that addresses do not change with each record.
        return (
            timeZone.day(milliseconds: since), timeZone.day(milliseconds: endOfDay(until - 1))
        )
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
        let first = name(ofDayAt: firstMilliseconds)
        return "Not compared: records begin on \(first), so they do not cover \(range.words)."
    }

    private func isBeforeFirst(_ range: Compared) -> Bool {
        guard let firstMilliseconds, let since = range.before.since else { return false }
        return timeZone.milliseconds(text: since).map { $0 < firstMilliseconds } ?? false
    }

    private func comparedRange(default period: Period) -> Compared? {
        let (since, until) = bounds(default: period)
        guard comparison != .none, let start = since.flatMap(timeZone.milliseconds(text:)),
            let end = until.flatMap(timeZone.milliseconds(text:)), start < end
        else { return nil }
        let lastHour = newestMilliseconds.map { Hour(containing: $0).startMilliseconds } ?? end
        // Days after the newest record have no hours to compare.
        let isPartial = lastHour < end && start <= lastHour
        let compared = isPartial ? lastHour : end
        guard start < compared else { return nil }
        let isOfDays = isMidnight(start) && isMidnight(end)
        let days =
            isOfDays
            ? timeZone.dayNumber(milliseconds: end) - timeZone.dayNumber(milliseconds: start)
            : (end - start + Self.dayMilliseconds - 1) / Self.dayMilliseconds
        func earlier(_ time: Int64) -> String {
            let weeks = comparison == .week ? (days + 6) / 7 * 7 : nil
            // Days have 23 to 25 hours. Ranges within days are compared with as many hours.
            let shown = (weeks ?? (isOfDays ? days : nil)).map {
                timeZone.shifted(milliseconds: time, days: -$0)
            }
            return timeZone.text(milliseconds: shown ?? time - (end - start))
        }
        return Compared(
            now: (since, isPartial ? timeZone.text(milliseconds: compared) : until),
            before: (earlier(start), earlier(compared)),
            isPartial: isPartial, words: words(days, isPartial, until: compared),
            timeZone: timeZone)
    }

    private func isMidnight(_ milliseconds: Int64) -> Bool {
        timeZone.startOfDay(milliseconds: milliseconds) == milliseconds
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
        let time = timeZone.clockText(milliseconds: end)
        return hours + range
            + (isPartial ? ", until \(time); imported costs count with their whole day" : "")
    }

    /// The midnight after an instant.
    private func endOfDay(_ milliseconds: Int64) -> Int64 {
        timeZone.start(ofDay: timeZone.dayNumber(milliseconds: milliseconds) + 1)
    }

    private func name(ofDayAt milliseconds: Int64) -> String {
        Self.name(ofDay: timeZone.day(milliseconds: milliseconds), isShort: true)
    }

    /// The shown days in words: `24 November 2026, until 12:00`, `1 Nov 2026 to 28 Nov 2026`.
    func daysInWords(default period: Period) -> String {
        let (since, until) = bounds(default: period)
        let start = since.flatMap(timeZone.milliseconds(text:))
        let end = until.flatMap(timeZone.milliseconds(text:))
        guard start != nil || end != nil else { return "All days" }
        var words: String
        if let start, let end, isMidnight(start), end == endOfDay(start) {
            words = Self.name(ofDay: timeZone.day(milliseconds: start), isShort: false)
        } else {
            let first = since.map { Self.name(of: $0) }
            let last = end.map { end in
                isMidnight(end) ? name(ofDayAt: end - 1) : UTC.text(milliseconds: end)
            }
            words = [first, last].compactMap(\.self).joined(separator: " to ")
            if first == nil { words = "Until \(words)" }
            if last == nil { words = "Since \(words)" }
        }
        if let newest = newestMilliseconds, let end, newest < end,
            newest >= start ?? .min
        {
            words += ", until \(timeZone.clockText(milliseconds: newest))"
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
