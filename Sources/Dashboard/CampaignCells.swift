import ConfigurationValues
import Reports

// The cells of the table of campaigns, and its totals.

extension CampaignTable {
    func cell(
        _ column: CampaignColumn, _ row: [ReportValue], _ key: [ReportRequest.Condition],
        to html: inout HTML
    ) {
        let campaign = Self.key(answers.now, row)
        let targets = Self.targets(key, names)
        html.element("td", ["class": isText(column) ? nil : "number"]) { html in
            switch column.content {
            case .trend: trend(campaign, to: &html)
            case .measure("installs") where answers.now.isReengagement(row):
                cell("reengagements", answers.now, row, key, to: &html)
                html.element("small", text: ShownValue.heading("reengagements"))
            case .measure(let measure):
                cell(measure, answers.now, row, key, to: &html)
                if ["cost_micros", "installs"].contains(measure),
                    answers.compared?.now.index(of: measure) != nil
                {
                    html.element("small") { change(measure, campaign, to: &$0) }
                }
                // Without its return, which decides, a cost would suggest the wrong decision.
                if measure == "cpi", let target = targets?.costPerInstallMicros,
                    !isShort || targets?.returnMicros == nil
                {
                    TargetState(costPerInstall: answers.recordedCost(row), target)
                        .write(to: &html)
                }
            case .change(let measure): change(measure, campaign, to: &html)
            case .interval(let low, let high):
                interval(low, high, answers.now, row, key, scale: scales[column.id], to: &html)
            case .returns:
                guard let answer = answers.returns, let row = byReturn[campaign] else {
                    return html.unknown()
                }
                interval(
                    "roas_min", "roas_max", answer, row, answer.key(of: row),
                    scale: scales[column.id], target: targets?.returnShare, to: &html)
            case .estimate:
                guard let row = byEstimate[campaign] else { return html.unknown() }
                estimate(row, key, scale: scales[column.id], targets?.returnShare, to: &html)
            case .complete:
                guard let answer = answers.returns, let row = byReturn[campaign] else {
                    return html.unknown()
                }
                NumberLink(answer, row: row).write(
                    answer.value(row, "maturity"), of: "maturity", to: &html)
            case .target:
                let states = TargetStates(
                    targets, answers, row, byReturn[campaign], byEstimate[campaign])
                guard let state = states.deciding else {
                    return html.unknown("the campaign has no target")
                }
                state.write(to: &html)
                if states.disagree { html.element("small", text: TargetStates.returnDecides) }
            }
        }
    }

    static func targets(
        _ key: [ReportRequest.Condition], _ names: PageNames
    ) -> CatalogCampaign.Targets? {
        names.campaign { column in key.first { $0.column == column }?.value }?.targets
    }

    /// An estimate is not a sum of records: it links to the estimated revenue.
    private func estimate(
        _ row: [ReportValue], _ key: [ReportRequest.Condition], scale: Double?, _ target: Double?,
        to html: inout HTML
    ) {
        guard let estimates = answers.estimates,
            let low = Self.amount(estimates.answer, row, EstimatedReturns.low),
            let high = Self.amount(estimates.answer, row, EstimatedReturns.high)
        else { return html.unknown() }
        let texts = [EstimatedReturns.low, EstimatedReturns.high].map {
            ShownValue.text(
                estimates.answer.value(row, $0), in: $0, isKey: false, fractionDigits: 2)
        }
        html.element("span", ["class": "interval"]) {
            $0.link(
                texts[0] == texts[1] ? texts[0] : texts.joined(separator: " to "),
                to: estimates.address(key))
        }
        guard let scale else { return }
        Bar.write(from: low / scale, to: high / scale, mark: target.map { $0 / scale }, to: &html)
    }

