import Reports

// The conversion of an amount: what was recorded in each currency, and its amount in the currency of the page.

extension ExplanationPage {
    /// The part of a converted amount in one recorded currency.
    private struct Part {
        let currency: String
        let recorded: Int128
        let recordedAddress: PageAddress
        let converted: Int128
        let convertedAddress: PageAddress
    }

    /// Whether the number is a converted sum of recorded amounts.
    private var convertedMeasure: (measure: String, target: String)? {
        guard let measure, let target = request.target, request.has(.amounts),
            let report = request.report, report.measureNames.contains(measure),
            MoneyByCurrency.isMoney(measure), DerivedMeasure.named(measure, of: request.name) == nil
        else { return nil }
        return (measure, target)
    }

    /// Shows the recorded amount of each currency beside the converted one, and their sum; nothing for another number.
    func writeConversion(to html: inout HTML) throws {
        guard let (measure, target) = convertedMeasure else { return }
        let parts = try parts(of: measure).filter { $0.recorded != 0 }
        guard parts.contains(where: { $0.currency != target }) else { return }
        let total = try amount(answer(measure, in: target).only(measure), measure)
        let digits = Self.fractionDigits(parts.map(\.converted), addingUpTo: total)
        func text(_ micros: Int128) -> String {
            ShownValue.money(micros, target, fractionDigits: digits)
        }
        html.element("section") { html in
            html.element("h2", text: "Converted to \(target)")
            html.element(
                "p", ["class": "note"],
                text:
                    "Each day's amount is converted with the rate of its day in rates.csv. Records have the recorded amounts."
            )
            html.table(named: "Recorded and converted amounts") { html in
                html.element("thead") { Self.headings(["currency"], target, to: &$0) }
                html.element("tbody") { html in
                    for part in parts {
                        html.element("tr") { html in
                            html.rowHeader(isFirst: true) { $0.named(part.currency, nil) }
                            html.element("td", ["class": "number"]) {
                                $0.link(
                                    ShownValue.money(part.recorded, part.currency),
                                    to: part.recordedAddress)
                            }
                            html.element("td", ["class": "number"]) {
                                $0.link(text(part.converted), to: part.convertedAddress)
                            }
                        }
                    }
                }
            }
            html.element("p") { html in
                html.text("Sum: ")
                if parts.count > 1 {
                    html.text("\(parts.map { text($0.converted) }.joined(separator: " + ")) = ")
                }
                // The parts need more digits than the page shows.
                if text(total) != ShownValue.money(total, target) {
                    html.text("\(text(total)), or ")
                }
                html.element(
                    "strong", ["class": "amount"], text: ShownValue.money(total, target))
            }
        }
        if !hasCurrency { try writeConvertedDays(measure, target, parts, to: &html) }
    }

    /// The fewest decimals with which the shown parts add up to the shown total; six if none do.
    static func fractionDigits(_ parts: [Int128], addingUpTo total: Int128) -> Int {
        (2..<6).first { digits in
            let unit = (digits..<6).reduce(Int128(1)) { unit, _ in unit * 10 }
            func rounded(_ micros: Int128) -> Int128 {
                let units = Int128((micros.magnitude + UInt128(unit / 2)) / UInt128(unit))
                return micros < 0 ? -units : units
            }
            return parts.reduce(0) { $0 + rounded($1) } == rounded(total)
        } ?? 6
    }

    private static func headings(_ keys: [String], _ target: String, to html: inout HTML) {
        html.element("tr") { html in
            for key in keys { html.element("th", ["scope": "col"], text: key) }
            for heading in ["recorded", "in \(target)"] {
                html.element("th", ["scope": "col", "class": "number"], text: heading)
            }
        }
    }

    /// Whether rows of the report have a currency. Those of the funnel have amounts of all currencies.
    private var hasCurrency: Bool { request.report?.columnNames.contains("currency") == true }

