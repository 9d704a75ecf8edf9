import ConfigurationValues
import Reports
import Streams

// All campaigns, and one campaign.

extension PageWriter {
    /// The page of a campaign's row. A row without a campaign has no such page, and leads to its days.
    func campaignLink(_ key: [ReportRequest.Condition]) -> PageAddress? {
        let wanted = key.filter { Funnel.campaignColumns.contains($0.column) }
        guard let campaign = wanted.first(where: { $0.column == "campaign" }) else { return nil }
        guard !campaign.value.isEmpty else {
            var request = ReportAddress(Funnel.name, by: ["day"])
            request.conditions = wanted
            return (try? context.limited(request, to: days))?.address
        }
        return addressWithDays("/campaign", wanted.map { ($0.column, $0.value) })
    }

    mutating func writeCampaigns() throws {
        let signals = "Fraud signals that stand out"
        let hasSignals = context.scope.allSatisfy { FraudSignals.columnNames.contains($0.column) }
        writeContents(
            ["All campaigns", "Spend and revenue by day", "By ad network", "By country"]
                + (hasSignals ? [signals] : []) + ["Reported costs"])
        if context.scope.isEmpty { writeOutlyingCampaigns() }
        try section(
            "All campaigns",
            "Click a name to open the campaign, a number to see its records, or a heading to sort."
        ) { try $0.writeCampaignTable() }
        try section("Spend and revenue by day", Self.aboutIntervals) { page in
            try page.writeCurves(page.dailyFunnel())
        }
        try section("By ad network") {
            try $0.table(
                ReportAddress(Funnel.name, by: ["ad_network_id"], measures: Self.funnelSums),
                sort: "cost_micros")
        }
        try writeByCountry()
        if hasSignals {
            try section(
                signals,
                "Campaigns with a share far above that of all other campaigns: even the low end of its 95 % interval is more than twice theirs, and more than 5 %. It is not a verdict. Shares of fewer than \(Int(Self.fewestRecords)) records are left out."
            ) { try $0.writeOutlyingSignals() }
        }
        try section(
            "Reported costs", "As reported by ad platforms and finance. The last report counts."
        ) {
            try $0.table(
                ReportAddress("costs", by: ["source", "campaign", "currency"]), sort: "cost_micros")
        }
    }

    private static let tableMeasures =
        campaignSums + ["win_rate", "ctr", "install_rate", "postbacks"]

    private mutating func writeCampaignTable() throws {
        let answers = try campaignAnswers()
        writeNotices(answers.now.notices)
        guard !answers.now.rows.isEmpty else {
            writeNoRows()
            return files(of: answers.now)
        }
        let names = source.names(for: context.scope)
        let table = try CampaignTable(context, names, answers, link: campaignLink)
        // Above the table, because a target also adds a column to it.
        if context.scope.isEmpty, !names.hasTargets { writeHowToSetTargets() }
        let outlying = names.hasTargets ? outlyingCampaigns() : []
        write { html in
            table.writeDecisions(outlying: outlying, to: &html)
            table.write(to: &html)
        }
        try writeEstimatedDays(answers)
        if let note = answers.now.noteOnMissingCost { paragraph(note, class: "note") }
        if let compared = context.compared(default: period) {
            paragraph(compared.sentence, class: "note")
            if let note = compared.notOfPostbacks { paragraph(note, class: "note") }
            writeMissingHours(
                compared,
                of: ["installs", "cost_micros"].map { (answers.now.request, $0) })
        } else if let reason = context.notCompared(default: period) {
            paragraph(reason, class: "note")
        }
        files(of: answers.now)
    }

    private mutating func writeHowToSetTargets() {
        write { html in
            html.element("p", ["class": "note"]) { html in
                html.text(
                    "No campaign has a target. To see which ones to scale and which to stop, add a line to an entry under campaigns in catalog.yaml: "
                )
                html.element("code", text: "target_roas_7: 0.40")
                html.text(" (return by day 7) or ")
                html.element("code", text: "target_cpi: 2.50")
                html.text(" (cost per install).")
            }
        }
    }

