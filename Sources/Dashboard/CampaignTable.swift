import ConfigurationValues
import Program
import Reports
import Wording

/// The table of campaigns: sorted by a column of the address, with the columns of the address.
struct CampaignTable {
    let context: PageContext
    let names: PageNames
    let answers: CampaignAnswers
    let link: ([ReportRequest.Condition]) -> PageAddress?
    let columns: [CampaignColumn]
    private let order: (column: CampaignColumn, isDescending: Bool)
    private let earlier: [[String]: [ReportValue]]
    private let current: [[String]: [ReportValue]]
    private let byReturn: [[String]: [ReportValue]]
    private let byDay: [[String]: [[ReportValue]]]
    let rows: [[ReportValue]]
    private let decimals: [Int: Int]
    /// The end of the bars of each interval, by the id of its column.
    private let scales: [String: Double]

    /// The number of campaigns without spend, installs and revenue, which are left out.
    private let emptyCount: Int
    let isShort: Bool
    private let mostRows: Int

    private static let sort = "sort"
    private static let chosen = "columns"

    init(
        _ context: PageContext, _ names: PageNames, _ answers: CampaignAnswers,
        isShort: Bool = false, isCompared: Bool = false,
        link: @escaping ([ReportRequest.Condition]) -> PageAddress?
    ) throws {
        self.isShort = isShort
        mostRows = isShort ? 10 : 200
        self.context = context
        self.names = names
        self.answers = answers
        self.link = link
        let columns = isShort ? CampaignColumn.short : try Self.columns(context)
        // Columns that are unknown or 0 in every row are left out unless they were chosen.
        let isChosen = !isShort && context.parameters[Self.chosen].nonempty != nil
        self.columns = columns.filter { isChosen || Self.hasContent($0, answers) }
        order = try Self.order(isShort ? nil : context.parameters[Self.sort].nonempty)
        func byKey(_ answer: PageAnswer?) -> [[String]: [ReportValue]] {
            Dictionary(
                answer?.rows.map { (Self.key(answer, $0), $0) } ?? [],
                uniquingKeysWith: { first, _ in first })
        }
        earlier = byKey(answers.compared?.before)
        current = byKey(answers.compared?.now)
        byReturn = byKey(answers.returns)
        byDay = Dictionary(grouping: answers.days?.rows ?? []) { Self.key(answers.days, $0) }
        decimals = answers.now.fractionDigits(of: answers.now.rows)
        let (column, isDescending) = order
        let (past, present, returns) = (earlier, current, byReturn)
        let amounts = answers.now.rows.map { row -> Double in
            let key = Self.key(answers.now, row)
            switch column.content {
            case .returns:
                return Self.amount(answers.returns, returns[key], "roas_min") ?? -.infinity
            case .change(let measure):
                guard let new = Self.amount(answers.compared?.now, present[key], measure),
                    let old = Self.amount(answers.compared?.before, past[key], measure), old > 0
                else { return -.infinity }
                return new / old
            case .trend, .measure, .interval:
                guard let measure = column.order, let index = answers.now.index(of: measure) else {
                    return -.infinity
                }
                return ShownValue.order(row[index], in: measure)
            }
        }
        let results = PageAnswer.results.compactMap { answers.now.index(of: $0) }
        let all = answers.now.rows.indices.filter { index in
            let row = answers.now.rows[index]
            return isCompared
                || results.contains { !row[$0].isZero || answers.now.isUnknown(row, $0) }
        }
        emptyCount = answers.now.rows.count - all.count
        rows = all.sorted { one, other in
            let (first, second) = (amounts[one], amounts[other])
            guard first != second else { return one < other }
            // Unknown values come last in both directions.
            guard first > -.infinity, second > -.infinity else { return first > second }
            return isDescending ? first > second : first < second
        }.map { answers.now.rows[$0] }
        scales = Dictionary(
            uniqueKeysWithValues: columns.compactMap { column in
                Self.scale(column, answers).map { (column.id, $0) }
            })
    }

    private static func hasContent(_ column: CampaignColumn, _ answers: CampaignAnswers) -> Bool {
        let (answer, measure): (PageAnswer?, String) =
            switch column.content {
            case .trend: (answers.days, "installs")
            case .measure("maturity"): (nil, "")
            case .measure(let name), .change(let name), .interval(_, let name): (answers.now, name)
            case .returns: (answers.returns, "roas_min")
            }
        guard let answer, let index = answer.index(of: measure) else {
            return column.id == "maturity"
        }
        return answer.rows.contains { !$0[index].isZero || answer.isUnknown($0, index) }
    }