    private func parts(of measure: String) throws -> [Part] {
        guard hasCurrency else {
            let recorded = recorded(measure)
            let days = byDay(measure, nil).address
            return try amounts(source.answer(recorded).only(measure), measure).map { own in
                Part(
                    currency: own.currency, recorded: own.micros,
                    recordedAddress: recorded.explanation(of: measure, where: []),
                    converted: amount(
                        try answer(measure, in: request.target, only: own.currency).only(measure),
                        measure),
                    convertedAddress: days)
            }
        }
        var recorded = recorded(measure)
        recorded.by = ["currency"]
        let found = try source.answer(recorded)
        return try found.rows.map { row in
            let condition = ReportRequest.Condition(
                column: "currency", value: found.value(row, "currency").plainText)
            return Part(
                currency: condition.value, recorded: amount(found.value(row, measure), measure),
                recordedAddress: recorded.explanation(of: measure, where: [condition]),
                converted: amount(
                    try answer(measure, [condition], in: request.target).only(measure), measure),
                convertedAddress: byDay(measure, condition).address)
        }
    }

    /// The amounts of each day in another currency, of a report whose rows have no currency.
    private func writeConvertedDays(
        _ measure: String, _ target: String, _ parts: [Part], to html: inout HTML
    ) throws {
        let recorded = try answer(measure, by: ["day"], in: nil)
        let currencies = parts.map(\.currency).filter { $0 != target }
        let converted = try currencies.map { currency in
            let found = try answer(measure, by: ["day"], in: target, only: currency)
            return Dictionary(
                found.rows.map {
                    (found.value($0, "day").plainText, amount(found.value($0, measure), measure))
                },
                uniquingKeysWith: { first, _ in first })
        }
        html.element("details") { html in
            html.element("summary", text: "Converted amounts by day")
            html.table(named: "Converted amounts by day") { html in
                html.element("thead") { Self.headings(["day", "currency"], target, to: &$0) }
                html.element("tbody") { html in
                    for row in recorded.rows {
                        let amounts = amounts(recorded.value(row, measure), measure)
                        for (currency, days) in zip(currencies, converted) {
                            let micros = amounts.first { $0.currency == currency }?.micros ?? 0
                            guard micros != 0 else { continue }
                            let address = recorded.request.explanation(
                                of: measure, where: recorded.key(of: row))
                            let day = recorded.value(row, "day").plainText
                            html.element("tr") { html in
                                html.rowHeader(isFirst: true) { $0.named(day, nil) }
                                html.element("td", text: currency)
                                html.element("td", ["class": "number"]) {
                                    $0.link(ShownValue.money(micros, currency), to: address)
                                }
                                html.element(
                                    "td", ["class": "number"],
                                    text: ShownValue.money(days[day] ?? 0, target))
                            }
                        }
                    }
                }
            }
        }
    }

    // MARK: Answers

    /// The amounts as pages show them: a sum of CPM prices is divided by a thousand.
    private func amounts(_ value: ReportValue?, _ measure: String) -> [MoneyByCurrency.Amount] {
        guard case .money(let money)? = value else { return [] }
        return money.divided(by: Self.divisor(of: measure)).amounts
    }

    /// The millionths of an amount in one currency, as pages show it.
    private func amount(_ value: ReportValue?, _ measure: String) -> Int128 {
        if case .integer(let micros)? = value { return micros / Self.divisor(of: measure) }
        return amounts(value, measure).first?.micros ?? 0
    }

    private static func divisor(of measure: String) -> Int128 {
        MoneyByCurrency.isOfThousand(measure) ? 1000 : 1
    }

    private func recorded(_ measure: String) -> ReportAddress {
        var asked = request
        asked.by = []
        asked.asOf = nil
        asked.measures = [measure]
        asked.target = nil
        return asked
    }

    private func answer(
        _ measure: String, _ conditions: [ReportRequest.Condition] = [], by columns: [String] = [],
        in target: String?, only currency: String? = nil
    ) throws -> PageAnswer {
        var asked = recorded(measure)
        asked.by = columns
        asked.target = target
        asked.onlyCurrency = currency
        asked.conditions += conditions.filter { condition in
            !asked.conditions.contains { $0.column == condition.column }
        }
        return try source.answer(asked)
    }

    /// The converted amounts of each day.
    private func byDay(
        _ measure: String, _ condition: ReportRequest.Condition?
    ) -> ReportAddress {
        var asked = request
        asked.by = condition == nil ? ["day"] : request.report?.pageColumns ?? []
        asked.measures = [measure]
        if let condition {
            asked.conditions.removeAll { $0.column == condition.column }
            asked.conditions.append(condition)
        }
        return asked
    }
}
