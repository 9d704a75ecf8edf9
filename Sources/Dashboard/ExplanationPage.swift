import EventLog
import Foundation
import History
import Program
import Reports
import Streams
import Wording

/// Explains a number while the records are being read: its sum, its records and the excluded ones.
struct ExplanationPage {
    let source: PageSource
    let context: PageContext
    let request: ReportAddress
    /// The requested measure; nil for all.
    let measure: String?

    /// Lists only records from this time on; nil for all.
    let from: (text: String, milliseconds: Int64)?
    /// Whether to fold all records again.
    let verifies: Bool

    private static let mostRecords = 100
    static let mostRecordsInFile = 10_000
    /// The number of records between two progress updates.
    private static let progressRecords = 50_000

    init(_ source: PageSource, _ context: PageContext, _ dump: String) throws {
        self.source = source
        self.context = context
        request = try context.request(dump)
        measure = context.parameters["measure"].nonempty
        if request.hidesAppSums, let measure,
            try requireReport(dump).appMeasures.contains(measure)
        {
            throw DashboardError.outOfScope("\(measure) of the funnel", "campaign")
        }
        verifies = context.parameters["verify"] == "true"
        from = try context.parameters["from"].nonempty.map { text in
            guard let time = UTC.milliseconds(text: text) else {
                throw CommandError.usage(
                    "from must be a time, for example 2026-11-21 or 2026-11-21T05:00:00Z, not '\(text)'"
                )
            }
            return (text, time)
        }
    }

    var title: String {
        let name = measure.map(ShownValue.heading) ?? "all measures"
        return "\(name) of \(request.name)"
    }

    private var resolvedTotal: ReportRequest {
        get throws { try request.resolvedTotal(in: source.timeZone(of: request)) }
    }

    private var figure: any Figure {
        get throws {
            try Explainer.figure(resolvedTotal, source.configuration)
        }
    }

    /// The same figure for evidence: sums of stored rows only.
    private var provableFigure: any Figure {
        get throws {
            try requireReport(request.name)
                .provableFigure(resolvedTotal, source.configuration)
        }
    }

    /// Reads the records and writes piece by piece.
    ///
    /// - Parameter isWanted: false once the reader has gone; writing then ends with `CancellationError`.
    func write(
        isWanted: @escaping @Sendable () -> Bool, _ emit: (HTML) throws -> Void
    ) throws {
        try withoutActuallyEscaping(emit) { try write(while: isWanted, $0) }
    }

    private func write(
        while isWanted: @escaping @Sendable () -> Bool, _ emit: @escaping (HTML) throws -> Void
    ) throws {
        try emit(beginning)
        var fault: (any Error)?
        var (read, shown) = (0, 0)
        do {
            let (explanation, report) = try explain(
                limit: Self.mostRecords, while: isWanted
            ) { count, left in
                read += count
                guard fault == nil, read - shown >= Self.progressRecords else { return }
                shown = read
                do { try emit(progress(read, left)) } catch { fault = error }
            }
            if let fault { throw fault }
            var conversion = HTML()
            try writeConversion(to: &conversion)
            try emit(conversion)
            try emit(end(explanation, report))
        } catch ExplanationError.severalCurrencies(_, _, let currencies) {
            var html = HTML()
            if let division = try division { write(division, to: &html) }
            try writeConversion(to: &html)
            html.append(choice(of: currencies))
            try emit(html)
        }
    }

    private func explain(
        limit: Int, while isWanted: @escaping @Sendable () -> Bool,
        progress: @escaping (_ count: Int, _ left: Int64) -> Void = { _, _ in }
    ) throws -> (Explanation, ExplainReport) {
        let figure = try figure
        var report = ExplainReport(
            figure.name, request.conditions.map { "\($0.column)=\($0.value)" }, limit: limit,
            fromMilliseconds: from?.milliseconds)
        // Readers of some campaigns must not see the number of other records.
        report.hidesUntold = !context.scope.isEmpty
        let explanation = try source.installation.explainer(while: isWanted).explain(
            // The measures of amounts are known only after reading, when their currencies are.
            figure, measures: { try Explainer.measures(measure, of: $0) },
            limit: from == nil && !verifies ? limit : nil, progress: progress
        ) { _ = report.add($0) }
        report.settle(explanation)
        report.division = try division
        if let measure {
            report.cost = try requireReport(request.name).costInWords(
                measure, resolvedTotal, source.stores, source.configuration)
        }
        return (explanation, report)
    }

    /// The records in the format of `weir explain` for programs.
    func file(
        as format: DumpFormat, while isWanted: @escaping @Sendable () -> Bool
    ) throws -> [UInt8] {
        let (explanation, report) = try explain(limit: Self.mostRecordsInFile, while: isWanted)
        var bytes: [UInt8] = []
        report.write(explanation, as: format, to: { bytes += $0 })
        return bytes
    }