    /// Names the days of the estimated return, or why there is none.
    private mutating func writeEstimatedDays(_ answers: CampaignAnswers) throws {
        guard try CampaignTable.isEstimated(context), hasEstimates else { return }
        let title = "Return by day 7, \(ReturnKind.estimated.title)"
        if let estimates = answers.estimates {
            let (total, zone) = (estimates.total, context.timeZone)
            return write { html in
                html.element("p", ["class": "note"]) { html in
                    html.text("\(title): ")
                    if let row = total.rows.first { total.writeSubject(row, in: zone, to: &html) }
                    html.text(". \(ReturnKind.estimated.note)")
                }
            }
        }
        let reason =
            switch answers.estimated {
            case nil:
                "it takes long to compute for more than \(EstimatedReturns.mostCampaigns) campaigns. Choose an app, or add it under Columns."
            case .failure(let error): "\(error)"
            case .success:
                "none of these days is complete. Postbacks arrive up to two weeks after the install, so choose earlier days."
            }
        paragraph("\(title), is not shown: \(reason)", class: "note")
    }

    func campaignAnswers() throws -> CampaignAnswers {
        let request = ReportAddress(
            Funnel.name, by: Self.campaignColumns, measures: Self.tableMeasures)
        var now = try answer(request)
        now.leaveOutEmptyRows()
        var small = request
        small.measures = ["installs", "cost_micros"]
        let compared = try context.compared(default: period).map { compared in
            var changing = small
            changing.measures = small.measures?.filter(compared.compares)
            return (
                now: try answer(changing, days: compared.now),
                before: try answer(changing, days: compared.before)
            )
        }
        var byDay = small
        byDay.by = ["day"] + Self.campaignColumns
        var total = request
        total.by = []
        let isEstimated =
            try CampaignTable.isEstimated(context)
            && (now.rows.count <= EstimatedReturns.mostCampaigns
                || CampaignTable.hasChosenColumns(context))
        let age = EstimatedReturns.age
        let days = try? answer(byDay, days: lineDays)
        return CampaignAnswers(
            now: now, total: try answer(total), compared: compared,
            returns: try? answer(Self.returns(by: Self.campaignColumns, through: age)),
            totalReturns: try? answer(Self.returns(by: [], through: age)),
            days: days, recordDays: days.flatMap { try? recordDays(of: ["installs"], in: $0) },
            estimated: isEstimated ? Result { try estimatedReturns() } : nil,
            recordedCosts: try recordedCosts())
    }

    /// The answers of one campaign that decide its targets: of the same days as in the table of all campaigns, and with
    /// costs as recorded.
    private func targetAnswers() throws -> CampaignAnswers {
        let returns = Self.returns(by: Self.campaignColumns, through: EstimatedReturns.age)
        var costs = try limited(
            ReportAddress(
                Funnel.name, by: Self.campaignColumns,
                measures: ["installs", "cost_micros", "cpi"]), to: days)
        try context.checkFilters(of: costs)
        costs.target = nil
        let now = try source.answer(costs)
        return CampaignAnswers(
            now: now, total: now, compared: nil, returns: try? answer(returns), totalReturns: nil,
            days: nil, estimated: Result { try estimatedReturns(isOfAllDays: true) })
    }

    /// The campaign against each of its targets.
    private mutating func writeTargets(_ targets: CatalogCampaign.Targets) throws {
        let answers = try targetAnswers()
        let row = answers.now.rows.first
        let states = TargetStates(
            targets, answers, row, answers.returns?.rows.first,
            answers.estimates?.answer.rows.first)
        let zone = context.timeZone
        write { html in
            html.element("div", ["class": "cards"]) { html in
                if let state = states.ofReturn {
                    html.card("Return by day 7, \(states.kind.title)") { html in
                        Self.write(states, to: &html)
                        state.write(to: &html)
                        if states.disagree {
                            html.element("small", text: TargetStates.returnDecides)
                        }
                        if let answer = states.returned.answer, let row = states.returned.row {
                            html.element("span", ["class": "before"]) {
                                answer.writeSubject(row, in: zone, to: &$0)
                            }
                        }
                    }
                }
                if let state = states.ofCost {
                    html.card("Cost per install") { html in
                        html.element("span", ["class": "amount"]) {
                            NumberLink(answers.now, row: row).write(
                                row.map { answers.now.value($0, "cpi") }, of: "cpi", decimals: 2,
                                to: &$0)
                        }
                        state.write(to: &html)
                    }
                }
            }
        }
        if states.ofReturn != nil { paragraph(states.kind.note, class: "note") }
    }

