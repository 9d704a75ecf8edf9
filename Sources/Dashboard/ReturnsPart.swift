import ConfigurationValues
import Reports
import Streams

/// A way of computing the return on spend: for each age a row of `roas`.
private struct ReturnWay {
    let title: String
    let note: String
    /// The mean revenue and return by age, of a way whose revenue is estimated; nil for sums of records.
    var means: [String: (revenue: ReportValue, ratio: ReportValue)]?
    /// The ages in order.
    var rows: [(age: String, answer: PageAnswer, row: [ReportValue])]

    func amount(_ measure: String, at age: String) -> Double? {
        guard let found = rows.first(where: { $0.age == age }),
            let index = found.answer.index(of: measure)
        else { return nil }
        return ShownValue.amount(found.row[index], in: measure)
    }

    /// Whether any age has a return.
    var isKnown: Bool { rows.contains { amount("roas_min", at: $0.age) != nil } }

    var largest: Double {
        rows.compactMap { amount("roas_max", at: $0.age) ?? amount("roas_min", at: $0.age) }.max()
            ?? 0
    }
}

extension PageWriter {
    private static let ages = ["0", "3", "7", "30"]

    /// The return by age: with missing values estimated if it can be, then of complete cohorts, if there are any, then
    /// the bounds of all cohorts.
    mutating func writeReturns() throws {
        let all = try allReturns()
        let mature = try matureReturns()
        let ways = [try estimated(mature), mature, all].filter(\.isKnown)
        guard !ways.isEmpty else {
            return paragraph(
                "No return is known: it needs a cost and revenue in one currency. Choose a currency above if rates.csv has rates, or import costs.",
                class: "empty")
        }
        let (most, zone) = (ways.map(\.largest).max() ?? 0, context.timeZone)
        for way in ways {
            write { html in
                html.element("h3", text: way.title)
                if way.means != nil { Self.writeSubjects(of: way, zone, to: &html) }
                html.element("p", ["class": "note"], text: way.note)
                html.table(named: "Return on spend by age, \(way.title)") {
                    Self.write(way, most, zone, to: &$0)
                }
            }
        }
        try writeReasons()
        var request = ReportAddress(CampaignReturns.name, by: [CampaignReturns.throughDay])
        request.measures = nil
        files(of: try limited(request, to: days))
    }

    /// The bounds of all cohorts of the shown days.
    private func allReturns() throws -> ReturnWay {
        let answer = try answer(Self.returns(by: [CampaignReturns.throughDay]))
        let age = answer.index(of: CampaignReturns.throughDay)
        return ReturnWay(
            title: ReturnKind.bounds.heading, note: ReturnKind.bounds.note,
            rows: answer.rows.compactMap { row in
                age.map { (row[$0].plainText, answer, row) }
            })
    }

    /// The same rows with estimated revenue, if they have an estimate. Without estimates for several campaigns, because
    /// intervals cannot be added.
    private func estimated(_ mature: ReturnWay) throws -> ReturnWay {
        var way = ReturnWay(
            title: ReturnKind.estimated.heading,
            note:
                "\(ReturnKind.estimated.note) The number in brackets is the mean, with the middle of the range of each value.",
            means: [:], rows: [])
        guard hasEstimates else { return way }
        for (age, answer, row) in mature.rows {
            let estimates = try self.answer(
                Self.estimates(through: age), days: (answer.request.since, answer.request.until))
            func amounts(_ measure: String) -> (revenue: ReportValue, ratio: ReportValue)? {
                guard let value = estimates.only(measure), case .money(let revenue) = value,
                    case .money(let cost) = answer.value(row, "cost_micros")
                else { return nil }
                return (value, revenue.ratio(to: cost))
            }
            guard let low = amounts("revenue_low_micros"), let high = amounts("revenue_high_micros")
            else { continue }
            way.means?[age] = amounts("revenue_mean_micros")
            let replaced = [
                "revenue_min_micros": low.revenue, "revenue_max_micros": high.revenue,
                "roas_min": low.ratio, "roas_max": high.ratio,
            ]
            way.rows.append((age, answer, answer.replacing(replaced, in: row)))
        }
        return way
    }

    /// For each age, the cohorts that expect no more postbacks.
    private func matureReturns() throws -> ReturnWay {
        let byDay = try answer(Self.returns(by: ["day", CampaignReturns.throughDay]))
        guard let age = byDay.index(of: CampaignReturns.throughDay) else {
            return ReturnWay(title: "", note: "", rows: [])
        }
        var rows: [(age: String, answer: PageAnswer, row: [ReportValue])] = []
        for name in Self.ages {
            let own = byDay.rows.filter { $0[age].plainText == name }
            guard let until = Self.endOfComplete(byDay, own) else { continue }
            let answer = try answer(
                Self.returns(by: [], through: name), days: (days.since, until))
            if let row = answer.rows.first { rows.append((name, answer, row)) }
        }
        return ReturnWay(
            title: ReturnKind.complete.heading, note: ReturnKind.complete.note, rows: rows)
    }