    /// The terms of a rate; nil for a sum.
    private var division: FunnelDivision? {
        get throws {
            guard let measure else { return nil }
            return try requireReport(request.name).division(
                of: measure, resolvedTotal, source.stores, source.configuration)
        }
    }

    private func progress(_ read: Int, _ left: Int64) -> HTML {
        var html = HTML()
        html.element(
            "p", ["class": "progress"],
            text:
                "\(ShownValue.grouped(Int128(read))) offsets read, \(ShownValue.grouped(Int128(left))) left …"
        )
        return html
    }

    private var beginning: HTML {
        var html = HTML()
        html.element("h1", text: title)
        html.element("ul", ["class": "conditions"]) { html in
            for condition in request.conditions {
                html.element(
                    "li",
                    text:
                        "\(condition.column): \(condition.value.isEmpty ? "(none)" : condition.value)"
                )
            }
            if let since = request.since { html.element("li", text: "from \(since)") }
            if let until = request.until { html.element("li", text: "before \(until)") }
            if let from { html.element("li", text: "listed: records since \(from.text)") }
        }
        if request.asOf != nil {
            html.element(
                "p", ["class": "note"],
                text: "This explains the current contents of the stores, not an earlier state."
            )
        }
        return html
    }

    private func end(_ explanation: Explanation, _ report: ExplainReport) -> HTML {
        var html = HTML()
        if let division = report.division { write(division, to: &html) }
        html.element("section") { html in
            html.element("h2", text: "Sum")
            // Without contributions, do not name the measures. A rate then has no value, which its division shows.
            if explanation.measures.isEmpty, let measure, report.division == nil {
                html.element("p", ["class": "sum"]) { html in
                    html.element("span", text: ShownValue.heading(measure))
                    html.element(
                        "span", ["class": "amount"],
                        text: currency == nil ? "0" : ShownValue.sum(0, of: measure, currency))
                }
            }
            for measure in explanation.measures {
                html.element("p", ["class": "sum"]) { html in
                    // Several measures are explained separately: one by one, and currency by currency.
                    let name = ShownValue.sumHeading(measure.name)
                    if explanation.measures.count > 1 {
                        html.link(name, to: request.explanation(of: measure.name, where: []))
                    } else {
                        html.element("span", text: name)
                    }
                    html.element(
                        "span", ["class": "amount"],
                        text: measure.stored.map {
                            ShownValue.sum($0, of: measure.label, currency)
                        } ?? "unknown")
                }
            }
            if explanation.measures.contains(where: { $0.name.contains("billed_price_micros") }) {
                html.element(
                    "p", ["class": "note"],
                    text:
                        "Billed prices are per thousand impressions (CPM), so the billed amount (earnings of a publisher, cost of an advertiser) is their sum divided by 1,000."
                )
            }
            if let cost = report.cost { html.element("p", ["class": "note"], text: cost) }
            for line in explanation.summary {
                html.element(
                    "p", ["class": explanation.addsUp ? "good" : "warning"], text: line)
            }
            if !explanation.erased.isEmpty {
                html.element(
                    "p", ["class": "note"],
                    text:
                        "\(Wording.counted(Int64(explanation.erased.count), "record")) that counted \(explanation.erased.count == 1 ? "was" : "were") erased. The number contains what they added."
                )
            }
            if !explanation.isVerified {
                html.element("p") { html in
                    html.link(
                        "Verify",
                        to: PageAddress(
                            "/explain/\(request.name)", ownParameters + [("verify", "true")]))
                    html.text(": folds all records of these hours again. This can take minutes.")
                }
            }
            if let from {
                for measure in explanation.measures {
                    html.element("p", ["class": "sum"]) { html in
                        html.element(
                            "span",
                            text: "since \(from.text): \(ShownValue.heading(measure.name))")
                        html.element(
                            "span", ["class": "amount"],
                            text: ShownValue.sum(
                                report.listed[measure.index], of: measure.label, currency))
                    }
                }
            }
            for stream in explanation.missingStreams {
                html.element(
                    "p", ["class": "note"],
                    text: "\(stream) has no store, so its share is unknown.")
            }
        }
        write(
            report.counted, of: report.countedCount, explanation, "Counted records",
            to: &html)
        write(
            report.leftOut, of: report.leftOutCount, nil, "Records that were not counted", to: &html
        )
        if report.countedCount + report.leftOutCount > 0 { writeFiles(report, to: &html) }
        if context.scope.isEmpty, !explanation.untold.isEmpty {
            html.element("section") { html in
                html.element("h2", text: "All records of these hours that were not counted")
                for untold in explanation.untold {
                    html.element(
                        "p", text: "\(untold.topic): \(untold.records) \(untold.reason)")
                }
            }
        }
        if context.scope.isEmpty, explanation.unexamined > 0 {
            html.element(
                "p", ["class": "note"],
                text:
                    "\(ShownValue.grouped(Int128(explanation.unexamined))) more records of these hours were not accepted, whatever they belong to. Verify shows whether they belong here."
            )
        }
        writeDoors(to: &html)
        return html
    }