    func total(to html: inout HTML) {
        html.element("th", ["scope": "row"], text: "Total")
        let row = answers.total.rows.first
        for column in columns {
            html.element("td", ["class": isText(column) ? nil : "number"]) { html in
                switch column.content {
                case .trend: break
                case .measure(let measure):
                    NumberLink(answers.total, row: row).write(
                        answers.total.only(measure), of: measure,
                        decimals: Self.decimals(of: measure), to: &html)
                    if measure == "maturity" {
                        // So the total can lie outside of the range of the campaigns.
                        html.element("small", text: "each day counts once")
                    }
                    guard ["cost_micros", "installs"].contains(measure),
                        let (now, before) = answers.compared, now.index(of: measure) != nil
                    else { return }
                    html.element("small") { html in
                        write(
                            Self.sum(now, measure), before: Self.sum(before, measure),
                            of: measure, to: &html)
                    }
                case .change(let measure):
                    let (now, before) = (answers.compared?.now, answers.compared?.before)
                    write(
                        Self.sum(now, measure), before: Self.sum(before, measure), of: measure,
                        to: &html)
                case .interval(let low, let high):
                    guard let row else { return }
                    interval(low, high, answers.total, row, [], scale: nil, to: &html)
                case .returns:
                    guard let answer = answers.totalReturns, let row = answer.rows.first else {
                        return
                    }
                    interval(
                        "roas_min", "roas_max", answer, row, answer.key(of: row), scale: nil,
                        to: &html)
                case .estimate: html.unknown("ranges of campaigns cannot be added")
                case .complete:
                    NumberLink(answers.returns ?? answers.total).write(
                        answers.totalReturns?.only("maturity"), of: "maturity", to: &html)
                case .target: break
                }
            }
        }
    }

    /// The sum of a measure over all campaigns; nil for several currencies.
    private static func sum(_ answer: PageAnswer?, _ measure: String) -> Double? {
        guard let answer, let index = answer.index(of: measure) else { return nil }
        var currencies: Set<String> = []
        for case .money(let money) in answer.rows.map({ $0[index] }) {
            currencies.formUnion(money.amounts.map(\.currency))
        }
        guard currencies.count < 2 else { return nil }
        return answer.rows.compactMap { ShownValue.amount($0[index], in: measure) }.reduce(0, +)
    }

    private func cell(
        _ measure: String, _ answer: PageAnswer, _ row: [ReportValue],
        _ key: [ReportRequest.Condition], to html: inout HTML
    ) {
        let index = answer.index(of: measure)
        NumberLink(answer, key: key, row: row).write(
            index.map { row[$0] }, of: measure,
            decimals: Self.decimals(of: measure) ?? index.flatMap { decimals[$0] }, to: &html)
    }

    private static func decimals(of measure: String) -> Int? {
        MoneyByCurrency.isMoney(measure) || measure == "cpi" ? 2 : nil
    }

    private func trend(_ campaign: [String], to html: inout HTML) {
        guard let answer = answers.days, let day = answer.index(of: "day"),
            let rows = byDay[campaign]
        else { return }
        let ordered = rows.sorted { $0[day].plainText < $1[day].plainText }
        let points = answer.points(ordered, "installs", "installs", answers.recordDays)
        SmallLine(title: "Installs by day", points: points, width: 72, height: 24).write(to: &html)
    }

    private func change(_ measure: String, _ campaign: [String], to html: inout HTML) {
        write(
            Self.amount(answers.compared?.now, current[campaign], measure),
            before: Self.amount(answers.compared?.before, earlier[campaign], measure),
            of: measure, to: &html)
    }

    private func write(
        _ now: Double?, before: Double?, of measure: String, to html: inout HTML
    ) {
        guard let change = Change(from: before, to: now) else {
            return html.element("span", ["class": "unknown"], text: "–")
        }
        html.element(
            "span", ["class": change.style(measure == "installs" ? .good : .neutral)],
            text: "\(change.symbol)\(change.text)")
    }

    private func interval(
        _ low: String, _ high: String, _ answer: PageAnswer, _ row: [ReportValue],
        _ key: [ReportRequest.Condition], scale: Double?, target: Double? = nil,
        to html: inout HTML
    ) {
        func value(_ measure: String) -> ReportValue? {
            answer.index(of: measure).map { row[$0] }
        }
        let link = NumberLink(answer, key: key, row: row)
        let decimals = 2
        html.element("span", ["class": "interval"]) { html in
            link.write(value(low), of: low, decimals: decimals, to: &html)
            guard value(low) != value(high) else { return }
            html.text(" to ")
            link.write(
                value(high), of: high, decimals: decimals, isShort: true, to: &html)
        }
        guard let scale, let least = Self.amount(answer, row, low) else { return }
        let most = Self.amount(answer, row, high) ?? scale
        Bar.write(from: least / scale, to: most / scale, mark: target.map { $0 / scale }, to: &html)
    }
}

extension CatalogCampaign.Targets {
    fileprivate var returnShare: Double? { returnMicros.map { Double($0) / 1e6 } }
}

extension HTML {
    /// A dash for a value that is not known.
    fileprivate mutating func unknown(_ why: String = "unknown, or nothing to divide by") {
        element("span", ["class": "unknown", "title": why], text: "–")
    }
}
