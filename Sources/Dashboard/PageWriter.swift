import ConfigurationValues
import Foundation
import Program
import Reports
import Streams

/// Writes a page from requests: each answer as a table with its numbers linked to their explanations, and with the same
/// rows as files and as a command.
struct PageWriter {
    let source: PageSource
    let context: PageContext
    let period: PageContext.Period
    private(set) var html = HTML()
    /// The first configuration file that prevented a section.
    private(set) var brokenFile: ConfigurationError?
    /// Whether any section has content.
    private(set) var showsAnything = false

    /// The maximum number of rows in a table unless all are requested.
    static let mostRows = 200

    init(_ source: PageSource, _ context: PageContext, period: PageContext.Period) {
        self.source = source
        self.context = context
        self.period = period
    }

    var days: (since: String?, until: String?) { context.bounds(default: period) }

    func answer(
        _ request: ReportAddress, days: (since: String?, until: String?)? = nil,
        keeping bound: RowBound = RowBound(PageSource.mostRows)
    ) throws -> PageAnswer {
        try source.answer(context.limited(request, to: days ?? self.days), keeping: bound)
    }

    // MARK: Parts of a page

    mutating func paragraph(_ text: String, class name: String? = nil) {
        html.element("p", ["class": name], text: text)
    }

    /// A section with a heading. An error is shown in its place, and the rest of the page is still written.
    mutating func section(
        _ title: String, _ note: String? = nil, _ body: (inout PageWriter) throws -> Void
    ) throws {
        var part = PageWriter(source, context, period: period)
        do {
            try body(&part)
            showsAnything = true
        } catch let error as ConfigurationError {
            brokenFile = brokenFile ?? error
            part = PageWriter(source, context, period: period)
            // Files belong to the whole instance and contain other campaigns too.
            let reason =
                context.scope.isEmpty
                ? "a configuration file is invalid: \(error)"
                : "the operator of Weir can open the same address to see the reason."
            part.paragraph("Not shown: \(reason)", class: "warning")
        } catch let error as DashboardError {
            part = PageWriter(source, context, period: period)
            part.paragraph("\(error)", class: "empty")
        } catch InspectionError.noStore(let streams, _) {
            part = PageWriter(source, context, period: period)
            part.writeHowToFill(streams)
        }
        html.element("section") { html in
            html.element("h2", text: title)
            if let note { html.element("p", ["class": "note"], text: note) }
            html.append(part.html)
        }
    }

    /// Explains which records to send, until the first ones arrive.
    private mutating func writeHowToFill(_ streams: [String]) {
        let names = streams.joined(separator: " or ")
        paragraph(
            "No records of \(names) yet. Send some to the collector or publish a file, and run \(streams.map { "weir-\($0)" }.joined(separator: " or ")) (weir up runs all workers):",
            class: "empty")
        for stream in streams.prefix(1) {
            html.element(
                "pre",
                text: "weir publish --topic \(stream) --topics topics examples/\(stream).ndjson")
        }
    }

    /// Large figures of one row, each with the value of the previous period.
    mutating func figures(
        _ request: ReportAddress, _ measures: [(name: String, title: String)]
    ) throws {
        var request = request
        request.measures = measures.map(\.name)
        let now = try answer(request)
        noteUnlimited(request)
        let before = try context.daysBefore(default: period).map {
            try answer(request, days: $0)
        }
        html.element("div", ["class": "figures"]) { html in
            for (name, title) in measures {
                html.element("div", ["class": "figure"]) { html in
                    html.element("span", ["class": "title"], text: title)
                    Self.number(
                        now.only(name), name, now, key: [], row: now.rows.first, to: &html,
                        class: "amount")
                    guard let before else { return }
                    html.element("span", ["class": "before"]) { html in
                        html.text("Previous period: ")
                        Self.number(
                            before.only(name), name, before, key: [], row: before.rows.first,
                            to: &html)
                    }
                }
            }
        }
        files(of: now)
    }

