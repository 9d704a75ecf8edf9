import ConfigurationValues
import Program
import Reports
import Streams

/// The pages of the navigation, in the order of a typical day.
enum DashboardPage: String, CaseIterable {
    case today, campaigns, cohorts, publisher, subscriptions, postbacks, warnings, partners
    case operation, live

    var path: String { self == .today ? "/" : "/\(rawValue)" }

    var title: String { rawValue.prefix(1).uppercased() + rawValue.dropFirst() }

    var period: PageContext.Period { self == .today ? .day : .month }

    /// Whether it shows the whole instance, so that readers of some campaigns cannot see it.
    var isOfEverything: Bool { [.warnings, .partners, .operation, .live].contains(self) }
}

extension PageWriter {
    mutating func write(_ page: DashboardPage) throws {
        switch page {
        case .today: try writeToday()
        case .campaigns: try writeCampaigns()
        case .cohorts: try writeCohorts()
        case .publisher: try writePublisher()
        case .subscriptions: try writeSubscriptions()
        case .postbacks: try writePostbacks()
        case .warnings: try writeWarnings()
        case .partners: try writePartners()
        case .operation: try writeOperation()
        case .live: try writeLive()
        }
    }

    private static let funnelSums = [
        "bids", "wins", "presented", "clicks", "installs", "cost_micros", "cpi",
        "revenue_min_micros", "revenue_max_micros", "roas_min", "roas_max", "null_rate", "maturity",
    ]

    // MARK: Today

    private mutating func writeToday() throws {
        // Both parts show the same campaigns, which are read once.
        let campaigns = try? answer(
            ReportAddress(
                Funnel.name, by: Funnel.campaignColumns + ["name"], measures: Self.funnelSums))
        try section("Spend and results", Self.aboutIntervals) { page in
            try page.figures(
                ReportAddress(Funnel.name),
                [
                    ("cost_micros", "Spend"), ("installs", "Installs"), ("cpi", "Cost per install"),
                    ("null_rate", "Postbacks without a value"), ("maturity", "Windows closed"),
                ])
            let unpaid = campaigns?.table.installsWithoutCost ?? 0
            if unpaid > 0 {
                page.paragraph(
                    "The cost per install divides by all installs. \(ShownValue.grouped(unpaid)) of them belong to campaigns without a known cost in these days, which lowers it.",
                    class: "note")
            }
            try page.writeEarnings()
        }
        try section(
            "Campaigns \(context.periodName(default: period))",
            "Highest spend first. Click a name to open the campaign."
        ) {
            let answer = try campaigns ?? $0.answer(ReportAddress(Funnel.name))
            try $0.table(answer, sort: "cost_micros", link: $0.campaignLink, limit: 20)
        }
        try section("By day") { page in
            let days = page.context.bounds(default: .month)
            var request = ReportAddress(Funnel.name, by: ["day"], measures: Self.funnelSums)
            request.since = days.since
            let answer = try page.source.answer(page.context.limited(request, to: days))
            try page.table(answer)
        }
        guard context.scope.isEmpty else { return }
        try section("Latest records", "The newest record of each stream.") { page in
            try page.writeStreams()
            let warnings = page.context.address(DashboardPage.warnings.path)
            page.write { html in
                html.element("p") { $0.link("Open warnings", to: warnings) }
            }
        }
    }

    private mutating func writeEarnings() throws {
        try intervals(
            ReportAddress(Funnel.name),
            [
                (
                    "revenue_min_micros", "revenue_max_micros",
                    "Revenue from conversion values"
                ),
                ("roas_min", "roas_max", "Return on spend"),
            ])
    }

    private static let aboutIntervals = """
        Conversion values stand for ranges, so each amount has a lower and an upper bound. Windows that are still open \
        can only increase it.
        """

    // MARK: Campaigns

    /// The page of a campaign's row.
    func campaignLink(_ key: [ReportRequest.Condition]) -> PageAddress? {
        let wanted = key.filter { ["campaign", "app_id", "ad_network_id"].contains($0.column) }
        guard wanted.contains(where: { $0.column == "campaign" && !$0.value.isEmpty }) else {
            return nil
        }
        return context.address("/campaign", wanted.map { ($0.column, $0.value) })
    }

