import Reports

extension PageWriter {
    /// Fewer records say little about a share.
    static let fewestRecords = 30.0

    /// The signals of each network, or of all together.
    ///
    /// - Parameter fewest: shares of fewer records are left out.
    mutating func writeFraudSignals(by columns: [String], fewest: Double = 1) throws {
        var signals = try answer(ReportAddress(FraudSignals.name, by: columns))
        let counted = signals.rows.filter { !signals.value($0, "of").isZero }.count
        let all = signals
        signals.keepRows { row in
            (ShownValue.amount(all.value(row, "of"), in: "of") ?? 0) >= fewest
        }
        let few = counted - signals.rows.count
        writeNotices(signals.notices)
        if !signals.rows.isEmpty {
            write(signals)
        } else if few == 0 {
            writeNoRows()
        }
        files(of: signals)
        guard few > 0 else { return }
        paragraph(
            "\(counted == few ? "All \(few)" : "\(few) more") shares have fewer than \(Int(fewest)) records, which say little. The files have them.",
            class: "note")
    }

    private mutating func write(_ signals: PageAnswer) {
        let names = source.names(for: context.scope)
        let title = sectionTitle
        write { html in
            html.table(named: title) { html in
                html.element("thead") { html in
                    html.element("tr") { html in
                        for heading in (signals.request.by.isEmpty ? [] : ["network"]) + ["signal"]
                        {
                            html.element("th", ["scope": "col"], text: heading)
                        }
                        for heading in ["count", "of", "share", "95 % interval"] {
                            html.element("th", ["scope": "col", "class": "number"], text: heading)
                        }
                    }
                }
                html.element("tbody") { html in
                    for row in signals.rows(largest: "share_low") {
                        SignalRow(signals, row).write(names, to: &html)
                    }
                }
            }
        }
    }
}

/// A share of a network. Its numbers link to the dumps that they are computed from, if records add up to them.
private struct SignalRow {
    private let answer: PageAnswer
    private let row: [ReportValue]
    private let signal: String
    private let source: FraudSignalSource?

    init(_ answer: PageAnswer, _ row: [ReportValue]) {
        self.answer = answer
        self.row = row
        signal = answer.value(row, "signal").plainText
        source = FraudSignalSource.of(signal)
    }

    func write(_ names: PageNames, to html: inout HTML) {
        let rows = source?.rows.map(address)
        html.element("tr") { html in
            if !answer.request.by.isEmpty {
                let network = answer.value(row, "ad_network_id").plainText
                html.rowHeader(isFirst: true) {
                    $0.named(network, names.name(network, in: "ad_network_id"))
                }
            }
            html.rowHeader(isFirst: answer.request.by.isEmpty) { $0.named(signal, source?.title) }
            number("count", source?.count.map(address), to: &html)
            number("of", source?.total.map(address) ?? rows, to: &html)
            number("share", source?.share.map(address) ?? rows, to: &html)
            html.element(
                "td", ["class": "number"], text: "\(text("share_low")) to \(text("share_high"))")
        }
    }

    private func number(_ column: String, _ address: PageAddress?, to html: inout HTML) {
        html.element("td", ["class": "number"]) { html in
            guard let address else { return html.text(text(column)) }
            html.link(text(column), to: address)
        }
    }

    private func text(_ column: String) -> String {
        ShownValue.text(answer.value(row, column), in: column, isKey: false)
    }

    /// The signal's rows in another report.
    private func request(_ dump: String) -> ReportAddress {
        var request = answer.request
        request.name = dump
        request.conditions += answer.key(of: row).filter { key in
            key.column != "signal" && !request.conditions.contains { $0.column == key.column }
        }
        return request
    }

    private func address(_ number: FraudSignalSource.Number) -> PageAddress {
        request(number.dump).explanation(of: number.measure, where: number.conditions)
    }

    private func address(_ rows: FraudSignalSource.Rows) -> PageAddress {
        var request = request(rows.dump)
        request.by = rows.by
        request.measures = [rows.measure]
        return request.address
    }
}