    /// Names the chosen filters and days that do not apply to a page.
    mutating func noteUnused(_ page: DashboardPage) {
        guard page.isOfEverything else { return }
        var names = context.chosen.map { ShownValue.heading($0.column) }
        if page != .operation, context.isLimitedInTime { names.append("days") }
        guard !names.isEmpty else { return }
        paragraph(
            "This page shows everything. It ignores \(names.joined(separator: ", ")).",
            class: "note")
    }

    /// Names the filters that a dump ignores because it does not have the column.
    private mutating func noteUnlimited(_ request: ReportAddress) {
        let columns = request.columns
        let others = context.chosen.filter { condition in
            !columns.contains(condition.column)
                && !context.isOfStorefront(condition, columns)
        }.map(\.column)
        guard !others.isEmpty else { return }
        if others.contains("country"), columns.contains(PageContext.storefront) {
            paragraph(
                "All storefronts are shown. To filter them, write the country with three letters, for example USA.",
                class: "note")
        }
        let unsaid = others.filter { $0 != "country" || !columns.contains(PageContext.storefront) }
        guard !unsaid.isEmpty else { return }
        let names = unsaid.map(ShownValue.heading).joined(separator: " or ")
        paragraph(
            "The filter on \(names) has no effect here, because rows of \(request.name) have no such column.",
            class: "note")
    }

