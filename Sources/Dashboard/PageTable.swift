import Reports

// The rows of a request as a table: each number is a link to its explanation, and ids have the catalog's names.

extension PageWriter {
    /// The rows of a request as a table.
    ///
    /// - Parameters:
    ///   - sort: sorts by this measure, largest first; nil keeps the order of the columns.
    ///   - link: the target of a row's key.
    mutating func table(
        _ request: ReportAddress, sort: String? = nil,
        link: (([ReportRequest.Condition]) -> PageAddress?)? = nil, limit: Int = mostRows
    ) throws {
        // Rows without a number are left out of the table, so they must not use up the limit.
        let bound = RowBound(sort == nil ? PageSource.mostRows : limit, largest: sort)
        try table(answer(request, keeping: bound), sort: sort, link: link, limit: limit)
    }

    mutating func table(
        _ answer: PageAnswer, sort: String? = nil,
        link: (([ReportRequest.Condition]) -> PageAddress?)? = nil, limit: Int = mostRows,
        keepsAsked: Bool = false
    ) throws {
        writeNotices(answer.notices)
        if let note = answer.noteOnCostPerInstall { paragraph(note, class: "note") }
        guard !answer.rows.isEmpty else {
            writeNoRows()
            return files(of: answer)
        }
        var answer = answer
        answer.leaveOutEmptyRows()
        if sort == nil { answer.orderNaturally() }
        let rows = answer.rows(largest: sort)
        let shown = rows.prefix(limit)
        let indices = Self.shownIndices(of: answer, keepsAsked: keepsAsked)
        let headings = indices.map { index in
            let name = answer.table.columns[index].name
            return (heading: ShownValue.heading(name), measure: name)
        }
        for note in answer.notesAboveWhole(headings) { paragraph(note, class: "note") }
        let decimals = answer.fractionDigits(of: shown)
        let names = source.names(for: context.scope)
        let title = sectionTitle
        write { html in
            html.table(named: title) { html in
                html.element("thead") { html in
                    html.element("tr") { html in
                        for index in indices {
                            let column = answer.table.columns[index]
                            html.element(
                                "th",
                                [
                                    "scope": "col",
                                    "class": index >= answer.firstMeasure ? "number" : nil,
                                    "title": ShownValue.note(column.name),
                                ], text: ShownValue.heading(column.name))
                        }
                    }
                }
                html.element("tbody") { html in
                    var previous: [ReportValue]?
                    for row in shown {
                        if sort == nil, let previous {
                            Self.gap(from: previous, to: row, indices, answer, to: &html)
                        }
                        Self.row(row, indices, decimals, answer, names, link, to: &html)
                        previous = row
                    }
                }
            }
        }
        let more = max(0, rows.count - limit) + answer.moreRows
        writeConstants(answer.hiddenKeys)
        writeMoreRows(more)
        files(of: answer)
    }

    mutating func writeMoreRows(_ count: Int) {
        guard count > 0 else { return }
        let subject =
            "\(ShownValue.grouped(Int128(count))) more \(count == 1 ? "row is" : "rows are")"
        paragraph("\(subject) in the files below.", class: "note")
    }

    /// Names the columns that have the same value in all rows, in place of the columns.
    mutating func writeConstants(_ keys: [ReportRequest.Condition]) {
        guard !keys.isEmpty else { return }
        let names = source.names(for: context.scope)
        let words = keys.map { key in
            let value = key.value.isEmpty ? "unknown" : key.value
            let name = names.name(key.value, in: key.column).map { "\($0) (\(value))" } ?? value
            return "\(ShownValue.heading(key.column)) \(name)"
        }
        paragraph("All rows: \(words.joined(separator: ", ")).", class: "note")
    }

    /// Explains an empty table, with a link that shows more rows.
    mutating func writeNoRows() {
        let filters = context.chosen.map(\.column)
        let context = context
        write { html in
            html.element("p", ["class": "empty"]) { html in
                html.text("No rows for these days and filters. ")
                if !filters.isEmpty {
                    html.link(
                        "Remove the filters",
                        to: context.address(
                            changing: Dictionary(
                                filters.map { ($0, nil) }, uniquingKeysWith: { first, _ in first })
                        ))
                } else if context.parameters[PageContext.period] != PageContext.Period.all.rawValue
                {
                    html.link(
                        "Show all days",
                        to: context.address(changing: [
                            PageContext.period: PageContext.Period.all.rawValue, "since": nil,
                            "until": nil,
                        ]))
                }
            }
        }
    }