    private mutating func writeCampaigns() throws {
        try section("Spend and revenue by day", Self.aboutIntervals) { page in
            try page.writeCurves(of: ReportAddress(Funnel.name))
        }
        try section(
            "All campaigns", "Click a name to open the campaign, or a number to see its records."
        ) {
            try $0.table(
                ReportAddress(
                    Funnel.name, by: ["ad_network_id", "app_id", "campaign", "name"],
                    measures: Self.funnelSums),
                sort: "cost_micros", link: $0.campaignLink)
        }
        try section("By ad network") {
            try $0.table(
                ReportAddress(Funnel.name, by: ["ad_network_id"], measures: Self.funnelSums),
                sort: "cost_micros")
        }
        try section(
            "Reported costs", "As reported by ad platforms and finance. The last report counts."
        ) {
            try $0.table(
                ReportAddress("costs", by: ["source", "campaign", "currency"]), sort: "cost_micros")
        }
    }

    private mutating func writeCurves(of request: ReportAddress) throws {
        try chart(
            "Installs by day of arrival (dashed: the day is not over)", request,
            [("installs", "installs", "installs")])
        try chart(
            "Revenue by day of arrival, lower to upper bound, and spend", request,
            [
                ("revenue", "revenue_min_micros", "revenue_max_micros"),
                ("spend", "cost_micros", "cost_micros"),
            ])
    }

    /// One campaign, selected by the parameter `campaign`.
    mutating func writeCampaign() throws {
        try section("Funnel", Self.aboutIntervals) { page in
            try page.figures(
                ReportAddress(Funnel.name),
                [
                    ("bids", "Bids"), ("wins", "Wins"), ("presented", "Presented"),
                    ("clicks", "Clicks"), ("installs", "Installs"), ("cost_micros", "Spend"),
                    ("cpi", "Cost per install"), ("null_rate", "Postbacks without a value"),
                ])
            try page.writeEarnings()
            try page.writeCurves(of: ReportAddress(Funnel.name))
        }
        try section("Daily results") {
            try $0.table(ReportAddress(Funnel.name, by: ["day"], measures: Self.funnelSums))
        }
        try section("Bids by source app") {
            try $0.table(
                ReportAddress(
                    "bids", by: ["source_app_id", "currency"],
                    measures: ["bids", "wins", "losses", "billed", "overlay_eligible"]),
                sort: "bids", limit: 20)
        }
        try section("Ads by placement") {
            try $0.table(
                ReportAddress("impressions", by: ["format", "placement"]), sort: "presented",
                limit: 20)
        }
        try section("Clicks by placement") {
            try $0.table(
                ReportAddress("overlay-clicks", by: ["format", "placement"]), sort: "clicks",
                limit: 20)
        }
        try section("Loss reasons") {
            try $0.table(ReportAddress("loss-reasons", by: ["reason"]), sort: "losses", limit: 10)
        }
        try section("Postbacks by verdict") {
            try $0.table(
                ReportAddress(
                    "postbacks",
                    by: ["version", "sequence_index", "conversion_type", "did_win", "verdict"]))
        }
        try section("Conversion values") {
            try $0.table(ReportAddress("conversion-values", by: ["sequence_index", "kind", "value"]))
        }
        try section("Decoded events", "Events and revenue behind the values, by model version.") {
            try $0.table(ReportAddress("decoded-events", by: ["model", "event", "currency"]))
        }
    }

    // MARK: Cohorts