    /// An interval as `low to high`; a single amount if both are equal.
    mutating func intervals(
        _ request: ReportAddress, _ pairs: [(low: String, high: String, title: String)]
    ) throws {
        var request = request
        request.measures = pairs.flatMap { [$0.low, $0.high] }
        let now = try answer(request)
        html.element("div", ["class": "figures"]) { html in
            for (low, high, title) in pairs {
                html.element("div", ["class": "figure wide"]) { html in
                    html.element("span", ["class": "title"], text: title)
                    html.element("span", ["class": "amount"]) { html in
                        Self.number(now.only(low), low, now, key: [], to: &html)
                        guard now.only(low) != now.only(high) else { return }
                        html.text(" to ")
                        Self.number(now.only(high), high, now, key: [], to: &html)
                    }
                }
            }
        }
    }

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
        for notice in answer.notices { paragraph(notice, class: "note") }
        noteUnlimited(answer.request)
        if let note = answer.noteOnCostPerInstall { paragraph(note, class: "note") }
        guard !answer.rows.isEmpty else {
            paragraph("No rows for these days and filters.", class: "empty")
            return files(of: answer)
        }
        var answer = answer
        answer.leaveOutEmptyRows()
        if sort == nil { answer.orderNaturally() }
        let places = Self.filledPlaces(of: answer, keepsAsked: keepsAsked)
        var rows = answer.rows
        if let sort, let place = answer.place(of: sort) {
            let amounts = rows.map { ShownValue.order($0[place], in: sort) }
            rows = rows.indices.sorted {
                amounts[$0] == amounts[$1] ? $0 < $1 : amounts[$0] > amounts[$1]
            }.map { rows[$0] }
        }
        let shown = rows.prefix(limit)
        let decimals = Dictionary(
            uniqueKeysWithValues: places.map { place in
                (
                    place,
                    ShownValue.places(
                        of: shown.lazy.map { $0[place] }, in: answer.table.columns[place].name)
                )
            })
        html.element("div", ["class": "scroll"]) { html in
            html.element("table") { html in
                html.element("thead") { html in
                    html.element("tr") { html in
                        for place in places {
                            let column = answer.table.columns[place]
                            html.element(
                                "th", ["scope": "col", "class": column.isNumber ? "number" : nil],
                                text: ShownValue.heading(column.name))
                        }
                    }
                }
                html.element("tbody") { html in
                    for row in shown {
                        Self.row(row, places, decimals, answer, link, to: &html)
                    }
                }
            }
        }
        let more = max(0, rows.count - limit) + answer.moreRows
        if more > 0 {
            let subject =
                "\(ShownValue.grouped(Int128(more))) more \(more == 1 ? "row is" : "rows are")"
            paragraph("\(subject) in the files below.", class: "note")
        }
        files(of: answer)
    }

    /// Leaves out columns of numbers that are 0 or unknown in every row; files contain them. A maturity of 0 stays,
    /// because it means that no row is final.
    ///
    /// - Parameter keepsAsked: whether explicitly requested columns stay.
    private static func filledPlaces(of answer: PageAnswer, keepsAsked: Bool) -> [Int] {
        answer.table.columns.indices.filter { place in
            place < answer.firstMeasure || answer.table.columns[place].name == "maturity"
                || keepsAsked
                    && answer.request.measures?.contains(answer.table.columns[place].name) == true
                || answer.rows.contains { !$0[place].isZero }
        }
    }

    private static func row(
        _ row: [ReportValue], _ places: [Int], _ decimals: [Int: Int],
        _ answer: PageAnswer,
        _ link: (([ReportRequest.Condition]) -> PageAddress?)?, to html: inout HTML
    ) {
        let key = answer.key(of: row)
        let target = link?(key)
        html.element("tr") { html in
            for place in places {
                let column = answer.table.columns[place]
                guard place < answer.firstMeasure else {
                    html.element("td", ["class": "number"]) { html in
                        number(
                            row[place], column.name, answer, key: key, row: row,
                            decimals: decimals[place], to: &html)
                    }
                    continue
                }
                let text = answer.name(row, place)
                html.element(
                    place == 0 ? "th" : "td",
                    [
                        "scope": place == 0 ? "row" : nil,
                        "class": column.isNumber ? "number" : nil,
                    ]
                ) { html in
                    if let target, !text.isEmpty, ["campaign", "name"].contains(column.name) {
                        html.link(text, to: target)
                    } else {
                        html.text(text)
                    }
                }
            }
        }
    }

    /// A number as a link to its explanation.
    private static func number(
        _ value: ReportValue?, _ measure: String, _ answer: PageAnswer,
        key: [ReportRequest.Condition], row: [ReportValue]? = nil, decimals: Int? = nil,
        to html: inout HTML, class name: String? = nil
    ) {
        func unknown(_ why: String) {
            html.element("span", ["class": "unknown", "title": why], text: "–")
        }
        guard let value, value != .null else {
            return unknown("unknown, or nothing to divide by")
        }
        let currency = (key + answer.request.conditions).first { $0.column == "currency" }?.value
        var text = ShownValue.text(
            value, in: measure, isKey: false, currency: currency, places: decimals)
        // An amount that is not known is not 0.
        guard !text.isEmpty else { return unknown("the amount is unknown") }
        if measure == "cpi", let cost = row?[answer.place(of: "cost_micros") ?? 0],
            case .money(let money) = cost, let currency = money.amounts.first?.currency
        {
            text = "\(currency) \(text)"
        }
        guard answer.isExplained(measure) else {
            html.element("span", ["class": name], text: text)
            return
        }
        let address = answer.request.explanation(of: measure, where: key)
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

    /// Links to the same rows as files and at earlier times, and the command.
    mutating func files(of answer: PageAnswer) { files(of: answer.request) }

    mutating func files(of request: ReportAddress) {
        files(
            [
                ("CSV", request.address(as: .csv)), ("JSON", request.address(as: .json)),
                ("this table on its own page", request.address),
            ], request.command(source.clockWords))
    }

    mutating func files(_ links: [(name: String, address: PageAddress)], _ command: String) {
        html.files(links, command)
    }

    mutating func write(_ body: (inout HTML) throws -> Void) rethrows { try body(&html) }
}

extension HTML {
    /// Links to the same rows as files, and the command.
    ///
    /// - Parameter note: a note on the files.
    mutating func files(
        _ links: [(name: String, address: PageAddress)], _ command: String, note: String = ""
    ) {
        element("details", ["class": "files"]) { html in
            html.element("summary", text: "CSV, JSON, command")
            html.element("p") { html in
                for (name, address) in links {
                    html.link(name, to: address)
                    html.text(" ")
                }
                html.text(note)
            }
            html.element("pre", text: command)
        }
    }
}
