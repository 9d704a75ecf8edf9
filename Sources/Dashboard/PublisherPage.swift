import Reports
import Streams

// The page of an app that shows ads: what it earns, how ads lead to clicks, and what is wrong with them.

extension PageWriter {
    mutating func writePublisher() throws {
        let titles = [
            "Earnings", "Earnings by source app", "Earnings by buyer", "From overlay to click",
            "Click rate by placement",
            "Loss reasons", "Ad signatures by verdict", "Fraud signals",
        ]
        writeContents(titles)
        paragraph(
            "A source app shows ads. The filter App is the advertised app, as on all pages.",
            class: "note")
        try section(
            "Earnings",
            "Earnings are the prices of billing notices: each is for a thousand ads (CPM), so an ad earns a thousandth. Win rate is wins / bids, average CPM is 1,000 × earnings / billed."
        ) { try $0.writeEarnings() }
        try section("Earnings by source app") {
            try $0.writeEarnings(by: PageContext.sourceApp)
        }
        try section("Earnings by buyer") { try $0.writeEarnings(by: "seat") }
        try section("From overlay to click") { try $0.writeOverlayCards() }
        try section(
            "Click rate by placement",
            "Click rate is clicks / (presented + viewed). A click counts if a person clicked, the overlay was presented, and the SDK and the bid report clicks. clicks is the sum of user_clicks (overlays, in-app ads), paid_clicks and organic_clicks (recommendations). Clicks that no person made, or that must not count, have their own columns: automatic_clicks, early, not_presented, unsupported_sdk, untracked. The 95 % interval of a click rate is computed from its counts (Wilson): rates whose intervals overlap may be equal."
        ) { try $0.writePlacements() }
        try section("Loss reasons", "As reported in loss notices of bidders.") {
            try $0.writeLossReasons()
        }
        try section(
            "Ad signatures by verdict",
            "By seat of the bidder. Click a number to list its records. A record shows the signed fields and the check that failed."
        ) {
            try $0.table(ReportAddress("bid-signatures", by: ["seat", "ad_network_id", "verdict"]))
        }
        try sectionOrLine(
            "Invalid SKAdNetwork objects in bids", nil,
            ReportAddress("bid-faults", by: ["ad_network_id", "fault"]), sort: "bids")
        var recommendations = ReportAddress("impressions", by: ["placement"])
        recommendations.conditions = [.init(column: "format", value: "outbrain")]
        try sectionOrLine(
            "Recommendations", "Received, paid, and viewed within 30 minutes.", recommendations,
            sort: "received")
        try section(
            "Fraud signals",
            "Shares with counts and 95 % intervals, the highest certain share first. They are not a verdict. An interval is computed from the two counts beside it (Wilson)."
        ) { try $0.writeFraudSignals(by: ["ad_network_id"], fewest: Self.fewestRecords) }
    }

    /// The apps that have shown ads on these days, whatever the filters.
    func sourceApps() -> [String] {
        var context = context
        context.isFiltered = false
        let request = ReportAddress("bids", by: [PageContext.sourceApp], measures: ["bids"])
        guard let limited = try? context.limited(request, to: days),
            let answer = try? source.answer(limited)
        else { return [] }
        return answer.rows(largest: "bids").map {
            answer.value($0, PageContext.sourceApp).plainText
        }
        .filter { !$0.isEmpty && $0 != "0" }
    }

    // MARK: Earnings

    /// Overlays only: other ads have no billing notices.
    private static var overlays: ReportAddress {
        var request = ReportAddress(ClickRates.name)
        request.conditions = [.init(column: "format", value: "skoverlay")]
        return request
    }