    private mutating func writeCohorts() throws {
        try section(
            "Installs by cohort and window",
            "Cohorts are days on which installs are estimated to have happened. Each window includes the postbacks of earlier windows. Maturity is the share of installs whose window is over."
        ) { page in
            var installs = ReportAddress("install-cohorts", by: ["cohort", "window"])
            installs.curve = true
            installs.measures = ["installs", "postbacks", "null_values"]
            let answer = try page.answer(installs)
            let window = answer.place(of: "window")
            // The last window is cumulative and has the total maturity.
            let last = answer.rows.filter { row in window.map { row[$0] == .integer(2) } ?? false }
            page.draw(
                "Installs by cohort, and postbacks of all windows (dashed: windows are open)",
                answer, last, by: "cohort",
                [
                    ("installs", "installs", "installs"), ("postbacks", "postbacks", "postbacks"),
                    ("null values", "null_values", "null_values"),
                ])
            var request = ReportAddress("install-cohorts", by: ["cohort", "window", "currency"])
            request.curve = true
            try page.table(request)
        }
        try section("Installs by cohort, not cumulative", "Click a number to see its postbacks.") {
            try $0.table(ReportAddress("install-cohorts", by: ["cohort", "window", "currency"]))
        }
        try section(
            "Return on spend by cohort",
            "Revenue up to day 0, 3, 7 and 30 after the estimated day of the install, as bounds. Maturity is the share that is final."
        ) { page in
            try page.table(
                ReportAddress(CampaignReturns.name, by: ["day", "app_id", "campaign", "name"]),
                link: page.campaignLink)
        }
        try section(
            "Buyers by day of first purchase and age in days",
            "Each age includes all earlier ages."
        ) { page in
            var request = ReportAddress("cohorts", by: ["cohort", "age", "currency"])
            request.curve = true
            try page.table(request)
        }
        try section("Buyers by day of first purchase, not cumulative") {
            try $0.table(ReportAddress("cohorts", by: ["cohort", "age", "currency"]))
        }
    }

    // MARK: Publisher

    private mutating func writePublisher() throws {
        try section("From overlay to click") { page in
            try page.figures(
                ReportAddress("bids"),
                [
                    ("overlay_signalled", "Overlays signalled"), ("overlay_requested", "Requested"),
                    ("overlay_eligible", "Eligible"),
                ])
            try page.figures(
                ReportAddress("impressions"),
                [("presented", "Presented"), ("viewed", "Viewed"), ("failed", "Failed")])
            try page.figures(
                ReportAddress("overlay-clicks"),
                [
                    ("user_clicks", "Clicks on overlays and in-app ads"),
                    ("paid_clicks", "On paid recommendations"),
                    ("organic_clicks", "On other recommendations"),
                    ("automatic_clicks", "Automatic, not counted above"),
                    ("altered_urls", "Paid, with an altered URL"),
                ])
        }
        try section(
            "Click rate by placement and format",
            "ctr is clicks / (presented + viewed). A click counts if a person clicked, the overlay was presented, and the SDK and the bid report clicks. clicks is the sum of user_clicks (overlays, in-app ads), paid_clicks and organic_clicks (recommendations)."
        ) {
            try $0.table(
                ReportAddress(ClickRates.name, by: ["format", "placement"]), sort: "presented")
        }
        try section("Ads by placement and format") {
            try $0.table(
                ReportAddress("impressions", by: ["format", "placement"]), sort: "presented")
        }
        try section(
            "Clicks by placement and format",
            "Clicks that no person made, or that must not count, have their own columns: automatic_clicks, early, not_presented, unsupported_sdk, untracked."
        ) {
            try $0.table(
                ReportAddress("overlay-clicks", by: ["format", "placement"]), sort: "clicks")
        }
        try section("Loss reasons", "As reported in loss notices of bidders.") {
            try $0.table(ReportAddress("loss-reasons", by: ["seat", "reason"]), sort: "losses")
        }
        try section(
            "Ad signatures by verdict",
            "By seat of the bidder. Click a number to list its records. A record shows the signed fields and the check that failed."
        ) {
            try $0.table(ReportAddress("bid-signatures", by: ["seat", "ad_network_id", "verdict"]))
        }
        try section("Invalid SKAdNetwork objects in bids") {
            try $0.table(ReportAddress("bid-faults", by: ["ad_network_id", "fault"]), sort: "bids")
        }
        try section("Recommendations", "Received, paid, and viewed within 30 minutes.") {
            var request = ReportAddress("impressions", by: ["placement"])
            request.conditions = [ReportRequest.Condition(column: "format", value: "outbrain")]
            try $0.table(request, sort: "received")
        }
        try section(
            "Fraud signals", "Shares with counts and 95 % intervals. They are not a verdict."
        ) { try $0.table(ReportAddress(FraudSignals.name, by: ["ad_network_id"])) }
    }

    // MARK: Subscriptions