    private static func columns(_ context: PageContext) throws -> [CampaignColumn] {
        guard let text = context.parameters[chosen].nonempty else {
            return CampaignColumn.all.filter(\.isDefault)
        }
        let ids = text.split(separator: ",").map(String.init)
        let valid = CampaignColumn.all.map(\.id)
        if let unknown = ids.first(where: { !valid.contains($0) }) {
            throw CommandError.usage(
                "unknown column '\(unknown)': use some of \(valid.joined(separator: ", "))")
        }
        return CampaignColumn.all.filter { ids.contains($0.id) }
    }

    private static func order(
        _ text: String?
    ) throws -> (column: CampaignColumn, isDescending: Bool) {
        let text = text ?? "-spend"
        let id = text.hasPrefix("-") ? String(text.dropFirst()) : text
        let sortable = CampaignColumn.all.filter { $0.order != nil }
        guard let column = sortable.first(where: { $0.id == id }) else {
            throw CommandError.usage(
                "unknown sort '\(text)': use one of \(sortable.map(\.id).joined(separator: ", ")), with a minus for the largest first"
            )
        }
        return (column, text.hasPrefix("-"))
    }

    /// The campaign of a row, whatever its other columns.
    static func key(_ answer: PageAnswer?, _ row: [ReportValue]) -> [String] {
        Funnel.campaignColumns.map { answer?.text(of: row, in: $0) ?? "" }
    }

    private static func amount(
        _ answer: PageAnswer?, _ row: [ReportValue]?, _ measure: String
    ) -> Double? {
        guard let row, let index = answer?.index(of: measure) else { return nil }
        return ShownValue.amount(row[index], in: measure)
    }

    /// Bars end at the 90th percentile of the upper bounds, so that one outlier does not flatten the others.
    private static func scale(_ column: CampaignColumn, _ answers: CampaignAnswers) -> Double? {
        let amounts: [Double]
        switch column.content {
        case .interval(_, let high):
            amounts = answers.now.rows.compactMap { amount(answers.now, $0, high) }
        case .returns:
            amounts = (answers.returns?.rows ?? []).compactMap {
                amount(answers.returns, $0, "roas_max")
            }
        default: return nil
        }
        let sorted = amounts.filter { $0 > 0 }.sorted()
        return sorted.isEmpty ? nil : sorted[min(sorted.count - 1, sorted.count * 9 / 10)]
    }

    // MARK: Writing

    /// Notes on the shares of the shown columns that are above 100 %, in a campaign or in the total.
    private var notes: [String] {
        let shares = columns.compactMap { column in
            if case .measure(let name) = column.content {
                (heading: column.title, measure: name)
            } else {
                nil
            }
        }
        let notes = answers.now.notesAboveWhole(shares)
        return notes + answers.total.notesAboveWhole(shares).filter { !notes.contains($0) }
    }

    func write(to html: inout HTML) {
        if !isShort { chooser(to: &html) }
        for note in notes { html.element("p", ["class": "note"], text: note) }
        if canCompare { comparison(to: &html) }
        html.table(named: "All campaigns", class: "campaigns") { html in
            html.element("thead") { html in
                html.element("tr") { html in
                    html.element("th", ["scope": "col"], text: "Campaign")
                    for column in columns { heading(column, to: &html) }
                }
            }
            html.element("tbody") { html in
                for (number, row) in rows.prefix(mostRows).enumerated() {
                    html.element("tr") { html in write(row, number, to: &html) }
                }
            }
            html.element("tfoot") { html in html.element("tr") { html in total(to: &html) } }
        }
        let more = max(0, rows.count - mostRows) + answers.now.moreRows
        if more > 0, isShort {
            html.element("p") {
                $0.link(
                    "All \(ShownValue.grouped(Int128(rows.count))) campaigns",
                    to: context.address(DashboardPage.campaigns.path))
            }
        } else if more > 0 {
            html.element(
                "p", ["class": "note"],
                text: "\(ShownValue.grouped(Int128(more))) more campaigns are in the files below.")
        }
        if emptyCount > 0 {
            html.element(
                "p", ["class": "note"],
                text:
                    "\(counted(emptyCount, "campaign")) without spend, installs and revenue \(emptyCount == 1 ? "is" : "are") in the files below."
            )
        }
    }

