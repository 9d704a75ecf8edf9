import Foundation
import Monitoring
import Program
import Reports
import Store
import Streams

/// The selection of a request: the days, the campaigns, and the reader's scope.
struct PageContext {
    /// The selectable periods. Those to date end with the day of the newest record; the others are whole days before
    /// it. `weir report` counts both in the same way.
    enum Period: String, CaseIterable {
        case day = "1d"
        case week = "7d"
        case month = "30d"
        case quarter = "90d"
        case lastDay = "last-1d"
        case lastWeek = "last-7d"
        case lastMonth = "last-30d"
        case all

        var name: String {
            switch self {
            case .day: "this day"
            case .week: "7 days to date"
            case .month: "30 days to date"
            case .quarter: "90 days to date"
            case .lastDay: "last day"
            case .lastWeek: "last 7 days"
            case .lastMonth: "last 30 days"
            case .all: "all days"
            }
        }
    }

    let path: String
    let parameters: QueryParameters
    /// The scope of the reader's token: rows without these values are never shown.
    let scope: [ReportRequest.Condition]
    /// Time of the newest event of all stores, in milliseconds since 1970; nil without records.
    let newestMilliseconds: Int64?

    /// The columns that can filter every page.
    static let filters = ["campaign", "app_id", "ad_network_id", "source_app_id", "country"]

    private static let dayMilliseconds: Int64 = 86_400_000

    /// The reader's filters, without the scope.
    var chosen: [ReportRequest.Condition] {
        Self.filters.compactMap { name in
            parameters[name].nonempty.map { ReportRequest.Condition(column: name, value: $0) }
        }
    }

    /// Whether the reader has chosen days.
    var isLimitedInTime: Bool {
        [Self.period, "since", "until"].contains { parameters[$0].nonempty != nil }
    }

    /// Parameters of the period menu. It sends back the choice that it showed, because choosing another one overrides
    /// given dates.
    static let period = "period"
    static let shownPeriod = "shown"

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

    /// A time range as texts of its first day and of the day after the last; nil for no bound.
    typealias Days = (since: String?, until: String?)

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

    /// The range of the same length before the chosen days; nil if these have no beginning or no end.
    func daysBefore(default period: Period) -> Days? {
        let (since, until) = bounds(default: period)
        guard let start = since.flatMap({ UTC.milliseconds(text: $0) }),
            let end = until.flatMap({ UTC.milliseconds(text: $0) }), start < end
        else { return nil }
        return (Self.text(start - (end - start)), Self.text(start))
    }

    private var endOfNewestDay: Int64? { newestMilliseconds.map(Self.endOfDay) }

    /// The midnight after an instant.
    private static func endOfDay(_ milliseconds: Int64) -> Int64 {
        let rest = milliseconds % dayMilliseconds
        return milliseconds - (rest < 0 ? rest + dayMilliseconds : rest) + dayMilliseconds
    }

    /// A day, or an instant within one.
    private static func text(_ milliseconds: Int64) -> String {
        milliseconds % dayMilliseconds == 0
            ? UTC.day(milliseconds: milliseconds) : UTC.text(milliseconds: milliseconds)
    }

    /// A description of the chosen days: `of the day`, `of the last 7 days`, `from 2026-11-01, before 2026-11-08`.
    func periodName(default period: Period) -> String {
        switch self.period(default: period) {
        case .day: return "of the day"
        case .lastDay: return "of the last day"
        case .lastWeek, .lastMonth: return "of the \(self.period(default: period)?.name ?? "")"
        case let period?: return "of \(period.name)"
        case nil:
            return [("from", parameters["since"]), ("before", parameters["until"])]
                .compactMap { word, day in day.nonempty.map { "\(word) \($0)" } }
                .joined(separator: ", ")
        }
    }

    /// The parameters that links keep from page to page.
    var carried: [(name: String, value: String)] {
        // Nil means that dates are in force, whatever the page's default.
        let isOfDates = period(default: .all) == nil
        let days = isOfDates ? ["since", "until"] : [Self.period]
        return (days + Self.filters).compactMap { name in
            parameters[name].nonempty.map { (name, $0) }
        }
    }

    func address(_ path: String, _ more: [(name: String, value: String)] = []) -> PageAddress {
        PageAddress(
            path, carried.filter { carried in !more.contains { $0.name == carried.name } } + more)
    }

    /// The request limited to the selection and the reader's scope.
    ///
    /// - Parameter days: of the rows; nil keeps those of the request.
    /// - Throws: `DashboardError.outOfScope` when rows do not have the columns of the scope.
    func limited(
        _ request: ReportAddress, to days: (since: String?, until: String?)? = nil
    ) throws -> ReportAddress {
        var request = request
        let report = try knownReport(request.name)
        let columns = report.columnNames
        if let days {
            request.since = days.since
            request.until = days.until
        }
        for condition in chosen
        where columns.contains(condition.column) || isOfStorefront(condition, columns) {
            var condition = condition
            if !columns.contains(condition.column) { condition.column = Self.storefront }
            guard !request.conditions.contains(where: { $0.column == condition.column }) else {
                continue
            }
            request.conditions.append(condition)
        }
        return try within(scope, request, report)
    }

    static let storefront = "storefront"

    /// Whether a country is a storefront, which has three letters instead of two.
    func isOfStorefront(_ condition: ReportRequest.Condition, _ columns: [String]) -> Bool {
        condition.column == "country" && condition.value.utf8.count == 3
            && !columns.contains("country") && columns.contains(Self.storefront)
    }

    private func within(
        _ scope: [ReportRequest.Condition], _ request: ReportAddress, _ report: any Report
    ) throws -> ReportAddress {
        var request = request
        for condition in scope {
            guard report.columnNames.contains(condition.column), report.abilities.contains(.scopes)
            else {
                throw DashboardError.outOfScope(request.name, condition.column)
            }
            // The request has a different value, so no row can match both.
            if let other = request.conditions.first(where: { $0.column == condition.column }),
                other.value != condition.value
            {
                throw DashboardError.otherScope(condition)
            }
            request.conditions.removeAll { $0.column == condition.column }
            request.conditions.append(condition)
        }
        if !scope.isEmpty {
            request.isScoped = true
            // Values of a whole app are outside the scope of a single campaign.
            request.hidesAppSums = !scope.contains { $0.column == "app_id" }
            if request.hidesAppSums,
                request.measures?.contains(where: report.appMeasures.contains) == true
            {
                throw DashboardError.outOfScope("a measure of a whole app", "campaign")
            }
        }
        return request
    }
}

/// Why a page is not shown. The description is for its reader.
enum DashboardError: Error, CustomStringConvertible {
    /// The rows do not have the column that limits the reader's token.
    case outOfScope(String, String)
    /// The page requests another value than the token allows.
    case otherScope(ReportRequest.Condition)
    /// The page shows the whole instance.
    case ofEverything
    case notFound(String)
    case busy

    var description: String {
        switch self {
        case .outOfScope(let dump, let column):
            "your token is limited to one \(column), and \(dump) cannot be"
        case .otherScope(let condition):
            "your token is limited to \(condition.column) \(condition.value)"
        case .ofEverything:
            "your token is limited to some campaigns, and this page shows all of them"
        case .notFound(let path): "there is no page \(path)"
        case .busy:
            "this machine is already explaining as many numbers as it can: wait until one is done, then try again"
        }
    }

    var status: Int {
        switch self {
        case .outOfScope, .otherScope, .ofEverything: 403
        case .notFound: 404
        case .busy: 503
        }
    }
}
