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
    let earlier: [[String]: [ReportValue]]
    let current: [[String]: [ReportValue]]
    let byReturn: [[String]: [ReportValue]]
    let byEstimate: [[String]: [ReportValue]]
    let byDay: [[String]: [[ReportValue]]]
    let rows: [[ReportValue]]
    let decimals: [Int: Int]
    /// The end of the bars of each interval, by the id of its column.
    let scales: [String: Double]

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
        let isChosen = !isShort && Self.hasChosenColumns(context)
        self.columns = columns.filter { isChosen || Self.hasContent($0, answers, names) }
        order = try Self.order(isShort ? nil : context.parameters[Self.sort].nonempty)
        func byKey(_ answer: PageAnswer?) -> [[String]: [ReportValue]] {
            Dictionary(
                answer?.rows.map { (Self.key(answer, $0), $0) } ?? [],
                uniquingKeysWith: { first, _ in first })
        }
        earlier = byKey(answers.compared?.before)
        current = byKey(answers.compared?.now)
        byReturn = byKey(answers.returns)
        byEstimate = byKey(answers.estimates?.answer)
        byDay = Dictionary(grouping: answers.days?.rows ?? []) { Self.key(answers.days, $0) }
        decimals = answers.now.fractionDigits(of: answers.now.rows)
        let (column, isDescending) = order
        let (past, present, returns, estimates) = (earlier, current, byReturn, byEstimate)
        let amounts = answers.now.rows.map { row -> Double in
            let key = Self.key(answers.now, row)
            switch column.content {
            case .returns:
                return Self.amount(answers.returns, returns[key], "roas_min") ?? -.infinity
            case .complete:
                return Self.amount(answers.returns, returns[key], "maturity") ?? -.infinity
            case .estimate:
                let low = EstimatedReturns.low
                return Self.amount(answers.estimates?.answer, estimates[key], low) ?? -.infinity
            case .target:
                let targets = Self.targets(answers.now.key(of: row), names)
                let states = TargetStates(targets, answers, row, returns[key], estimates[key])
                return states.deciding?.order ?? -.infinity
            case .change(let measure):
                guard let new = Self.amount(answers.compared?.now, present[key], measure),
                    let old = Self.amount(answers.compared?.before, past[key], measure), old > 0
                else { return -.infinity }
                return new / old
            case .measure(let measure), .interval(let measure, _):
                return answers.now.index(of: measure).map {
                    ShownValue.order(row[$0], in: measure)
                } ?? -.infinity
            case .trend: return -.infinity
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

    private static func hasContent(
        _ column: CampaignColumn, _ answers: CampaignAnswers, _ names: PageNames
    ) -> Bool {
        let (answer, measure): (PageAnswer?, String) =
            switch column.content {
            case .trend: (answers.days, "installs")
            case .measure(let name), .change(let name), .interval(_, let name): (answers.now, name)
            case .estimate: (answers.estimates?.answer, EstimatedReturns.low)
            // The narrow range replaces the wide one.
            case .returns: (answers.estimates == nil ? answers.returns : nil, "roas_min")
            case .complete: (answers.returns, "installs")
            case .target: (names.hasTargets ? answers.now : nil, "cost_micros")
            }
        guard let answer, let index = answer.index(of: measure) else { return false }
        return answer.rows.contains { !$0[index].isZero || answer.isUnknown($0, index) }
    }

    /// Whether the address has the columns.
    static func hasChosenColumns(_ context: PageContext) -> Bool {
        context.parameters[chosen].nonempty != nil
    }

    /// Whether a shown column, or the order of the rows, needs estimates.
    static func isEstimated(_ context: PageContext) throws -> Bool {
        try columns(context).contains(where: \.isEstimated)
            || order(context.parameters[sort].nonempty).column.isEstimated
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
        let sortable = CampaignColumn.all.filter(\.isSortable)
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

    static func amount(
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
        case .estimate:
            amounts = (answers.estimates?.answer.rows ?? []).compactMap {
                amount(answers.estimates?.answer, $0, EstimatedReturns.high)
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
        let isOrder = order.column.id == column.id && column.isSortable
        let direction = isOrder ? (order.isDescending ? "descending" : "ascending") : nil
        html.element(
            "th",
            [
                "scope": "col", "class": isText(column) ? nil : "number", "aria-sort": direction,
                "title": column.note.isEmpty ? nil : column.note,
            ]
        ) { html in
            guard column.isSortable else { return html.text(column.title) }
            let other = isOrder && order.isDescending ? column.id : "-\(column.id)"
            let address =
                isShort
                ? context.address(DashboardPage.campaigns.path, [(Self.sort, other)])
                : context.address(changing: [Self.sort: other])
            html.link(column.title, to: address)
            if isOrder { html.text(order.isDescending ? " ↓" : " ↑") }
        }
    }

    func isText(_ column: CampaignColumn) -> Bool {
        switch column.content {
        case .trend, .target: true
        default: false
        }
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
            if answers.now.isReengagement(row) {
                html.element("small", text: "Re-engagement campaign")
            }
        }
        for column in columns { cell(column, row, key, to: &html) }
    }
}