    private mutating func writeEarnings() throws {
        try cards([
            CardGroup(
                ReportAddress("bids"),
                [
                    Card("Earnings", "earnings_micros", .good),
                    Card("Average CPM", "average_cpm", .good),
                ],
                [.of(.earnings), .averageCPM]),
            CardGroup(
                ReportAddress("bids"),
                [
                    Card("Auctions", "auctions"), Card("Bids", "bids"),
                    Card("Win rate", "win_rate", .good), Card("Ads billed", "billed", .good),
                ], [.of(.winRate)], keepsZeros: true),
            CardGroup(
                Self.overlays, [Card("Ads presented (overlays)", "presented", .good)],
                keepsZeros: true),
        ])
        try writeDiscrepancy()
        var daily = try answer(
            ReportAddress("bids", by: ["day"], measures: DerivedMeasure.earnings.parts))
        daily.add([.of(.earnings)])
        try chart(
            "Earnings by day", daily, [("earnings", "earnings_micros", "earnings_micros")],
            over: days)
        files(of: daily)
    }

    /// How the publisher's own count of ads differs from the buyers'.
    private mutating func writeDiscrepancy() throws {
        guard let bids = try unlessMissing(ReportAddress("bids", measures: ["billed"])) else {
            return
        }
        var overlays = ReportAddress("impressions", measures: ["presented", "failed"])
        overlays.conditions = Self.overlays.conditions
        guard let ads = try unlessMissing(overlays) else { return }
        func count(_ measure: String, _ answer: PageAnswer) -> Int128 {
            if case .integer(let count)? = answer.only(measure) { count } else { 0 }
        }
        let (billed, presented) = (count("billed", bids), count("presented", ads))
        guard billed > 0, presented > 0 else { return }
        let failed = count("failed", ads)
        write { html in
            html.element("p", ["class": "note"]) { html in
                html.text("Discrepancy: ")
                func link(_ count: Int128, _ measure: String, _ answer: PageAnswer) {
                    NumberLink(answer, row: answer.rows.first).write(
                        .integer(count), of: measure, to: &html)
                }
                link(billed, "billed", bids)
                html.text(" ads were billed, ")
                link(presented, "presented", ads)
                html.text(" overlays were presented, and ")
                link(failed, "failed", ads)
                html.text(" failed to be presented. \(Self.discrepancy(billed, presented))")
            }
        }
    }

    /// What follows from the counts alone.
    static func discrepancy(_ billed: Int128, _ presented: Int128) -> String {
        let difference = presented - billed
        let size = ShownValue.grouped(Int128(difference.magnitude))
        let share = ShownValue.text(
            .ratio(Int128(difference.magnitude), billed), in: "share", isKey: false)
        let separate =
            "Billing notices and presentations are counted separately, so which ads differ is unknown. An ad can be billed and presented on different days."
        guard difference != 0 else { return "As many were presented as billed. \(separate)" }
        return difference < 0
            ? "At least \(size) billed ads (\(share) of those billed) were not presented in these days. \(separate)"
            : "At least \(size) presented ads (\(share) of those billed) were not billed in these days. \(separate)"
    }

    private mutating func writeLossReasons() throws {
        let request = ReportAddress("loss-reasons")
        try cards([
            CardGroup(request, [Card("Losses", "losses")], keepsZeros: true)
        ])
        for by in [["reason"], ["seat", "reason"]] {
            let isBySeat = by.contains("seat")
            write { $0.element("h3", text: isBySeat ? "By buyer" : "All buyers") }
            if isBySeat {
                paragraph("Share of losses is that of the buyer's own losses.", class: "note")
            }
            var losses = try answer(ReportAddress("loss-reasons", by: by))
            Self.addShares(to: &losses)
            try table(losses, sort: "losses")
        }
    }

    /// Adds the share of each reason in all losses, or in those of its buyer.
    private static func addShares(to losses: inout PageAnswer) {
        let all = losses
        func count(_ row: [ReportValue]) -> Int128 {
            if case .integer(let count) = all.value(row, "losses") { count } else { 0 }
        }
        func seat(_ row: [ReportValue]) -> String { all.value(row, "seat").plainText }
        let totals = Dictionary(grouping: all.rows, by: seat).mapValues { rows in
            rows.reduce(Int128(0)) { $0 + count($1) }
        }
        losses.add(.init("share_of_losses", isNumber: true), explainedBy: nil) { row in
            .ratio(count(row), totals[seat(row)] ?? 0)
        }
    }