    /// A rate as a division. Its numbers link to their explanations.
    private func write(_ division: FunnelDivision, to html: inout HTML) {
        func link(_ term: FunnelDivision.Term, to html: inout HTML) {
            let value = ShownValue.exact(term.value)
            html.link(value, to: request.explanation(of: term.name, where: []), class: "amount")
        }
        html.element("section") { html in
            html.element("h2", text: "Calculation")
            html.element("p", ["class": "division"]) { html in
                html.text("\(ShownValue.formula(division)) = ")
                for part in division.parts {
                    switch part {
                    case .term(let term): link(term, to: &html)
                    case .sign(let sign): html.text(sign)
                    }
                }
                html.text(" = ")
                guard division.reasonUnknown == nil else {
                    return html.text(division.reasonUnknown ?? "")
                }
                html.element(
                    "strong", ["class": "amount"],
                    text: [
                        division.currency, ShownValue.exact(division.value, in: division.measure),
                    ]
                    .compactMap(\.self).joined(separator: " "))
            }
            if let kind = ReturnKind(division.measure, of: request.name) {
                html.element("p", ["class": "note"], text: kind.note)
            }
            if let target = request.target {
                html.element(
                    "p", ["class": "note"],
                    text:
                        "Amounts are converted to \(target) with rates.csv. Their explanations have the recorded amounts."
                )
            }
            for note in division.notes { html.element("p", ["class": "note"], text: note) }
        }
    }

    private var currency: String? {
        request.conditions.first { $0.column == "currency" }?.value
    }

    private func write(
        _ entries: [ExplainReport.Entry], of count: Int64, _ explanation: Explanation?,
        _ title: String, to html: inout HTML
    ) {
        guard count > 0 else { return }
        var columns: [ReportColumn<ExplainReport.Entry>] = [
            .text("record") { "\($0.position)" },
            .text("time") { UTC.text(milliseconds: $0.timestampMilliseconds) },
            .text("type") { $0.type },
        ]
        for measure in explanation?.measures ?? [] {
            columns.append(.number(measure.name) { $0.amounts[measure.index] })
        }
        if entries.contains(where: { $0.reason != nil }) {
            columns.append(.text("why") { $0.reason })
        }
        html.element("section") { html in
            html.element("h2", text: "\(title): \(ShownValue.grouped(Int128(count)))")
            let table = ReportTable(entries, columns)
            let measures = explanation?.measures ?? []
            ReportView.write(
                table, to: &html,
                text: { row, column in
                    let value = table.rows[row][column]
                    guard
                        let measure = measures.first(where: {
                            $0.name == table.columns[column].name
                        }),
                        case .integer(let amount) = value
                    else { return value.plainText }
                    return ShownValue.sum(amount, of: measure.label, currency)
                },
                link: { row, column in
                    column == 0 && context.scope.isEmpty
                        ? PageWriter.address(of: entries[row].position) : nil
                })
            guard count > entries.count else { return }
            html.element(
                "p", ["class": "note"],
                text: "The first \(entries.count) are shown. The files below have more."
            )
        }
    }

    /// The choice of a currency: amounts of several currencies are explained separately.
    private func choice(of currencies: [String]) -> HTML {
        var html = HTML()
        html.element("section") { html in
            html.element("h2", text: "By currency")
            html.element(
                "p", ["class": "note"],
                text: "Amounts in different currencies cannot be added. Choose one:")
            html.element("p", ["class": "choices"]) { html in
                for currency in currencies {
                    html.link(
                        currency.isEmpty ? "(none)" : currency,
                        to: request.explanation(
                            of: measure,
                            where: [ReportRequest.Condition(column: "currency", value: currency)]))
                }
            }
        }
        return html
    }

    /// Writes the evidence of the number to a file. Secrets are masked.
    func writeEvidence(to path: String, while isWanted: @escaping @Sendable () -> Bool) throws {
        _ = try source.installation.explainer(while: isWanted).writeEvidence(
            of: provableFigure, measure: measure, to: path,
            measures: { try Explainer.measures(measure, of: $0) }
        ) { record in
            SecretMask(topic: record.topic).masked(record.folded.record)
        }
    }
}

extension ExplainReport.Entry {
    var position: TopicPosition {
        TopicPosition(topic: topic, partition: partition, offset: offset)
    }
}

extension Installation {
    /// Explains numbers until the reader goes.
    func explainer(while isWanted: @escaping @Sendable () -> Bool) throws -> Explainer {
        var explainer = try explainer()
        explainer.isWanted = isWanted
        return explainer
    }
}
