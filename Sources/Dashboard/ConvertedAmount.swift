import Reports

// The conversion of an amount: what was recorded in each currency, and its amount in the currency of the page.

extension ExplanationPage {
    /// Whether the number is a converted sum of stored amounts.
    private var convertedMeasure: (measure: String, target: String)? {
        guard let measure, let target = request.target, request.has(.sums),
            request.report?.columnNames.contains("currency") == true,
            MoneyByCurrency.isMoney(measure), DerivedMeasure.named(measure, of: request.name) == nil
        else { return nil }
        return (measure, target)
    }

    /// Shows the recorded amount of each currency beside the converted one; nothing for another number.
    func writeConversion(to html: inout HTML) throws {
        guard let (measure, target) = convertedMeasure else { return }
        var recorded = request
        recorded.by = ["currency"]
        recorded.measures = [measure]
        recorded.target = nil
        recorded.asOf = nil
        var answer = try source.answer(recorded)
        answer.leaveOutEmptyRows()
        guard answer.rows.contains(where: { currency(of: $0, answer) != target }) else { return }
        let total = try converted(measure, [])
        let rows = try answer.rows.map { row in
            let condition = ReportRequest.Condition(
                column: "currency", value: currency(of: row, answer))
            return (row, condition, try converted(measure, [condition]))
        }
        html.element("section") { html in
            html.element("h2", text: "Converted to \(target)")
            html.element(
                "p", ["class": "note"],
                text:
                    "Each day's amount is converted with the rate of its day in rates.csv. Records have the recorded amounts."
            )
            html.table(named: "Recorded and converted amounts") { html in
                html.element("thead") { html in
                    html.element("tr") { html in
                        html.element("th", ["scope": "col"], text: "currency")
                        for heading in ["recorded", "in \(target)"] {
                            html.element("th", ["scope": "col", "class": "number"], text: heading)
                        }
                    }
                }
                html.element("tbody") { html in
                    for (row, condition, amount) in rows {
                        html.element("tr") { html in
                            html.rowHeader(isFirst: true) { $0.named(condition.value, nil) }
                            html.element("td", ["class": "number"]) { html in
                                NumberLink(answer, key: [condition], row: row).write(
                                    answer.value(row, measure), of: measure, to: &html)
                            }
                            html.element("td", ["class": "number"]) { html in
                                html.link(
                                    ShownValue.text(amount, in: measure, isKey: false),
                                    to: byDay(measure, condition).address)
                            }
                        }
                    }
                }
            }
            html.element("p") { html in
                html.text("Sum: ")
                html.element(
                    "strong", ["class": "amount"],
                    text: ShownValue.text(total, in: measure, isKey: false))
            }
        }
    }

    private func currency(of row: [ReportValue], _ answer: PageAnswer) -> String {
        answer.value(row, "currency").plainText
    }

    private func converted(
        _ measure: String, _ conditions: [ReportRequest.Condition]
    ) throws -> ReportValue {
        var asked = request
        asked.by = []
        asked.asOf = nil
        asked.measures = [measure]
        asked.conditions += conditions.filter { condition in
            !asked.conditions.contains { $0.column == condition.column }
        }
        return try source.answer(asked).only(measure) ?? .integer(0)
    }

    /// The converted amounts of each day.
    private func byDay(
        _ measure: String, _ condition: ReportRequest.Condition
    ) -> ReportAddress {
        var asked = request
        asked.by = request.report?.pageColumns ?? []
        asked.measures = [measure]
        asked.conditions.removeAll { $0.column == condition.column }
        asked.conditions.append(condition)
        return asked
    }
}
