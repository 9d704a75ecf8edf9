import ConfigurationValues
import Foundation
import Monitoring
import Program
import Reports
import Store
import Streams

/// The selection of a request: the days, the campaigns, and the reader's scope.
struct PageContext {
    let path: String
    let parameters: QueryParameters
    /// The scope of the reader's token: rows without these values are never shown.
    let scope: [ReportRequest.Condition]
    /// Time of the newest event of all stores, in milliseconds since 1970; nil without records.
    let newestMilliseconds: Int64?
    /// Time of the clock, in milliseconds since 1970.
    let presentMilliseconds: Int64
    /// The currency of amounts, if the reader chooses none; nil for amounts as recorded.
    var reportCurrency: String?
    /// The time zone of days.
    var timeZone = ReportTimeZone.utc
    /// Bundle ids by App Store id.
    var bundles: [String: String] = [:]
    /// The beginning of the first day with events, in milliseconds since 1970; nil without one.
    var firstMilliseconds: Int64?

    /// The parameter that stops the reloads of the last records.
    static let paused = "paused"

    /// The columns that can filter every page.
    static let filters = ["campaign", "app_id", "ad_network_id", sourceApp, "country"]

    /// The parameters of every page.
    static let shared = ofDays + [shownPeriod, compare, currency] + filters

    /// Whether a column is that of a filter. Reports whose `campaign` is that of the records have the campaign of the
    /// filter in a column of its own.
    static func isFilter(_ column: String) -> Bool {
        filters.contains(column) || column == ReportRequest.catalogCampaign
    }

    private static let campaign = "campaign"

    /// The parameter with the filter on the campaign. In the address of a report, `campaign` is the campaign of records.
    private var campaignParameter: String {
        let ofCatalog = ReportRequest.catalogCampaign
        let isOfCatalog =
            parameters[Self.campaign].nonempty == nil && parameters[ofCatalog].nonempty != nil
        return isOfCatalog ? ofCatalog : Self.campaign
    }

    /// Whether the reader's filters are in force.
    var isFiltered = true

    static let sourceApp = "source_app_id"

    /// The reader's filters, without the scope.
    var chosen: [ReportRequest.Condition] {
        guard isFiltered else { return [] }
        return Self.filters.compactMap { name in
            parameters[name == Self.campaign ? campaignParameter : name].nonempty.map {
                ReportRequest.Condition(column: name, value: $0)
            }
        }
    }

    /// The parameters that links keep from page to page.
    var carried: [(name: String, value: String)] {
        // Nil means that dates are in force, whatever the page's default.
        let isOfDates = period(default: .all) == nil
        let days = isOfDates ? ["since", "until"] : [Self.period]
        return (days + [Self.compare, Self.currency]).compactMap { name in
            parameters[name].nonempty.map { (name, $0) }
        } + chosen.map { ($0.column, $0.value) }
    }

    /// This page with other values of some parameters; nil removes a parameter.
    func address(changing changes: [String: String?]) -> PageAddress {
        let campaign = campaignParameter
        var all = carried.map { ($0.name == Self.campaign ? campaign : $0.name, $0.value) } + own
        all.removeAll {
            changes[$0.name] != nil || $0.name == campaign && changes[Self.campaign] != nil
        }
        for (name, value) in changes.sorted(by: { $0.key < $1.key }) {
            if let value { all.append((name, value)) }
        }
        return PageAddress(path, all)
    }

    /// The parameters of this page alone. On the page of a report, an empty filter that is not a field of the bar selects
    /// the rows without a value.
    var own: [(name: String, value: String)] {
        parameters.names.compactMap { name in
            guard let value = parameters[name] else { return nil }
            let isOfRows =
                value.isEmpty && Self.isFilter(name) && parameters[Self.shownPeriod] == nil
            let isOfBar =
                Self.shared.contains(name) || name == campaignParameter
                || value.isEmpty && Self.isFilter(name)
            return isOfRows || !isOfBar ? (name, value) : nil
        }
    }

    /// Seconds until a page of the last records reloads; nil while it is paused.
    var reloadSeconds: Int? { parameters[Self.paused] == "1" ? nil : 5 }

    func address(_ path: String, _ more: [(name: String, value: String)] = []) -> PageAddress {
        PageAddress(
            path, carried.filter { carried in !more.contains { $0.name == carried.name } } + more)
    }

    /// The request of an address that names its report, limited to the selection. A chosen period becomes its days.
    func request(_ name: String) throws -> ReportAddress {
        var request = try ReportAddress(name, parameters)
        if parameters[Self.period].nonempty != nil, period(default: .all) != nil {
            (request.since, request.until) = bounds(default: .all)
        }
        let limited = try limited(request)
        try checkFilters(of: request)
        return limited
    }

    /// The reader's filters that cannot limit a report with these columns.
    func ignored(by columns: [String]) -> [String] {
        chosen.filter { applied($0, to: columns) == nil }.map(\.column)
    }

    /// Throws `DashboardError.unfiltered` if a filter cannot limit a report. Pages of the whole instance ignore filters.
    func checkFilters(of request: ReportAddress) throws {
        guard DashboardPage.at(path)?.isOfEverything != true else { return }
        // An unknown report is another error.
        let columns = try requireReport(request.name).columnNames
        let ignored = ignored(by: columns)
        guard ignored.isEmpty else {
            throw DashboardError.unfiltered(ignored, report: request.name)
        }
    }