    /// Which days, installs and spend each age is about.
    private static func writeSubjects(
        of way: ReturnWay, _ zone: ReportTimeZone, to html: inout HTML
    ) {
        html.element("p", ["class": "range"]) { html in
            for (age, answer, row) in way.rows {
                html.text("Day \(age): ")
                answer.writeSubject(row, in: zone, to: &html)
                html.text(". ")
            }
        }
    }

    private static func write(
        _ way: ReturnWay, _ most: Double, _ zone: ReportTimeZone, to html: inout HTML
    ) {
        html.element("thead") { html in
            html.element("tr") { html in
                for (title, isNumber) in [
                    ("Day after install", false), ("Installs of these days", true), ("Spend", true),
                    ("Revenue", true), ("Return on spend", true), ("Range", false),
                    ("Installs complete", true), ("Installs until", false),
                ] {
                    html.element(
                        "th", ["scope": "col", "class": isNumber ? "number" : nil], text: title)
                }
            }
        }
        html.element("tbody") { html in
            for (age, answer, row) in way.rows {
                let link = NumberLink(answer, key: answer.key(of: row), row: row)
                func value(_ measure: String) -> ReportValue? {
                    answer.index(of: measure).map { row[$0] }
                }
                html.element("tr") { html in
                    html.element("th", ["scope": "row"], text: "Day \(age)")
                    for (low, high) in [
                        ("installs", "installs"), ("cost_micros", "cost_micros"),
                        ("revenue_min_micros", "revenue_max_micros"), ("roas_min", "roas_max"),
                    ] {
                        html.element("td", ["class": "number"]) { html in
                            let decimals = low == "roas_min" ? 2 : nil
                            // Estimates are not sums of records, so they have no explanation.
                            let isLinked = way.means == nil || low == high
                            link.write(
                                value(low), of: low, decimals: decimals, isLinked: isLinked,
                                to: &html)
                            guard value(low) != value(high) else { return }
                            html.text(" to ")
                            link.write(
                                value(high), of: high, decimals: decimals, isShort: true,
                                isLinked: isLinked, to: &html)
                            guard !isLinked, let mean = way.means?[age] else { return }
                            html.text(" (")
                            link.write(
                                low == "roas_min" ? mean.ratio : mean.revenue, of: low,
                                decimals: decimals, isShort: true, isLinked: false, to: &html)
                            html.text(")")
                        }
                    }
                    html.element("td", ["class": "bar"]) { html in
                        guard most > 0, let low = way.amount("roas_min", at: age) else { return }
                        Bar.write(
                            from: low / most, to: (way.amount("roas_max", at: age) ?? most) / most,
                            to: &html)
                    }
                    html.element("td", ["class": "number"]) { html in
                        link.write(value("maturity"), of: "maturity", to: &html)
                    }
                    html.element(
                        "td", ["class": "word"],
                        text: answer.request.until.map { lastDay($0, in: zone) } ?? "")
                }
            }
        }
    }

    /// The day before an exclusive end.
    private static func lastDay(_ until: String, in zone: ReportTimeZone) -> String {
        PageContext.name(ofDay: PageAnswer.lastDay(until, in: zone))
    }

    /// Why the bounds are wide: missing values, and open windows.
    private mutating func writeReasons() throws {
        let answer = try answer(
            ReportAddress(
                Funnel.name,
                measures: ["postbacks", "null_values", "null_rate", "maturity"]))
        guard let row = answer.rows.first, answer.only("postbacks") != nil else { return }
        let link = NumberLink(answer, row: row)
        write { html in
            html.element("details", ["class": "why"]) { html in
                html.element("summary", text: "Why are the bounds wide?")
                html.element("ul", ["class": "list"]) { html in
                    html.element("li") { html in
                        link.write(answer.only("null_values"), of: "null_values", to: &html)
                        html.text(" of ")
                        link.write(answer.only("postbacks"), of: "postbacks", to: &html)
                        html.text(
                            " postbacks have no conversion value. Each may stand for any revenue from 0 to the largest amount of the conversion model."
                        )
                    }
                    html.element("li") { html in
                        html.text("Windows closed: ")
                        link.write(answer.only("maturity"), of: "maturity", to: &html)
                        html.text(". Postbacks of open windows can still add revenue.")
                    }
                    html.element(
                        "li",
                        text:
                            "A conversion value stands for a range of revenue. The upper bound uses the largest amount of each range, the lower bound the smallest."
                    )
                    html.element(
                        "li",
                        text:
                            "A window that has begun but not ended by a day counts with 0 in the lower bound and in full in the upper one."
                    )
                }
            }
        }
    }
}