    /// The compared range of the return.
    private static func write(_ states: TargetStates, to html: inout HTML) {
        let (answer, row, low, high) = states.returned
        guard let answer else { return }
        let link = NumberLink(answer, row: row)
        let values = [low, high].map { measure in row.map { answer.value($0, measure) } }
        html.element("span", ["class": "amount interval"]) { html in
            link.write(values[0], of: low, decimals: 2, to: &html)
            guard values[0] != values[1] else { return }
            html.text(" to ")
            link.write(values[1], of: high, decimals: 2, to: &html)
        }
    }

    /// The costs per install of campaigns as recorded; nil if pages show them, or without a target.
    private func recordedCosts() throws -> [[ReportRequest.Condition]: Double]? {
        guard context.target != nil, source.names(for: context.scope).hasTargetCosts else {
            return nil
        }
        var request = try limited(
            ReportAddress(Funnel.name, by: Self.campaignColumns, measures: ["cpi"]), to: days)
        request.target = nil
        let answer = try source.answer(request)
        return answer.rows.reduce(into: [:]) { costs, row in
            costs[answer.key(of: row)] = CampaignTable.amount(answer, row, "cpi")
        }
    }

    /// The campaigns with the highest spend.
    mutating func writeShortCampaignTable(_ answer: PageAnswer) throws {
        var answer = answer
        answer.leaveOutEmptyRows()
        guard !answer.rows.isEmpty else {
            writeNoRows()
            return files(of: answer)
        }
        let total = try self.answer(ReportAddress(Funnel.name, measures: Self.funnelSums))
        let table = try CampaignTable(
            context, source.names(for: context.scope),
            CampaignAnswers(
                now: answer, total: total, compared: nil, returns: nil, totalReturns: nil,
                days: nil, recordedCosts: try recordedCosts()), isShort: true, link: campaignLink)
        write { table.write(to: &$0) }
        files(of: answer)
    }

    /// - Parameter marks: events of the days, for both charts.
    mutating func writeCurves(
        _ answer: PageAnswer, isReengagement: Bool = false, marks: [TrendMark]? = nil
    ) throws {
        try chart(
            "Revenue of known values by day of arrival, lower to upper bound, and spend", answer,
            [
                ("revenue", "revenue_min_micros", "revenue_max_micros"),
                ("spend", "cost_micros", "cost_micros"),
            ], over: lineDays, marks: marks)
        let results = isReengagement ? "reengagements" : "installs"
        let title = ShownValue.sentence(ShownValue.heading(results))
        try chart(
            "\(title) by day of arrival (dashed: the day is not over)", answer,
            [(ShownValue.heading(results), results, results)], over: lineDays)
        files(of: answer)
    }

    // MARK: One campaign