    private mutating func writeSubscriptions() throws {
        let measures = [
            "initial_buys", "trials", "renewals", "recoveries", "renewal_failures",
            "expirations_voluntary", "expirations_billing", "one_time_purchases", "refunds",
            "refund_reversals", "gross_micros", "refunded_micros",
        ]
        try section("By product", "Payments and refunds of customers, by currency.") {
            try $0.table(
                ReportAddress(
                    "store-notifications",
                    by: ["environment", "bundle_id", "product_id", "currency"],
                    measures: measures))
        }
        try section("By day") {
            try $0.table(
                ReportAddress("store-notifications", by: ["day", "currency"], measures: measures))
        }
        try section("By country") {
            try $0.table(
                ReportAddress(
                    "store-notifications", by: ["storefront", "currency"], measures: measures),
                sort: "gross_micros")
        }
    }

    // MARK: Postbacks

    private mutating func writePostbacks() throws {
        try section("By verdict, network and version") {
            try $0.table(
                ReportAddress(
                    "postbacks", by: ["framework", "version", "ad_network_id", "verdict"]),
                sort: "postbacks")
        }
        try section("By day") { page in
            try page.chart(
                "Postbacks by day, with and without a value", ReportAddress("postbacks"),
                [
                    ("postbacks", "postbacks", "postbacks"),
                    ("null values", "null_values", "null_values"),
                ])
            try page.table(ReportAddress("postbacks", by: ["day", "verdict"]))
        }
        try section("By country and marketplace", "AdAttributionKit only.") {
            try $0.table(ReportAddress("postbacks", by: ["marketplace", "country"]), sort: "postbacks")
        }
        guard context.scope.isEmpty else { return }
        try section(
            "Conflicting copies",
            "Among copies of equal rank, the first counts. Click a record to see its bytes."
        ) {
            try $0.writeRefusals("conflicts")
        }
        try section("Untrusted copies") {
            try $0.writeRefusals("untrusted")
        }
        try section("Network copies compared with developer copies") { page in
            var question = ReconciliationQuery()
            question.request.grouping = .columns(["ad_network_id"])
            question.trustsDevelopment = try page.source.installation.configuration
                .trustsDevelopment()
            let found = try page.source.stores.reconciliation(question)
            for notice in found.notices { page.paragraph(notice, class: "note") }
            page.write { ReportView.write(found.table, to: &$0) }
            let words = ["weir", "reconcile", "--by", "ad_network_id"] + page.source.clockWords
            page.write { $0.element("pre", text: ShellWords.text(words)) }
        }
    }
}

/// A report that does not link its numbers to explanations.
enum ReportView {
    /// - Parameters:
    ///   - text: the text of a cell, by row and column; nil to show the value as a name.
    ///   - link: the target of a cell's link.
    static func write(
        _ table: ReportTable, to html: inout HTML,
        text: ((_ row: Int, _ column: Int) -> String)? = nil,
        link: (_ row: Int, _ column: Int) -> PageAddress? = { _, _ in nil }
    ) {
        guard !table.rows.isEmpty else {
            return html.element("p", ["class": "empty"], text: "None.")
        }
        html.element("div", ["class": "scroll"]) { html in
            html.element("table") { html in
                html.element("thead") { html in
                    html.element("tr") { html in
                        for column in table.columns {
                            html.element(
                                "th", ["scope": "col", "class": column.isNumber ? "number" : nil],
                                text: ShownValue.heading(column.name))
                        }
                    }
                }
                html.element("tbody") { html in
                    for row in table.rows.indices {
                        html.element("tr") { html in
                            for column in table.columns.indices {
                                cell(row, column, of: table, text, link, to: &html)
                            }
                        }
                    }
                }
            }
        }
    }

    private static func cell(
        _ row: Int, _ column: Int, of table: ReportTable, _ text: ((Int, Int) -> String)?,
        _ link: (Int, Int) -> PageAddress?, to html: inout HTML
    ) {
        let shown =
            text?(row, column)
            ?? ShownValue.text(
                table.rows[row][column], in: table.columns[column].name, isKey: true)
        let name = table.columns[column].isNumber ? "number" : nil
        html.element("td", ["class": name]) { html in
            if let target = link(row, column) {
                html.link(shown, to: target)
            } else {
                html.text(shown)
            }
        }
    }
}
