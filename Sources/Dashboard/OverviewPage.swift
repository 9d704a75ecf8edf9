import ConfigurationValues
import Foundation
import Program
import Reports
import Streams
import Wording

// The overview: results with their change, the funnel as a picture, the largest changes, warnings and streams.

extension PageWriter {
    /// The measures of tables of campaigns and days.
    static let funnelSums = [
        "bids", "wins", "presented", "clicks", "installs", "cost_micros", "cpi",
        "revenue_min_micros", "revenue_max_micros", "roas_min", "roas_max", "null_rate", "maturity",
    ]
    /// The measures of a table of campaigns: a campaign with re-engagements only is marked.
    static let campaignSums = funnelSums + ["redownloads", "reengagements"]
    static let campaignColumns = Funnel.campaignColumns + ["name"]

    static let aboutIntervals = """
        Conversion values stand for ranges, so each amount has a lower and an upper bound. Both are of known values: \
        a missing value counts as 0, so the true revenue can be above the upper bound. Windows that are still open can \
        only increase it.
        """

    /// Says how the return of the cards differs from that by day 7.
    static let aboutReturn =
        "Return \(ReturnKind.arrived.title): \(ReturnKind.arrived.note) Installs count on the day on which their postback arrived."

    static let resultCards = [
        Card("Spend", "cost_micros"), Card("Installs", "installs", .good),
        Card("Cost per install", "cpi", .bad),
        Card(
            "Revenue of known values", "revenue_min_micros", "revenue_max_micros", .good),
        Card("Return \(ReturnKind.arrived.title)", "roas_min", "roas_max", .good),
        Card("Postbacks without a value", "null_rate", .bad),
    ]

    /// The days of small lines and charts: those of the page, or four weeks up to their end if they are fewer.
    var lineDays: PageContext.Days {
        let (days, zone) = (self.days, context.timeZone)
        guard let since = days.since.flatMap(zone.milliseconds(text:)),
            let until = days.until.flatMap(zone.milliseconds(text:)),
            until < zone.shifted(milliseconds: since, days: 7)
        else { return days }
        let first = zone.shifted(milliseconds: until, days: -28)
        return (zone.day(milliseconds: first), days.until)
    }

    /// The funnel by day, for lines.
    mutating func dailyFunnel(_ measures: [String] = funnelSums) throws -> PageAnswer {
        var answer = try answer(
            ReportAddress(Funnel.name, by: ["day"], measures: measures), days: lineDays)
        answer.orderNaturally()
        return answer
    }

    mutating func writeOverview() throws {
        writeWarningCount()
        if context.scope.isEmpty { writeOutlyingCampaigns() }
        try writeChosenCountry()
        let daily = try? dailyFunnel()
        // Several parts show the same campaigns, which are read once.
        let campaigns = try? answer(
            ReportAddress(Funnel.name, by: Self.campaignColumns, measures: Self.campaignSums))
        try section("Spend and results") { page in
            try page.cards(ReportAddress(Funnel.name), Self.resultCards, days: daily)
            try page.writeMaturity()
            page.paragraph(Self.aboutReturn, class: "note")
            if let note = campaigns?.noteOnMissingCost { page.paragraph(note, class: "note") }
        }
        try section(
            "From bid to paid subscriber",
            "Each step counts its own events of these days, so installs can follow clicks of earlier days, or ads of networks that report no clicks. Lengths of bars are logarithmic."
        ) { try $0.writeFunnel() }
        try section("Spend and revenue by day", Self.aboutIntervals) { page in
            let answer = try daily ?? page.dailyFunnel()
            try page.chart(
                "Revenue of known values by day of arrival, lower to upper bound, and spend",
                answer,
                [
                    ("revenue", "revenue_min_micros", "revenue_max_micros"),
                    ("spend", "cost_micros", "cost_micros"),
                ], over: page.lineDays)
            page.files(of: answer)
        }
        if context.compared(default: period) != nil {
            try section("What moved most") { try $0.writeMovers() }
        }
        try section("Campaigns", "Highest spend first. Click a name to open the campaign.") {
            let answer =
                try campaigns
                ?? $0.answer(
                    ReportAddress(
                        Funnel.name, by: Self.campaignColumns, measures: Self.campaignSums))
            try $0.writeShortCampaignTable(answer)
        }
        guard context.scope.isEmpty else { return }
        try section("Open warnings") { try $0.writeOpenWarnings() }
        try section("Streams", Self.aboutCompleteness) {
            try $0.writeStreams()
            let address = $0.addressWithDays(DashboardPage.streams.path)
            $0.write { html in
                html.element("p") { $0.link("Lag, silent periods and stores", to: address) }
            }
        }
    }

