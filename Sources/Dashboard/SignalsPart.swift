import Reports

// The fraud signals of a campaign.

extension PageWriter {
    mutating func writeSignals() throws {
        var signals = try answer(ReportAddress(FraudSignals.name))
        let all = signals
        signals.keepRows { row in !all.value(row, "of").isZero }
        guard !signals.rows.isEmpty else {
            writeNoRows()
            return files(of: signals)
        }
        let (title, table) = (sectionTitle, signals.table)
        write { html in
            ReportView.write(
                table, named: title, to: &html,
                counts: Set(table.columns.dropFirst().map(\.name)),
                link: { row, column in
                    Self.explanation(
                        of: table.rows[row].first?.plainText ?? "", table.columns[column].name,
                        signals.request)
                })
        }
        files(of: signals)
    }

    /// The explanation of a signal's number, limited to the same rows.
    private static func explanation(
        of signal: String, _ column: String, _ signals: ReportAddress
    ) -> PageAddress? {
        guard let source = SignalSource(of: signal, column) else { return nil }
        var request = ReportAddress(source.dump)
        request.since = signals.since
        request.until = signals.until
        request.conditions = signals.conditions
        return request.explanation(of: source.measure, where: source.conditions)
    }
}