    /// Leaves out columns of numbers that are 0 or unknown in every row; files contain them. A maturity of 0 stays,
    /// because it means that no row is final. A campaign's name, network and app are in the cell of its
    /// id.
    ///
    /// - Parameter keepsAsked: whether explicitly requested columns stay.
    private static func shownIndices(of answer: PageAnswer, keepsAsked: Bool) -> [Int] {
        let keys = answer.table.columns.prefix(answer.firstMeasure).map(\.name)
        return answer.table.columns.indices.filter { index in
            let name = answer.table.columns[index].name
            guard index >= answer.firstMeasure else {
                guard !answer.hiddenKeys.contains(where: { $0.column == name }) else {
                    return false
                }
                return
                    !(name == "name" && keys.contains("campaign")
                    || answer.hasWholeCampaign && ["ad_network_id", "app_id"].contains(name))
            }
            return name == "maturity"
                || keepsAsked && answer.request.measures?.contains(name) == true
                || answer.rows.contains { !$0[index].isZero }
        }
    }

    /// A row for each day between two rows of which there is none.
    private static func gap(
        from first: [ReportValue], to last: [ReportValue], _ indices: [Int], _ answer: PageAnswer,
        to html: inout HTML
    ) {
        guard let dayKey = answer.dayKey else { return }
        let keys = [first, last].map { $0.prefix(dayKey + 1).map(\.plainText) }
        for day in DayGap.days(between: keys[0], and: keys[1], at: dayKey) {
            let isEmpty = answer.emptyDays.contains(keys[0].dropLast() + [day])
            let reason = isEmpty ? DayGap.onlyZeros : DayGap.noRecords
            html.element("tr") { html in
                for (position, index) in indices.enumerated() {
                    guard index < answer.firstMeasure else {
                        html.gapNumber(reason)
                        continue
                    }
                    html.rowHeader(isFirst: position == 0) { html in
                        if index == dayKey {
                            html.gap(day, reason)
                        } else {
                            html.named(index < dayKey ? answer.name(first, index) : "", nil)
                        }
                    }
                }
            }
        }
    }

    private static func row(
        _ row: [ReportValue], _ indices: [Int], _ decimals: [Int: Int],
        _ answer: PageAnswer, _ names: PageNames,
        _ link: (([ReportRequest.Condition]) -> PageAddress?)?, to html: inout HTML
    ) {
        let key = answer.key(of: row)
        let target = link?(key)
        html.element("tr") { html in
            for (position, index) in indices.enumerated() {
                let column = answer.table.columns[index]
                guard index < answer.firstMeasure else {
                    html.element("td", ["class": "number"]) { html in
                        NumberLink(answer, key: key, row: row).write(
                            row[index], of: column.name, decimals: decimals[index], to: &html)
                    }
                    continue
                }
                let text = answer.name(row, index)
                let name =
                    answer.stepName(text, in: column.name)
                    ?? names.name(text, in: column.name) { answer.text(of: row, in: $0) }
                let isCampaign = ["campaign", "name"].contains(column.name)
                html.rowHeader(isFirst: position == 0) { html in
                    if column.name == "campaign", answer.hasWholeCampaign {
                        html.campaign(key + answer.names(of: row), names, link: target)
                    } else if column.name == "campaign", text.isEmpty {
                        html.element("span", ["class": "unknown"], text: "No campaign")
                    } else if name == nil, let plain = ShownValue.name(text, in: column.name) {
                        html.element("span", ["title": text], text: plain)
                    } else {
                        html.named(text, name, link: isCampaign ? target : nil)
                    }
                }
            }
        }
    }
}

extension PageAnswer {
    /// Whether keys have the network and the app of each campaign.
    var hasWholeCampaign: Bool {
        let keys = table.columns.prefix(keyCount).map(\.name)
        return Funnel.campaignColumns.allSatisfy(keys.contains)
    }

    /// The columns between the keys and the measures.
    func names(of row: [ReportValue]) -> [ReportRequest.Condition] {
        zip(table.columns, row).prefix(firstMeasure).dropFirst(keyCount).map {
            ReportRequest.Condition(column: $0.name, value: $1.plainText)
        }
    }