    /// The request limited to the selection and the reader's scope.
    ///
    /// - Parameter days: of the rows; nil keeps those of the request.
    /// - Throws: `DashboardError.outOfScope` when rows do not have the columns of the scope.
    func limited(
        _ request: ReportAddress, to days: (since: String?, until: String?)? = nil
    ) throws -> ReportAddress {
        var request = request
        let report = try requireReport(request.name)
        let columns = report.columnNames
        if let days {
            request.since = days.since
            request.until = days.until
            // The page of a report takes its currency from its own address.
            // Rows of one currency are asked for in that currency.
            if Self.isConverted(report),
                !request.conditions.contains(where: { $0.column == "currency" })
            {
                request.target = target
                // The other columns identify the rows of one currency.
                if target != nil { request.by.removeAll { $0 == "currency" } }
            }
        }
        for filter in chosen {
            guard let condition = applied(filter, to: columns),
                !request.conditions.contains(where: {
                    [filter.column, condition.column].contains($0.column)
                })
            else { continue }
            request.conditions.append(condition)
        }
        return try within(scope, request, report)
    }

    /// The parameter of the currency that amounts are converted into.
    static let currency = "in"

    /// The value of `currency` for amounts as recorded, where the configuration names another currency.
    static let recorded = "recorded"

    var target: String? { Self.target(parameters) ?? (isRecorded ? nil : reportCurrency) }

    /// Whether the reader chose another currency than that of the configuration.
    var hasOwnCurrency: Bool { target != reportCurrency }

    private var isRecorded: Bool { parameters[Self.currency] == Self.recorded }

    /// The chosen currency of a request.
    static func target(_ parameters: QueryParameters) -> String? {
        let chosen = parameters[currency].nonempty
        return chosen == recorded ? nil : chosen
    }

    /// This page with amounts as recorded.
    var recordedAddress: PageAddress {
        address(changing: [Self.currency: reportCurrency.map { _ in Self.recorded }])
    }

    /// Whether pages convert its amounts: those of reports that join streams, and of stored rows.
    static func isConverted(_ report: any Report) -> Bool {
        report.abilities.isSuperset(of: [.amounts, .endsWithEvents])
            || report.abilities.isSuperset(of: [.amounts, .sums]) && hasAmounts(report)
    }

    static func hasAmounts(_ report: any Report) -> Bool {
        report.measureNames.contains(where: MoneyByCurrency.isMoney)
    }

    static let storefront = "storefront"

    /// A filter on the columns of a report. Some reports have a storefront, of three letters, instead of a country, or a
    /// bundle id instead of an app. Where `campaign` is that of the records, the filter is on the campaign of the
    /// catalog, except for a reader whose scope names the campaign of the records. Nil if a report has none of them.
    func applied(
        _ condition: ReportRequest.Condition, to columns: [String]
    ) -> ReportRequest.Condition? {
        if condition.column == Self.campaign, columns.contains(ReportRequest.catalogCampaign),
            !scope.contains(where: { $0.column == condition.column })
        {
            return .init(column: ReportRequest.catalogCampaign, value: condition.value)
        }
        guard !columns.contains(condition.column) else { return condition }
        switch condition.column {
        case "country" where columns.contains(Self.storefront):
            let storefront = Countries.storefront(of: condition.value)
            guard storefront != nil || condition.value.utf8.count == 3 else { return nil }
            return .init(column: Self.storefront, value: storefront ?? condition.value)
        case "app_id" where columns.contains("bundle_id"):
            return bundles[condition.value].map { .init(column: "bundle_id", value: $0) }
        default: return nil
        }
    }

    /// Whether a filter can limit a report with these columns.
    func canApply(_ filter: String, to columns: [String]) -> Bool {
        let value = filter == "app_id" ? bundles.keys.first ?? "" : "US"
        return applied(.init(column: filter, value: value), to: columns) != nil
    }

    /// Why a filter cannot limit a report, as a clause.
    func whyUnfiltered(_ column: String, _ name: String) -> String {
        let heading = ShownValue.heading(column)
        let report = try? requireReport(name)
        let columns = report?.columnNames ?? []
        if columns.contains(Self.storefront), column == "country" {
            return "the App Store has no storefront of this country"
        }
        if columns.contains("bundle_id"), column == "app_id" {
            return "catalog.yaml has no bundle id of this app"
        }
        let streams = report?.streams ?? []
        let without = streams.filter { stream in
            !DumpDescription.all.contains {
                $0.streams == [stream] && canApply(column, to: $0.columnNames)
            }
        }
        guard !without.isEmpty else { return "\(name) has no \(heading)" }
        let names = without.map { $0.replacing("-", with: " ") }.joined(separator: ", ")
        return streams.count == 1
            ? "records of \(names) carry no \(heading)"
            : "these numbers also count records without a \(heading): \(names)"
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
    /// Filters of these columns cannot limit the rows of a report, so its numbers would be those of other rows too.
    case unfiltered([String], report: String)
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
        case .unfiltered(let columns, let report):
            "\(report) cannot be limited by \(columns.joined(separator: " and ")): remove \(columns.count == 1 ? "the parameter" : "these parameters")"
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
        case .unfiltered: 400
        case .notFound: 404
        case .busy: 503
        }
    }
}