    private func heading(_ column: CampaignColumn, to html: inout HTML) {
        let isOrder = order.column.id == column.id && column.order != nil
        let direction = isOrder ? (order.isDescending ? "descending" : "ascending") : nil
        html.element(
            "th",
            [
                "scope": "col", "class": isText(column) ? nil : "number", "aria-sort": direction,
                "title": column.note.isEmpty ? nil : column.note,
            ]
        ) { html in
            guard column.order != nil else { return html.text(column.title) }
            let other = isOrder && order.isDescending ? column.id : "-\(column.id)"
            let address =
                isShort
                ? context.address(DashboardPage.campaigns.path, [(Self.sort, other)])
                : context.address(changing: [Self.sort: other])
            html.link(column.title, to: address)
            if isOrder { html.text(order.isDescending ? " ↓" : " ↑") }
        }
    }

    private func isText(_ column: CampaignColumn) -> Bool {
        if case .trend = column.content { true } else { false }
    }

    /// Each column as a link that adds or removes it.
    private func chooser(to html: inout HTML) {
        html.element("details", ["class": "chooser"]) { html in
            html.element(
                "summary", text: "Columns (\(columns.count) of \(CampaignColumn.all.count))")
            html.element("p", ["class": "choices"]) { html in
                for column in CampaignColumn.all {
                    let isShown = columns.contains { $0.id == column.id }
                    let ids = CampaignColumn.all.filter { other in
                        other.id == column.id
                            ? !isShown : columns.contains { $0.id == other.id }
                    }.map(\.id)
                    html.link(
                        "\(isShown ? "✓" : "+") \(column.title)",
                        to: context.address(changing: [Self.chosen: ids.joined(separator: ",")]),
                        class: isShown ? "chosen" : nil)
                    html.text(" ")
                }
                html.link("Default columns", to: context.address(changing: [Self.chosen: nil]))
            }
        }
    }

    private func write(_ row: [ReportValue], _ number: Int, to html: inout HTML) {
        let key = answers.now.key(of: row)
        html.element("th", ["scope": "row"]) { html in
            if canCompare { pick(row, number, key, to: &html) }
            html.campaign(key, names, link: link(key))
        }
        for column in columns { cell(column, row, key, to: &html) }
    }

    func cell(
        _ column: CampaignColumn, _ row: [ReportValue], _ key: [ReportRequest.Condition],
        to html: inout HTML
    ) {
        let campaign = Self.key(answers.now, row)
        let targets = names.campaign { column in key.first { $0.column == column }?.value }?.targets
        html.element("td", ["class": isText(column) ? nil : "number"]) { html in
            switch column.content {
            case .trend: trend(campaign, to: &html)
            case .measure(let measure):
                cell(measure, answers.now, row, key, to: &html)
                if ["cost_micros", "installs"].contains(measure), answers.compared != nil {
                    html.element("small") { change(measure, campaign, to: &$0) }
                }
                if measure == "cpi", let target = targets?.costPerInstallMicros {
                    TargetState(costPerInstall: Self.amount(answers.now, row, measure), target)
                        .write(to: &html)
                }
            case .change(let measure): change(measure, campaign, to: &html)
            case .interval(let low, let high):
                interval(low, high, answers.now, row, key, scale: scales[column.id], to: &html)
            case .returns:
                guard let answer = answers.returns, let row = byReturn[campaign] else {
                    return html.element("span", ["class": "unknown"], text: "–")
                }
                let target = targets?.returnMicros
                interval(
                    "roas_min", "roas_max", answer, row, answer.key(of: row),
                    scale: scales[column.id], target: target.map { Double($0) / 1e6 },
                    to: &html)
                if let target {
                    TargetState(
                        low: Self.amount(answer, row, "roas_min"),
                        high: Self.amount(answer, row, "roas_max"),
                        isFinal: Self.amount(answer, row, "maturity") == 1, target
                    ).write(to: &html)
                }
            }
        }
    }

    private func total(to html: inout HTML) {
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
                    guard ["cost_micros", "installs"].contains(measure),
                        let (now, before) = answers.compared
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
            let index = answer.index(of: "installs"), let rows = byDay[campaign]
        else { return }
        let points = rows.sorted { $0[day].plainText < $1[day].plainText }.map { row in
            let amount = ShownValue.amount(row[index], in: "installs")
            return SmallLine.Point(low: amount, high: amount)
        }
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
