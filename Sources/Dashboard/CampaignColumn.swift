import Reports

/// A column of the table of campaigns.
struct CampaignColumn {
    enum Content {
        case trend
        case measure(String)
        /// The change of a measure against the compared days.
        case change(String)
        case interval(low: String, high: String)
        /// The return through day 7 after the install, from `roas`.
        case returns
    }

    /// Its name in addresses.
    let id: String
    let title: String
    /// Explains the title.
    var note = ""
    let content: Content
    var isDefault = false

    /// The measure of the funnel that orders it; nil for a column without an order.
    var order: String? {
        switch content {
        case .trend: nil
        case .measure(let name), .change(let name): name
        case .interval(let low, _): low
        case .returns: "roas_min"
        }
    }

    /// On pages with other parts.
    static let short: [CampaignColumn] = all.filter {
        ["spend", "installs", "cpi", "revenue", "roas", "null_rate", "maturity"].contains($0.id)
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
            id: "installs", title: "Installs", content: .measure("installs"), isDefault: true),
        CampaignColumn(
            id: "installs_change", title: "Change of installs",
            note: "Compared with the earlier days", content: .change("installs")),
        CampaignColumn(
            id: "cpi", title: "Cost per install", content: .measure("cpi"), isDefault: true),
        CampaignColumn(
            id: "roas_7", title: "Return by day 7",
            note: "Lowest and highest possible return of the installs of these days",
            content: .returns, isDefault: true),
        CampaignColumn(
            id: "revenue", title: "Revenue", note: "From postbacks that arrived on these days",
            content: .interval(low: "revenue_min_micros", high: "revenue_max_micros"),
            isDefault: true),
        CampaignColumn(
            id: "roas", title: "Return on spend",
            note:
                "Revenue of postbacks that arrived on these days, divided by the spend of these days",
            content: .interval(low: "roas_min", high: "roas_max")),
        CampaignColumn(
            id: "null_rate", title: "Without value",
            note: "Share of postbacks without a conversion value",
            content: .measure("null_rate"), isDefault: true),
        CampaignColumn(
            id: "maturity", title: "Windows closed",
            note: "Share of the periods in which postbacks can arrive that are over",
            content: .measure("maturity"), isDefault: true),
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
}