    /// The value of a row's column as a text; nil without the column.
    func text(of row: [ReportValue], in column: String) -> String? {
        index(of: column).map { row[$0].plainText }
            ?? request.conditions.first { $0.column == column }?.value
    }

    /// The common number of decimals of each column, by index.
    func fractionDigits(of rows: some Collection<[ReportValue]>) -> [Int: Int] {
        Dictionary(
            uniqueKeysWithValues: table.columns.indices.map { index in
                (
                    index,
                    ShownValue.fractionDigits(
                        of: rows.lazy.map { $0[index] }, in: table.columns[index].name)
                )
            })
    }
}

/// Writes the numbers of a row as links to their explanations.
struct NumberLink {
    private let answer: PageAnswer
    private let key: [ReportRequest.Condition]
    private let row: [ReportValue]?

    init(_ answer: PageAnswer, key: [ReportRequest.Condition] = [], row: [ReportValue]? = nil) {
        self.answer = answer
        self.key = key
        self.row = row
    }

    /// A number; a dash for an unknown one.
    ///
    /// - Parameters:
    ///   - isShort: whether an amount omits its currency, because the text before it has it.
    ///   - isLinked: whether it is a number of the answer, which may have an explanation.
    func write(
        _ value: ReportValue?, of measure: String, decimals: Int? = nil, isShort: Bool = false,
        isLinked: Bool = true, to html: inout HTML, class name: String? = nil
    ) {
        func unknown(_ why: String) {
            html.element("span", ["class": "unknown", "title": why], text: "–")
        }
        guard let value, value != .null else {
            return unknown("unknown, or nothing to divide by")
        }
        // An amount that is not known is not 0.
        let text = text(value, of: measure, decimals: decimals, isShort: isShort)
        guard !text.isEmpty else { return unknown("the amount is unknown") }
        guard isLinked, answer.isExplained(measure) else {
            html.element("span", ["class": name], text: text)
            return
        }
        let address = answer.request.explanation(of: answer.explanation(of: measure), where: key)
        // Amounts of several currencies may wrap.
        let parts = text.components(separatedBy: "; ")
        guard parts.count > 1 else { return html.link(text, to: address, class: name) }
        html.element("a", ["href": address.text, "class": name ?? "parts"]) { html in
            for (index, part) in parts.enumerated() {
                html.element("span", text: index + 1 < parts.count ? "\(part);" : part)
                html.text(" ")
            }
        }
    }

    private func text(
        _ value: ReportValue, of measure: String, decimals: Int?, isShort: Bool
    ) -> String {
        let currency = (key + answer.request.conditions).first { $0.column == "currency" }?.value
        let text = ShownValue.text(
            value, in: measure, isKey: false, currency: isShort ? nil : currency,
            fractionDigits: decimals)
        if isShort, case .money(let money) = value, money.amounts.count == 1,
            let currency = money.amounts.first?.currency, !currency.isEmpty
        {
            return String(text.dropFirst(currency.count + 1))
        }
        guard measure == "cpi", !isShort, let index = answer.index(of: "cost_micros"),
            let cost = row?[index], case .money(let money) = cost,
            let currency = money.amounts.first?.currency
        else { return text }
        return "\(currency) \(text)"
    }
}

extension HTML {
    /// A table in a box of its own, which scrolls instead of the page.
    mutating func table(
        named title: String, class name: String? = nil, _ body: (inout HTML) throws -> Void
    ) rethrows {
        try element(
            "div",
            [
                "class": "scroll", "tabindex": "0", "role": "group",
                "aria-label": title.isEmpty ? "Table" : "Table: \(title)",
            ]
        ) { try $0.element("table", ["class": name], body) }
    }

    /// A cell that identifies its row.
    mutating func rowHeader(isFirst: Bool, _ body: (inout HTML) throws -> Void) rethrows {
        if isFirst {
            try element("th", ["scope": "row"], body)
        } else {
            try element("td", [:], body)
        }
    }

    /// A name with its id beneath; only the id without a name.
    mutating func named(_ id: String, _ name: String?, link: PageAddress? = nil) {
        let shown = name ?? id
        guard !shown.isEmpty else {
            return element("span", ["class": "unknown", "title": "no value"], text: "–")
        }
        if let link { self.link(shown, to: link) } else { text(shown) }
        if name != nil, name != id { element("small", text: id) }
    }
}
