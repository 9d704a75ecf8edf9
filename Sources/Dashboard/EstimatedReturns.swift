import ConfigurationValues
import Reports
import Streams

/// The ways in which pages compute the return on spend. Each has one name and one note on all pages.
enum ReturnKind {
    /// By the day on which postbacks arrive, in the funnel.
    case arrived
    /// By the day of the install, in `roas`.
    case bounds
    /// The same of complete days.
    case complete
    /// Complete days with missing values estimated.
    case estimated

    var title: String {
        switch self {
        case .arrived: "by arrival"
        case .bounds: "bounds"
        case .complete: "bounds of complete days"
        case .estimated: "estimated"
        }
    }

    /// The heading of returns by age.
    var heading: String { "Return by age, \(title)" }

    var note: String {
        switch self {
        case .arrived:
            "Revenue of the values that arrived on these days, divided by the spend of these days. A missing value counts as 0 in both bounds, so the true return can be above the upper one."
        case .bounds:
            "Revenue of the installs of these days up to an age, divided by the spend of these days. The lower bound counts a missing value as 0, the upper one as the largest amount of the model. Open windows can still add revenue."
        case .complete:
            "The bounds of the days that expect no more postbacks for this age. Missing values still make it a range."
        case .estimated:
            "Only days that expect no more postbacks for this age. In 90 of 100 cases the true return is in this range, if missing values are like the known values of the same app and window."
        }
    }

    /// The way of a report's `roas_min` and `roas_max`; nil for another measure.
    init?(_ measure: String, of report: String) {
        guard ["roas_min", "roas_max"].contains(measure) else { return nil }
        switch report {
        case Funnel.name: self = .arrived
        case CampaignReturns.name: self = .bounds
        default: return nil
        }
    }
}

/// The estimated return of each campaign through day 7 after the install.
struct EstimatedReturns {
    static let age = "7"
    static let low = "estimate_low"
    static let high = "estimate_high"
    /// An estimate reads every postback of an app, so that it takes as long as the rest of the page. Above this number of
    /// campaigns the table has it only on request.
    static let mostCampaigns = 200

    /// The rows of `roas` over the complete days, with both bounds of the estimate.
    let answer: PageAnswer
    /// The installs and the spend of the same days in one row.
    let total: PageAnswer
    /// The estimated revenue of the same days.
    private let request: ReportAddress

    /// - Parameter estimates: the rows of `revenue-estimates` for the same days.
    init(_ returns: PageAnswer, _ estimates: PageAnswer, total: PageAnswer) {
        request = estimates.request
        self.total = total
        let rows = Dictionary(
            estimates.rows.map { (CampaignTable.key(estimates, $0), $0) },
            uniquingKeysWith: { first, _ in first })
        var answer = returns
        for (name, measure) in [
            (Self.low, "revenue_low_micros"), (Self.high, "revenue_high_micros"),
        ] {
            answer.add(ReportTable.Column(name, isNumber: true), explainedBy: nil) { row in
                guard let found = rows[CampaignTable.key(returns, row)],
                    case .money(let revenue) = estimates.value(found, measure),
                    case .money(let cost) = returns.value(row, "cost_micros")
                else { return .null }
                return revenue.ratio(to: cost)
            }
        }
        self.answer = answer
    }

    /// The page with the estimated revenue of a campaign.
    ///
    /// - Parameter key: the campaign's columns.
    func address(_ key: [ReportRequest.Condition]) -> PageAddress {
        var request = request
        for condition in key where Funnel.campaignColumns.contains(condition.column) {
            request.conditions.removeAll { $0.column == condition.column }
            request.conditions.append(condition)
        }
        return request.address
    }
}

extension PageAnswer {
    /// The day before an exclusive end.
    static func lastDay(_ until: String, in zone: ReportTimeZone) -> String {
        zone.milliseconds(text: until).map { zone.day(milliseconds: $0 - 1) } ?? until
    }

    /// What a return is about: `512 installs of 28 Oct – 14 Nov 2026, spend USD 1,234.00`.
    func writeSubject(_ row: [ReportValue], in zone: ReportTimeZone, to html: inout HTML) {
        let link = NumberLink(self, key: key(of: row), row: row)
        link.write(value(row, "installs"), of: "installs", to: &html)
        let last = request.until.map { Self.lastDay($0, in: zone) }
        let days =
            switch (request.since, last) {
            case (let since?, let last?): PageContext.name(ofDays: since, last)
            case (nil, let last?): "all days until \(PageContext.name(ofDay: last))"
            default: "all days"
            }
        html.text(" installs of \(days), spend ")
        link.write(value(row, "cost_micros"), of: "cost_micros", to: &html)
    }
}

extension PageWriter {
    /// Whether estimates and spend have the same selection. A limited reader has no estimates, because other campaigns
    /// contribute.
    var hasEstimates: Bool {
        let columns = ReportAddress(RevenueEstimates.name).columns
        return context.scope.isEmpty
            && context.chosen.allSatisfy { context.applied($0, to: columns) != nil }
    }

    /// The estimated returns of the selected campaigns; nil without complete days.
    ///
    /// - Parameter isOfAllDays: whether days are those that are complete in all campaigns, as in the table of all.
    func estimatedReturns(isOfAllDays: Bool = false) throws -> EstimatedReturns? {
        guard hasEstimates else { return nil }
        var daily = try limited(
            Self.returns(by: ["day"], through: EstimatedReturns.age), to: self.days)
        // Without a scope, because there are no estimates with one.
        if isOfAllDays {
            daily.conditions.removeAll { Funnel.campaignColumns.contains($0.column) }
        }
        let byDay = try source.answer(daily)
        guard let until = Self.endOfComplete(byDay, byDay.rows) else { return nil }
        let days = (since: days.since, until: Optional(until))
        let returns = try answer(
            Self.returns(by: Funnel.campaignColumns, through: EstimatedReturns.age), days: days)
        let estimates = try answer(Self.estimates(through: EstimatedReturns.age), days: days)
        let total = try answer(Self.returns(by: [], through: EstimatedReturns.age), days: days)
        return EstimatedReturns(returns, estimates, total: total)
    }

    /// The returns on spend through an age; nil for all ages.
    static func returns(by columns: [String], through age: String? = nil) -> ReportAddress {
        var request = ReportAddress(CampaignReturns.name, by: columns)
        request.conditions = through(age)
        return request
    }

    static func estimates(through age: String) -> ReportAddress {
        var request = ReportAddress(RevenueEstimates.name)
        request.conditions = through(age)
        return request
    }

    private static func through(_ age: String?) -> [ReportRequest.Condition] {
        age.map { [.init(column: CampaignReturns.throughDay, value: $0)] } ?? []
    }

    /// The end of the first days of which no install expects more postbacks, as a day; nil without such days. A day
    /// without installs is neither.
    ///
    /// - Parameter rows: rows of `roas` by day, of one age.
    static func endOfComplete(_ answer: PageAnswer, _ rows: [[ReportValue]]) -> String? {
        guard let day = answer.index(of: "day"), let maturity = answer.index(of: "maturity") else {
            return nil
        }
        let shares = rows.compactMap { row in
            ShownValue.amount(row[maturity], in: "maturity").map { (row[day].plainText, $0) }
        }
        let open = shares.filter { $0.1 < 1 }.map(\.0).min()
        let complete = shares.map(\.0).filter { day in open.map { day < $0 } ?? true }.max()
        return complete.flatMap { UTC.milliseconds(text: $0) }.map {
            UTC.day(milliseconds: $0 + PageContext.dayMilliseconds)
        }
    }
}