    /// How complete the shown days are.
    mutating func writeMaturity() throws {
        let answer = try answer(ReportAddress(Funnel.name, measures: ["maturity"]))
        guard let value = answer.only("maturity"),
            let share = ShownValue.amount(value, in: "maturity")
        else { return }
        let shown = ShownValue.text(value, in: "maturity", isKey: false)
        paragraph(
            share < 1
                ? "Windows closed: \(shown), each window of a day once, whatever its installs. The data is still incomplete: more postbacks of these installs can arrive, and only increase revenue."
                : "Windows closed: \(shown). No more postbacks of these installs are expected.",
            class: "note")
    }

    // MARK: The funnel as a picture

    private struct Step {
        let title: String
        let measure: String
        /// The share of the previous step.
        var rate: (measure: String, words: String)?
        var isOfApps = false
    }

    private static let steps = [
        Step(title: "Bids", measure: "bids"),
        Step(title: "Wins", measure: "wins", rate: ("win_rate", "of bids")),
        Step(title: "Ads presented", measure: "presented"),
        Step(title: "Clicks", measure: "clicks", rate: ("ctr", "of ads")),
        Step(title: "Installs", measure: "installs", rate: ("install_rate", "of clicks")),
        Step(title: "Trials and first purchases", measure: "buyers", isOfApps: true),
        Step(
            title: "Trials of these days that became paid", measure: "trial_conversions",
            isOfApps: true),
    ]

    private mutating func writeFunnel() throws {
        let steps = Self.steps
        let answer = try answer(
            ReportAddress(
                Funnel.name,
                measures: steps.filter { !$0.isOfApps }.flatMap { step in
                    [step.measure] + [step.rate?.measure].compactMap(\.self)
                }))
        // Cohorts have no campaign, so readers of some campaigns do not see them.
        let cohorts = ReportAddress("cohorts", measures: ["buyers", "trials", "trial_conversions"])
        let isSelected = context.chosen.allSatisfy {
            context.applied($0, to: cohorts.columns) != nil
        }
        let buyers = isSelected ? try? self.answer(cohorts) : nil
        let shown = steps.compactMap { step -> (step: Step, answer: PageAnswer, amount: Double)? in
            guard let answer = step.isOfApps ? buyers : answer,
                let value = answer.only(step.measure),
                let amount = ShownValue.amount(value, in: step.measure)
            else { return nil }
            return (step, answer, amount)
        }
        let most = shown.map(\.amount).max() ?? 0
        guard most > 0 else { return writeNoRows() }
        write { html in
            html.table(named: "From bid to paid subscriber", class: "funnel") { html in
                html.element("thead") { html in
                    html.element("tr") { html in
                        for title in ["Step", "Events", "Rate", "Log scale"] {
                            html.element(
                                "th",
                                [
                                    "scope": "col",
                                    "class": ["Events", "Rate"].contains(title) ? "number" : nil,
                                ], text: title)
                        }
                    }
                }
                html.element("tbody") { html in
                    for (step, answer, amount) in shown {
                        Self.write(step, answer, amount, most, to: &html)
                    }
                }
            }
        }
        if shown.contains(where: \.step.isOfApps) {
            paragraph(
                "The last two steps are buyers of the apps, with and without an ad: the App Store does not report their campaign.",
                class: "note")
        }
        files(of: answer)
    }

