import ConversionModels
import Foundation
import Reports
import Store
import Streams

// The conversion values of a campaign as a histogram, with what they mean.

extension PageWriter {
    private struct ShownPostbacks {
        let row: [ReportValue]
        let amount: Double
        let meaning: String
    }

    mutating func writeConversionValues() throws {
        let answer = try answer(
            ReportAddress(
                "conversion-values", by: ["app_id", "sequence_index", "kind", "value"],
                measures: ["postbacks"]))
        guard let app = answer.index(of: "app_id"), let window = answer.index(of: "sequence_index"),
            let kind = answer.index(of: "kind"), let value = answer.index(of: "value"),
            let count = answer.index(of: "postbacks"), !answer.rows.isEmpty
        else {
            writeNoRows()
            return files(of: answer)
        }
        let models = (try? source.installation.configuration.conversionModels()) ?? []
        var groups: [(title: String, rows: [ShownPostbacks])] = []
        for row in answer.rows.sorted(by: {
            Self.order($0, $1, [app, window, kind, value])
        }) {
            let model = models.first { "\($0.app)" == row[app].plainText }
            let index = Int(row[window].plainText) ?? 0
            let (kind, value) = (row[kind].plainText, row[value].plainText)
            let title = "Postback \(index + 1), \(kind) values"
            let shown = ShownPostbacks(
                row: row, amount: ShownValue.amount(row[count], in: "postbacks") ?? 0,
                meaning: model.map { Self.meaning(kind, value, window: index, $0) } ?? "")
            if groups.last?.title == title {
                groups[groups.count - 1].rows.append(shown)
            } else {
                groups.append((title, [shown]))
            }
        }
        for group in groups {
            let most = group.rows.map(\.amount).max() ?? 0
            write { html in
                html.element("h3", text: group.title)
                html.table(named: group.title, class: "histogram") { html in
                    html.element("thead") { html in
                        html.element("tr") { html in
                            for title in ["Value", "Postbacks", "Relative", "Meaning"] {
                                html.element(
                                    "th",
                                    [
                                        "scope": "col",
                                        "class": title == "Postbacks" ? "number" : nil,
                                    ], text: title)
                            }
                        }
                    }
                    html.element("tbody") { html in
                        for shown in group.rows {
                            html.element("tr") { html in
                                html.element(
                                    "th", ["scope": "row"], text: shown.row[value].plainText)
                                html.element("td", ["class": "number"]) { html in
                                    NumberLink(
                                        answer, key: answer.key(of: shown.row), row: shown.row
                                    ).write(shown.row[count], of: "postbacks", to: &html)
                                }
                                html.element("td", ["class": "bar"]) { html in
                                    if most > 0 {
                                        Bar.write(share: shown.amount / most, to: &html)
                                    }
                                }
                                html.element("td", text: shown.meaning)
                            }
                        }
                    }
                }
            }
        }
        if models.isEmpty {
            paragraph(
                "Meanings need a conversion model in pipelines/conversion-models.", class: "note")
        }
        files(of: answer)
    }

    /// Numbers by size, coarse values from low to high.
    private static func order(
        _ one: [ReportValue], _ other: [ReportValue], _ columns: [Int]
    ) -> Bool {
        func rank(_ value: ReportValue) -> (Int, String) {
            let text = value.plainText
            return (Int(text) ?? CoarseValue(rawValue: text)?.rank ?? .max, text)
        }
        for column in columns {
            let (first, second) = (rank(one[column]), rank(other[column]))
            if first != second { return first < second }
        }
        return false
    }

    /// The events and revenue of a value in the newest version of a model.
    private static func meaning(
        _ kind: String, _ value: String, window: Int, _ model: ConversionModel
    ) -> String {
        guard let version = model.versions.last else { return "" }
        let events = version.decode(kind, value, window: window)
        let named = events.map { event in
            let (low, high) = (event.revenueMinMicros, event.revenueMaxMicros)
            guard high > 0 else { return event.event }
            let least = ShownValue.money(Int128(low), version.currency)
            return low == high
                ? "\(event.event) \(least)"
                : "\(event.event) \(least) to \(ShownValue.money(Int128(high), ""))"
        }
        return named.isEmpty ? "nothing" : named.joined(separator: ", ").replacing("_", with: " ")
    }
}

extension ConversionModelVersion {
    /// The events of a value as `conversion-values` has it; none for a value of neither kind.
    func decode(_ kind: String, _ value: String, window: Int) -> [DecodedEvent] {
        if kind == "fine", let fine = Int(value) { return decode(fine: fine) }
        guard let coarse = CoarseValue(rawValue: value) else { return [] }
        return decode(coarse: coarse, sequenceIndex: window)
    }
}
