import Reports

/// A column of the table of campaigns.
struct CampaignColumn {
    enum Content {
        case trend
        case measure(String)
        /// The change of a measure against the compared days.
        case change(String)
        case interval(low: String, high: String)
        /// The bounds of the return through day 7 after the install, from `roas`.
        case returns
        /// The same return with missing values estimated.
        case estimate
        /// The share of installs that expect no more postbacks through day 7.
        case complete
        /// Whether the campaign reaches its target.
        case target
    }

    /// Its name in addresses.
    let id: String
    let title: String
    /// Explains the title.
    var note = ""
    let content: Content
    var isDefault = false

    var isSortable: Bool { if case .trend = content { false } else { true } }

    /// Whether it reads `revenue-estimates`.
    var isEstimated: Bool {
        switch content {
        case .estimate, .target: true
        default: false
        }
    }

    /// On pages with other parts.
    static let short: [CampaignColumn] = all.filter {
        ["spend", "installs", "cpi", "revenue", "roas", "null_rate"].contains($0.id)
    }

    static let all: [CampaignColumn] = [
        CampaignColumn(
            id: "trend", title: "Installs by day", content: .trend, isDefault: true),
        CampaignColumn(
            id: "spend", title: "Spend", content: .measure("cost_micros"), isDefault: true),
        CampaignColumn(
            id: "spend_change", title: "Change of spend", note: "Compared with the earlier days",
            content: .change("cost_micros")),
        CampaignColumn(
            id: "installs", title: "Installs",
            note: "First downloads, on the day on which their postback arrived",
            content: .measure("installs"), isDefault: true),
        CampaignColumn(
            id: "installs_change", title: "Change of installs",
            note: "Compared with the earlier days", content: .change("installs")),
        CampaignColumn(
            id: "cpi", title: "Cost per install", content: .measure("cpi"), isDefault: true),
        CampaignColumn(
            id: "target", title: "Against target",
            note:
                "Compares the return by day 7, or else the cost per install, with the target in catalog.yaml",
            content: .target, isDefault: true),
        CampaignColumn(
            id: "roas_7_estimated", title: "Return by day 7, \(ReturnKind.estimated.title)",
            note: ReturnKind.estimated.note, content: .estimate, isDefault: true),
        CampaignColumn(
            id: "roas_7", title: "Return by day 7, \(ReturnKind.bounds.title)",
            note: ReturnKind.bounds.note, content: .returns, isDefault: true),
        CampaignColumn(
            id: "complete_7", title: "Installs complete",
            note: "Share of the installs of these days that expect no more postbacks until day 7",
            content: .complete, isDefault: true),
        CampaignColumn(
            id: "revenue", title: "Revenue",
            note:
                "Of known values in postbacks that arrived on these days. A missing value counts as 0 in both bounds.",
            content: .interval(low: "revenue_min_micros", high: "revenue_max_micros"),
            isDefault: true),
        CampaignColumn(
            id: "roas", title: "Return \(ReturnKind.arrived.title)", note: ReturnKind.arrived.note,
            content: .interval(low: "roas_min", high: "roas_max")),
        CampaignColumn(
            id: "null_rate", title: "Without value",
            note: "Share of postbacks without a conversion value",
            content: .measure("null_rate"), isDefault: true),
        CampaignColumn(
            id: "maturity", title: "Windows closed",
            note:
                "Share of the periods in which postbacks can arrive that are over. Each period of a day counts once, whatever its installs.",
            content: .measure("maturity")),
        CampaignColumn(id: "bids", title: "Bids", content: .measure("bids")),
        CampaignColumn(id: "wins", title: "Wins", content: .measure("wins")),
        CampaignColumn(id: "win_rate", title: "Win rate", content: .measure("win_rate")),
        CampaignColumn(id: "presented", title: "Presented", content: .measure("presented")),
        CampaignColumn(id: "clicks", title: "Clicks", content: .measure("clicks")),
        CampaignColumn(
            id: "ctr", title: "Click rate", note: ShownValue.note("ctr") ?? "",
            content: .measure("ctr")),
        CampaignColumn(
            id: "install_rate", title: "Installs per click",
            note: ShownValue.note("install_rate") ?? "", content: .measure("install_rate")),
        CampaignColumn(id: "postbacks", title: "Postbacks", content: .measure("postbacks")),
    ]
}

/// The answers from which the table of campaigns is written.
struct CampaignAnswers {
    var now: PageAnswer
    let total: PageAnswer
    /// The compared part of the shown days, and the days before; nil without a comparison.
    let compared: (now: PageAnswer, before: PageAnswer)?
    /// Through day 7; nil when it cannot be computed.
    let returns: PageAnswer?
    let totalReturns: PageAnswer?
    let days: PageAnswer?
    /// The days with postbacks; on others, installs are unknown.
    var recordDays: RecordDays?
    /// Nil if no shown column needs it. Without complete days it contains nil.
    var estimated: Result<EstimatedReturns?, any Error>?
    /// Costs per install in the currencies of the spend, which targets have; nil if `now` has them.
    var recordedCosts: [[ReportRequest.Condition]: Double]?

    var estimates: EstimatedReturns? { (try? estimated?.get()) ?? nil }

    /// A cost per install to compare with a target; nil if it has several currencies.
    func recordedCost(_ row: [ReportValue]?) -> Double? {
        guard let recordedCosts else { return CampaignTable.amount(now, row, "cpi") }
        return row.flatMap { recordedCosts[now.key(of: $0)] }
    }
}
