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

    private static let signalColumns = ["ad_network_id", "app_id", ReportRequest.catalogCampaign]
    /// How many times the share of a campaign exceeds that of all others.
    private static let outlyingTimes = 2.0
    /// Smaller shares do not stand out.
    private static let leastShare = 0.05

    /// The signals of campaigns that are certainly more frequent than among all others.
    private func outlyingSignals() throws -> PageAnswer {
        let all = try answer(ReportAddress(FraudSignals.name))
        func amount(_ answer: PageAnswer, _ row: [ReportValue], _ column: String) -> Double {
            ShownValue.amount(answer.value(row, column), in: column) ?? 0
        }
        let total = Dictionary(
            all.rows.map { row in
                let counts = (count: amount(all, row, "count"), of: amount(all, row, "of"))
                return (all.value(row, "signal").plainText, counts)
            }, uniquingKeysWith: { first, _ in first })
        var signals = try answer(ReportAddress(FraudSignals.name, by: Self.signalColumns))
        let every = signals
        signals.keepRows { row in
            guard !every.value(row, ReportRequest.catalogCampaign).plainText.isEmpty,
                amount(every, row, "of") >= Self.fewestRecords,
                let total = total[every.value(row, "signal").plainText]
            else { return false }
            let others = total.of - amount(every, row, "of")
            guard others >= Self.fewestRecords else { return false }
            let usual = (total.count - amount(every, row, "count")) / others
            return amount(every, row, "share_low")
                > max(Self.outlyingTimes * usual, Self.leastShare)
        }
        return signals
    }

    mutating func writeOutlyingSignals() throws {
        let signals = try outlyingSignals()
        writeNotices(signals.notices)
        if signals.rows.isEmpty {
            paragraph("No campaign stands out in these days.", class: "good")
        } else {
            write(signals)
        }
        files(of: signals)
    }

    /// One line for each campaign with an outlying signal, with a link to its signals.
    mutating func writeOutlyingCampaigns() {
        guard let signals = try? outlyingSignals() else { return }
        let names = source.names(for: context.scope)
        for row in signals.rows(largest: "share_low").prefix(Self.mostOutlyingLines) {
            let campaign = SignalRow.campaign(signals.key(of: row))
            func value(_ column: String) -> String? {
                campaign.first { $0.column == column }?.value
            }
            let id = value("campaign") ?? ""
            let name = names.name(id, in: "campaign", row: value) ?? "Campaign \(id)"
            let signal = signals.value(row, "signal").plainText
            let title = FraudSignalSource.of(signal)?.title ?? signal
            let share = ShownValue.text(signals.value(row, "share"), in: "share", isKey: false)
            let page = campaignLink(campaign)
            write { html in
                html.element("p", ["class": "state"]) { html in
                    html.text(
                        "\(name): \(title.lowercased()) \(share), far more than other campaigns. ")
                    if let page { html.link("Fraud signals", to: page.at("fraud-signals")) }
                }
            }
        }
    }

    /// The campaigns with an outlying signal, by `Funnel.campaignColumns`.
    func outlyingCampaigns() -> Set<[String]> {
        guard context.scope.isEmpty, let signals = try? outlyingSignals() else { return [] }
        return Set(
            signals.rows.map { row in
                let campaign = SignalRow.campaign(signals.key(of: row))
                return Funnel.campaignColumns.map { column in
                    campaign.first { $0.column == column }?.value ?? ""
                }
            })
    }

    private static let mostOutlyingLines = 3

    private mutating func write(_ signals: PageAnswer) {
        let names = source.names(for: context.scope)
        let (title, campaignLink) = (sectionTitle, campaignLink)
        let subject = signals.request.by.count > 1 ? "campaign" : "network"
        write { html in
            html.table(named: title) { html in
                html.element("thead") { html in
                    html.element("tr") { html in
                        for heading in (signals.request.by.isEmpty ? [] : [subject]) + ["signal"] {
                            html.element("th", ["scope": "col"], text: heading)
                        }
                        for heading in ["count", "of", "share", "interval"] {
                            html.element("th", ["scope": "col", "class": "number"], text: heading)
                        }
                    }
                }
                html.element("tbody") { html in
                    for row in signals.rows(largest: "share_low") {
                        SignalRow(signals, row).write(names, campaignLink, to: &html)
                    }
                }
            }
        }
    }
}

/// A share of a network or campaign. Its numbers link to the dumps that they are computed from, if records add up to them.
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

    /// The campaign of a row's key, as other pages name it.
    static func campaign(_ key: [ReportRequest.Condition]) -> [ReportRequest.Condition] {
        key.map { part in
            part.column == ReportRequest.catalogCampaign
                ? .init(column: "campaign", value: part.value) : part
        }
    }

    func write(
        _ names: PageNames, _ link: ([ReportRequest.Condition]) -> PageAddress?,
        to html: inout HTML
    ) {
        let rows = source?.rows.map(address)
        html.element("tr") { html in
            if answer.request.by.count > 1 {
                let campaign = Self.campaign(answer.key(of: row).filter { $0.column != "signal" })
                html.rowHeader(isFirst: true) {
                    $0.campaign(campaign, names, link: link(campaign))
                }
            } else if !answer.request.by.isEmpty {
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