    private static func write(
        _ step: Step, _ answer: PageAnswer, _ amount: Double, _ most: Double, to html: inout HTML
    ) {
        let link = NumberLink(answer)
        html.element("tr") { html in
            html.element("th", ["scope": "row"], text: step.title)
            html.element("td", ["class": "number"]) { html in
                link.write(answer.only(step.measure), of: step.measure, to: &html)
            }
            html.element("td", ["class": "number"]) { html in
                // More installs than clicks mean that not all ads are reported to Weir.
                guard let rate = step.rate, let value = answer.only(rate.measure),
                    ShownValue.amount(value, in: rate.measure) ?? 0 <= 1
                else { return }
                link.write(answer.only(rate.measure), of: rate.measure, to: &html)
                html.text(" \(rate.words)")
            }
            html.element("td", ["class": "bar"]) { html in
                Bar.write(share: Bar.logarithmic(amount, of: most), to: &html)
            }
        }
    }

    // MARK: Warnings

    /// The number of open warnings, with a link. The section below has the reason if they cannot be judged.
    private mutating func writeWarningCount() {
        guard context.scope.isEmpty, source.installation.pipelines.hasWatch,
            let open = try? warnings(ofDays: 0).open, !open.isEmpty
        else { return }
        let address = context.address(DashboardPage.warnings.path)
        write { html in
            html.element("p", ["class": "state"]) {
                $0.link(counted(open.count, "open warning"), to: address)
            }
        }
    }

    /// The row of a warning, with names.
    func seriesInWords(_ warning: WatchWarning) -> String {
        let names = source.names(for: context.scope)
        return warning.series.map { condition in
            let name = names.name(condition.value, in: condition.column) { column in
                warning.series.first { $0.column == column }?.value
            }
            return "\(ShownValue.heading(condition.column)) \(name ?? condition.value)"
        }.joined(separator: ", ")
    }

    /// The most urgent warnings, with a link to all.
    private mutating func writeOpenWarnings() throws {
        let address = context.address(DashboardPage.warnings.path)
        guard source.installation.pipelines.hasWatch else {
            return paragraph(
                "Nothing is watched, because watch.yaml does not exist.", class: "empty")
        }
        let open = try warnings(ofDays: 0).open
        guard !open.isEmpty else { return paragraph("No open warnings.", class: "good") }
        let rows = open.prefix(5).map { ($0, seriesInWords($0)) }
        write { html in
            html.element("ul", ["class": "list"]) { html in
                for (warning, row) in rows {
                    html.element("li") { html in
                        html.element("b", text: warning.rule)
                        html.text(" \(row): \(warning.words)")
                    }
                }
            }
            html.element("p") {
                $0.link(
                    open.count > 5 ? "All \(open.count) warnings" : "Warnings", to: address)
            }
        }
    }

    /// The open warnings, and those that closed in so many days.
    func warnings(ofDays days: Int64) throws -> WatchReport {
        let installation = source.installation
        let file = try installation.pipelines.watch()
        let now = try installation.present.milliseconds
        var report = try source.stores.watch(
            Watch(file), nowMilliseconds: now,
            sinceMilliseconds: days > 0 ? now - days * PageContext.dayMilliseconds : nil)
        try report.add(file.failures, in: installation.deliveryStores())
        return report
    }
}

/// A bar in a cell.
enum Bar {
    private static let width = 160.0

    static func write(share: Double, to html: inout HTML) {
        write(from: 0, to: share, to: &html)
    }

    /// A bar between two shares of the width, with a mark at a third one.
    static func write(
        from low: Double, to high: Double, mark: Double? = nil, style: String = "",
        to html: inout HTML
    ) {
        func x(_ share: Double) -> Double { min(max(share, 0), 1) * width }
        html.element(
            "svg",
            [
                "class": "bar \(style)", "viewBox": "0 0 \(Int(width)) 10", "aria-hidden": "true",
                "preserveAspectRatio": "none",
            ]
        ) { html in
            html.element(
                "rect",
                [
                    "class": "fill", "x": Chart.text(x(low)), "y": "1", "height": "8",
                    "width": Chart.text(max(x(high) - x(low), 1.5)),
                ])
            guard let mark else { return }
            html.element(
                "line",
                [
                    "class": "mark", "x1": Chart.text(x(mark)), "x2": Chart.text(x(mark)),
                    "y1": "0", "y2": "10",
                ])
        }
    }

    /// The share of a logarithmic scale.
    static func logarithmic(_ amount: Double, of most: Double) -> Double {
        most > 0 ? log(amount + 1) / log(most + 1) : 0
    }
}
