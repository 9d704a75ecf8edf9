import Reports
import Streams

// The page of an app that shows ads: what it earns, how ads lead to clicks, and what is wrong with them.

extension PageWriter {
    mutating func writePublisher() throws {
        try section(
            "Earnings",
            "Earnings are the prices of billing notices: each is for a thousand ads (CPM), so an ad earns a thousandth. Win rate is wins / bids, average CPM is 1,000 × earnings / billed."
        ) { try $0.writeEarnings() }
        try section("Earnings by buyer") { try $0.writeBuyers() }
        try section("From overlay to click") { try $0.writeOverlayCards() }
        try section(
            "Click rate by placement",
            "Click rate is clicks / (presented + viewed). A click counts if a person clicked, the overlay was presented, and the SDK and the bid report clicks. clicks is the sum of user_clicks (overlays, in-app ads), paid_clicks and organic_clicks (recommendations). Clicks that no person made, or that must not count, have their own columns: automatic_clicks, early, not_presented, unsupported_sdk, untracked."
        ) { try $0.writePlacements() }
        try section("Loss reasons", "As reported in loss notices of bidders.") {
            try $0.table(ReportAddress("loss-reasons", by: ["seat", "reason"]), sort: "losses")
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
            "Shares with counts and 95 % intervals, the highest certain share first. They are not a verdict."
        ) { try $0.writeFraudSignals() }
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
                [.earnings, .averageCPM]),
            CardGroup(
                ReportAddress("bids"),
                [
                    Card("Auctions", "auctions"), Card("Bids", "bids"),
                    Card("Win rate", "win_rate", .good), Card("Ads billed", "billed", .good),
                ], [.of(.winRate)]),
            CardGroup(Self.overlays, [Card("Ads presented (overlays)", "presented", .good)]),
        ])
        try writeDiscrepancy()
        var daily = try answer(
            ReportAddress("bids", by: ["day"], measures: DerivedColumn.earnings.parts))
        daily.add([.earnings])
        try chart(
            "Earnings by day", daily, [("earnings", "earnings_micros", "earnings_micros")],
            over: days)
        files(of: daily)
    }

    /// How the publisher's own count of ads differs from the buyers'.
    private mutating func writeDiscrepancy() throws {
        let counts = [
            try? answer(ReportAddress("bids", measures: ["billed"])).only("billed"),
            try? answer(Self.overlays).only("presented"),
        ].map { value in
            if case .integer(let integer) = value { integer } else { Int128(0) }
        }
        guard let billed = counts.first, let presented = counts.last, billed > 0, presented > 0
        else { return }
        let difference = presented - billed
        let share = ShownValue.text(
            .ratio(Int128(difference.magnitude), billed), in: "share", isKey: false)
        let size = ShownValue.grouped(Int128(difference.magnitude))
        paragraph(
            difference == 0
                ? "As many ads were presented as billed."
                : "Discrepancy: \(size) \(difference < 0 ? "fewer" : "more") ads were presented than billed, \(share) of those billed. An ad that was billed just before a bound of these days can be presented after it.",
            class: "note")
    }

    private mutating func writeBuyers() throws {
        let counts = ["bids", "wins", "billed"]
        let request = ReportAddress(
            "bids", by: ["seat"], measures: counts + DerivedColumn.earnings.parts)
        var buyers = try answer(request)
        buyers.add([.of(.winRate), .earnings, .averageCPM])
        buyers.show(["bids", "wins", "win_rate", "billed", "earnings_micros", "average_cpm"])
        try table(buyers, sort: "earnings_micros")
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
                    Card("Viewed", "viewed", .good), Card("Failed", "failed", .bad),
                ]),
            CardGroup(
                ReportAddress("overlay-clicks"),
                [
                    Card("Clicks on overlays and in-app ads", "user_clicks", .good),
                    Card("On paid recommendations", "paid_clicks", .good),
                    Card("On other recommendations", "organic_clicks", .good),
                    Card("Automatic, not counted above", "automatic_clicks", .bad),
                    Card("Paid, with an altered URL", "altered_urls", .bad),
                ]),
        ])
    }

    /// Shown ads, clicks and their rate in one table.
    private mutating func writePlacements() throws {
        let keys = ["format", "placement"]
        var rates = try answer(ReportAddress(ClickRates.name, by: keys))
        var answers: [PageAnswer] = []
        if let ads = try unlessMissing(ReportAddress("impressions", by: keys)) {
            rates.show(ClickRates.measureNames.filter { ads.index(of: $0) == nil })
            answers.append(ads)
        }
        answers.append(rates)
        if var clicks = try unlessMissing(ReportAddress("overlay-clicks", by: keys)) {
            clicks.show(
                OverlayClicksKey.table.measures.filter { !ClickRates.measureNames.contains($0) })
            answers.append(clicks)
        }
        let table = JoinedTable(answers, sort: "presented")
        for notice in rates.notices { writeNotices([notice]) }
        guard !table.isEmpty else {
            writeNoRows()
            return files(of: rates)
        }
        let title = sectionTitle
        write { table.write(named: title, to: &$0) }
        writeConstants(table.constantKeys)
        writeMoreRows(table.moreRows)
        for answer in answers { files(of: answer) }
    }

    /// The answer to a request; nil without a store.
    private mutating func unlessMissing(_ request: ReportAddress) throws -> PageAnswer? {
        do { return try answer(request) } catch InspectionError.noStore { return nil }
    }

    // MARK: Faults

    /// Fewer records say little about a share.
    private static let fewestRecords = 30.0

    private mutating func writeFraudSignals() throws {
        var signals = try answer(ReportAddress(FraudSignals.name, by: ["ad_network_id"]))
        let counted = signals.rows.filter { !signals.value($0, "of").isZero }.count
        let all = signals
        signals.keepRows { row in
            (ShownValue.amount(all.value(row, "of"), in: "of") ?? 0) >= Self.fewestRecords
        }
        let few = counted - signals.rows.count
        if signals.rows.isEmpty, few > 0 {
            files(of: signals)
        } else {
            try table(signals, sort: "share_low")
        }
        guard few > 0 else { return }
        paragraph(
            "\(counted == few ? "All \(few)" : "\(few) more") shares have fewer than \(Int(Self.fewestRecords)) records, which say little. The files have them.",
            class: "note")
    }

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
