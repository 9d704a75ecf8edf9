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
            case .week: "Same days last week"
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
        /// The end of the first days of records, if the earlier range has some of them; their postbacks are incomplete.
        var firstDaysEnd: String?

        private static let ofPostbacks: Set<String> = [
            "installs", "reengagements", "cpi", "revenue_min_micros", "revenue_max_micros",
            "roas_min", "roas_max", "null_rate",
        ]

        /// Whether the earlier range has the measure in full.
        func compares(_ measure: String) -> Bool {
            firstDaysEnd == nil || !Self.ofPostbacks.contains(measure)
        }

        /// What is not compared; nil if all measures are.
        var notOfPostbacks: String? {
            firstDaysEnd.map {
                "Installs and revenue are not compared: the first postback of an ad arrives up to \(PageContext.settlingDays) days later, so before \($0) there were too few."
            }
        }
    }

    static let dayMilliseconds: Int64 = 86_400_000

    /// The days after an ad within which its first postback arrives: two days of the first window, and up to two days
    /// of delay. Numbers of an installation's first days are smaller for this reason alone.
    static let settlingDays: Int64 = 4

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

    /// A period as in the menu, with its days. Days of older data are not called today and yesterday, because
    /// `weir dump --day yesterday` means the clock's day.
    func label(_ period: Period) -> String {
        let newest = timeZone.startOfDay(milliseconds: newestMilliseconds ?? presentMilliseconds)
        let isToday = newest == timeZone.startOfDay(milliseconds: presentMilliseconds)
        return switch period {
        case .day: isToday ? "Today" : "\(name(ofDayAt: newest)), newest day"
        case .lastDay:
            isToday ? "Yesterday" : "\(name(ofDayAt: newest - 1)), the day before"
        default:
            [ShownValue.sentence(period.name), days(of: period)].compactMap(\.self)
                .joined(separator: ": ")
        }
    }

    /// The days of a period in words, without the year; nil for a period without bounds.
    private func days(of period: Period) -> String? {
        let (since, until) = bounds(of: period)
        guard let since, let end = until.flatMap(timeZone.milliseconds(text:)) else { return nil }
        return Self.name(ofDays: since, timeZone.day(milliseconds: end - 1), hasYear: false)
    }

    /// The period of a page if the reader chooses none: complete days, because a day that is not over looks like a
    /// drop. Days to date on pages about faults, and until the first day of records is over.
    ///
    /// - Parameter page: nil for the page of a campaign or of compared campaigns.
    func usualPeriod(of page: DashboardPage?) -> Period {
        page?.includesRunningDay == true || !hasCompleteDay ? .month : .lastFourWeeks
    }

    /// Whether a day of records is over, or there are no records.
    private var hasCompleteDay: Bool {
        guard let firstMilliseconds, let newestMilliseconds else { return true }
        return firstMilliseconds < timeZone.startOfDay(milliseconds: newestMilliseconds)
    }

    /// Why the days of the page are not complete days, as a sentence. Nil if they are, or the reader chose them.
    func reasonForDays(to period: Period) -> String? {
        guard period == .month, !isLimitedInTime else { return nil }
        return DashboardPage.at(path)?.includesRunningDay == true
            ? "This page includes the running day, because its faults can need action now."
            : "The running day is included, because no other day has records."
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
        return bounds(of: chosen)
    }

    private func bounds(of chosen: Period) -> Days {
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
        guard var range = comparedRange(default: period), !isBefore(firstMilliseconds, range) else {
            return nil
        }
        let settled = firstMilliseconds.map {
            timeZone.shifted(milliseconds: $0, days: Self.settlingDays)
        }
        if let settled, isBefore(settled, range) { range.firstDaysEnd = name(ofDayAt: settled) }
        return range
    }

    /// Why wanted days are not compared; nil if they are, or nothing can be said.
    func notCompared(default period: Period) -> String? {
        guard let firstMilliseconds, let range = comparedRange(default: period),
            isBefore(firstMilliseconds, range)
        else { return nil }
        let first = name(ofDayAt: firstMilliseconds)
        return "Not compared: records begin on \(first), so they do not cover \(range.words)."
    }

    /// Whether the earlier range begins before an instant.
    private func isBefore(_ instant: Int64?, _ range: Compared) -> Bool {
        guard let instant, let since = range.before.since else { return false }
        return timeZone.milliseconds(text: since).map { $0 < instant } ?? false
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
        Self.name(ofDay: timeZone.day(milliseconds: milliseconds))
    }

    /// The shown days in words: `24 Nov 2026, until 12:00`, `1–28 Nov 2026`.
    func daysInWords(default period: Period) -> String {
        let (since, until) = bounds(default: period)
        let start = since.flatMap(timeZone.milliseconds(text:))
        let end = until.flatMap(timeZone.milliseconds(text:))
        guard start != nil || end != nil else { return "All days" }
        var words: String
        if let since, let end, Self.isDay(since), isMidnight(end) {
            words = Self.name(ofDays: since, timeZone.day(milliseconds: end - 1))
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

    /// The shown days with the name of their period in the menu: `7 days to date: 18–24 Nov 2026, until 12:00`.
    func namedDays(default period: Period) -> String {
        let words = daysInWords(default: period)
        return switch self.period(default: period) {
        case nil, .all, .day, .lastDay: words
        case .some(let chosen): "\(ShownValue.sentence(chosen.name)): \(words)"
        }
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private static func isDay(_ time: String) -> Bool { time.utf8.count == 10 }

    private static func name(of time: String) -> String {
        isDay(time) ? name(ofDay: time) : time
    }

    /// A day such as `2026-11-25` as `25 Nov 2026`, as all pages write it.
    static func name(ofDay day: String, hasYear: Bool = true) -> String {
        name(ofDays: day, day, hasYear: hasYear)
    }

    /// A range of days: `12–18 Nov 2026`, `27 Oct – 25 Nov 2026`.
    ///
    /// - Parameter hasYear: whether it has the year, which a range over several years always has.
    static func name(ofDays first: String, _ last: String, hasYear: Bool = true) -> String {
        func parts(_ day: String) -> (year: Int, month: String, day: Int)? {
            let parts = day.split(separator: "-").compactMap { Int($0) }
            guard parts.count == 3, months.indices.contains(parts[1] - 1) else { return nil }
            return (parts[0], months[parts[1] - 1], parts[2])
        }
        guard let start = parts(first), let end = parts(last) else {
            return first == last ? first : "\(first) to \(last)"
        }
        let isOneYear = start.year == end.year
        let tail = "\(end.day) \(end.month)" + (hasYear || !isOneYear ? " \(end.year)" : "")
        guard isOneYear else { return "\(start.day) \(start.month) \(start.year) – \(tail)" }
        guard start.month == end.month else { return "\(start.day) \(start.month) – \(tail)" }
        return start.day == end.day ? tail : "\(start.day)–\(tail)"
    }
}