    /// One campaign, selected by the parameter `campaign`. Returns its title.
    mutating func writeCampaign() throws -> String {
        let id = context.parameters["campaign"] ?? ""
        let names = source.names(for: context.scope)
        func value(_ column: String) -> String? {
            (context.scope + context.chosen).first { $0.column == column }?.value
        }
        let name = names.name(id, in: "campaign", row: value)
        let unnamed = names.unnamedCampaign { $0 == "campaign" ? id : value($0) }
        let title = name ?? unnamed.title
        let parts = ["ad_network_id", "app_id"].compactMap { column in
            value(column).map { names.name($0, in: column) ?? $0 }
        }
        let isReengagement = try isReengagement()
        writeHeading(
            title,
            ([isReengagement ? "Re-engagement campaign" : nil].compactMap(\.self) + parts
                + [name == nil ? nil : "campaign \(id)"].compactMap(\.self))
                .joined(separator: " · "), showsDays: true)
        if name == nil, let reason = unnamed.reason { writeReason(reason) }
        let measures = isReengagement ? Self.reengagementSums : Self.funnelSums
        let daily = try? dailyFunnel(measures)
        let results = isReengagement ? "re-engagements" : "installs"
        let byDay = "Spend, revenue and \(results) by day"
        let byAge = "Return on spend by age"
        // A reader of some campaigns has no signals: their rows do not have the campaign of records.
        let hasSignals = context.scope.allSatisfy { FraudSignals.columnNames.contains($0.column) }
        let targets = names.campaign(value)?.targets
        let hasTargets = targets?.returnMicros != nil || targets?.costPerInstallMicros != nil
        let againstTarget = "Against target"
        writeContents(
            ["Results"] + (hasTargets ? [againstTarget] : []) + [byDay]
                + (isReengagement ? [] : [byAge]) + ["Conversion values"]
                + (hasSignals ? ["Fraud signals"] : []) + Self.detailTitles)
        try section("Results", isReengagement ? Self.aboutReengagement : nil) { page in
            try page.cards(
                ReportAddress(Funnel.name),
                (isReengagement ? Self.reengagementCards : Self.resultCards) + [
                    Card("Bids", "bids"), Card("Wins", "wins"), Card("Presented", "presented"),
                    Card("Clicks", "clicks", .good),
                ], days: daily)
            try page.writeMaturity()
            page.paragraph(Self.aboutReturn, class: "note")
        }
        if let targets, hasTargets {
            try section(
                againstTarget,
                "Targets of catalog.yaml, compared over the same days as on the page Campaigns."
            ) { try $0.writeTargets(targets) }
        }
        try section(byDay, Self.aboutIntervals) { page in
            try page.writeCurves(
                daily ?? page.dailyFunnel(measures), isReengagement: isReengagement,
                marks: page.trendMarks())
        }
        // Returns count installs.
        if !isReengagement {
            try section(byAge, Self.whichReturn) { try $0.writeReturns() }
        }
        try section("Conversion values", "Postbacks by value, and what each value means.") {
            try $0.writeConversionValues()
        }
        if hasSignals {
            try section(
                "Fraud signals", "Shares with counts and 95 % intervals. They are not a verdict."
            ) { try $0.writeFraudSignals(by: []) }
        }
        try writeCampaignDetails(measures)
        return title
    }

    private static let whichReturn =
        "Read the first table first: its range is usually the narrowest. The answers differ because \(ReturnKind.estimated.title) fills in missing values, \(ReturnKind.complete.title) leaves them open, and \(ReturnKind.bounds.title) also counts days that still expect postbacks."

    /// Whether the postbacks of the shown days are re-engagements only.
    private mutating func isReengagement() throws -> Bool {
        let request = ReportAddress(Funnel.name, measures: PageAnswer.conversions)
        guard let answer = try? answer(request), answer.rows.count == 1 else { return false }
        return answer.isReengagement(answer.rows[0])
    }

    private static let aboutReengagement = """
        Every counted first postback of these days is a re-engagement, so there are no installs and no cost per install.
        """

    private static let reengagementSums = funnelSums.map {
        $0 == "installs" ? "reengagements" : $0
    }.filter { $0 != "cpi" }

    private static let reengagementCards = resultCards.filter { $0.low != "cpi" }.map {
        $0.low == "installs" ? Card("Re-engagements", "reengagements", .good) : $0
    }

    /// Why a campaign has no name, with a link to its postbacks.
    private mutating func writeReason(_ reason: String) {
        let postbacks = ReportAddress(
            "postbacks", by: ["version", "sequence_index", "conversion_type", "verdict"])
        let address = (try? context.limited(postbacks, to: days))?.address
        write { html in
            html.element("p", ["class": "note"]) { html in
                html.text("\(ShownValue.sentence(reason)). ")
                if let address { html.link("Postbacks of this id", to: address) }
            }
        }
    }

    private static let detailTitles = [
        "Daily results", "Bids by source app", "Ads by placement", "Clicks by placement",
        "Loss reasons", "Postbacks by verdict", "Decoded events",
    ]

    private mutating func writeCampaignDetails(_ measures: [String]) throws {
        try section("Daily results") {
            try $0.table(ReportAddress(Funnel.name, by: ["day"], measures: measures))
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
        try section(
            "Decoded events", "Events and revenue that the values mean, by version of the model."
        ) {
            try $0.table(ReportAddress("decoded-events", by: ["model", "event", "currency"]))
        }
    }
}