    private mutating func writeEarnings(by column: String) throws {
        let counts = ["bids", "wins", "billed"]
        let request = ReportAddress(
            "bids", by: [column], measures: counts + DerivedMeasure.earnings.parts)
        var earnings = try answer(request)
        earnings.add([.of(.winRate), .of(.earnings), .averageCPM])
        earnings.show(["bids", "wins", "win_rate", "billed", "earnings_micros", "average_cpm"])
        try table(earnings, sort: "earnings_micros")
    }

    // MARK: Ads and clicks

    private mutating func writeOverlayCards() throws {
        try cards([
            CardGroup(
                ReportAddress("bids"),
                [
                    Card("Overlays signalled", "overlay_signalled"),
                    Card("Requested", "overlay_requested"), Card("Eligible", "overlay_eligible"),
                ], joinsEqual: true),
            CardGroup(
                ReportAddress("impressions"),
                [
                    Card("Presented, all formats", "presented", .good),
                    Card("Failed", "failed", .bad),
                ], keepsZeros: true),
            CardGroup(ReportAddress("impressions"), [Card("Viewed", "viewed", .good)]),
            CardGroup(
                ReportAddress("overlay-clicks"),
                [
                    Card("Clicks on overlays and in-app ads", "user_clicks", .good),
                    Card("Automatic, not counted as clicks", "automatic_clicks", .bad),
                ], keepsZeros: true),
            CardGroup(
                ReportAddress("overlay-clicks"),
                [
                    Card("On paid recommendations", "paid_clicks", .good),
                    Card("On other recommendations", "organic_clicks", .good),
                    Card("Paid, with an altered URL", "altered_urls", .bad),
                ]),
        ])
    }

    /// Shown ads, clicks and their rate in one table.
    private mutating func writePlacements() throws {
        let keys = ["format", "placement"]
        let sort = try choice("sort", of: ["presented", ClickRates.rate], label: "Sort by")
        var rates = try answer(ReportAddress(ClickRates.name, by: keys))
        rates.addInterval(ShareParts(over: ["clicks"], under: ["presented", "viewed"]))
        var answers: [PageAnswer] = []
        if let ads = try unlessMissing(ReportAddress("impressions", by: keys)) {
            rates.show(
                ClickRates.measureNames.filter { ads.index(of: $0) == nil } + [ShareParts.column])
            answers.append(ads)
        }
        answers.append(rates)
        if var clicks = try unlessMissing(ReportAddress("overlay-clicks", by: keys)) {
            clicks.show(
                OverlayClicksKey.table.measures.filter { !ClickRates.measureNames.contains($0) })
            answers.append(clicks)
        }
        let table = JoinedTable(answers, sort: sort)
        for notice in rates.notices { writeNotices([notice]) }
        guard !table.isEmpty else {
            writeNoRows()
            return files(of: rates)
        }
        let title = sectionTitle
        write { table.write(named: title, to: &$0) }
        writeConstants(table.constantKeys)
        writeMoreRows(table.moreRows)
        files(of: answers.map(\.request))
    }

    /// The answer to a request; nil without a store.
    mutating func unlessMissing(_ request: ReportAddress) throws -> PageAnswer? {
        do { return try answer(request) } catch InspectionError.noStore { return nil }
    }

    // MARK: Faults

    /// A section with a table; one line if the table has no rows.
    private mutating func sectionOrLine(
        _ title: String, _ note: String?, _ request: ReportAddress, sort: String
    ) throws {
        var found = try? answer(request)
        found?.leaveOutEmptyRows()
        guard let found, found.rows.isEmpty else {
            return try section(title, note) { try $0.table(request, sort: sort) }
        }
        let isFiltered = !context.chosen.isEmpty
        write { html in
            html.element("p", ["class": "note"]) { html in
                html.text("\(title): none for these days\(isFiltered ? " and filters" : ""). ")
                html.link("This table on its own page", to: found.request.address)
            }
        }
    }
}
