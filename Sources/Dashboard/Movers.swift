import Foundation
import Reports

/// A measure of a campaign that changed more than chance explains.
struct Mover {
    let key: [ReportRequest.Condition]
    let measure: String
    let title: String
    let before: [ReportValue]?
    let now: [ReportValue]
    /// Larger for a less likely change.
    let strength: Double
}

extension PageWriter {
    private static let mostMovers = 8
    /// Standard deviations that a change of counts needs.
    private static let leastStrength = 3.0
    /// The share of the total spend that a change of spend needs.
    private static let leastShareOfSpend = 0.01

    /// The largest changes of campaigns between the compared days.
    mutating func writeMovers() throws {
        guard let compared = context.compared(default: period) else { return }
        let request = ReportAddress(
            Funnel.name, by: Self.campaignColumns, measures: ["installs", "cost_micros", "cpi"])
        let now = try answer(request, days: compared.now)
        var before = try answer(request, days: compared.before)
        before.leaveOutEmptyRows()
        guard !before.rows.isEmpty else {
            return paragraph(
                "There are no results of \(compared.words), so nothing can be compared.",
                class: "empty")
        }
        let movers = Self.movers(from: before, to: now)
        guard !movers.isEmpty else {
            return paragraph(
                "No campaign differs clearly from \(compared.words).", class: "empty")
        }
        paragraph(
            "Compared with \(compared.words). Spend by at least 10 %, installs and cost per install by more than three standard deviations.",
            class: "note")
        let starts = try starts(of: movers, compared)
        let names = source.names(for: context.scope)
        let (campaignLink, title) = (campaignLink, sectionTitle)
        write { html in
            html.table(named: title) { html in
                html.element("thead") { html in
                    html.element("tr") { html in
                        for title in ["Campaign", "Measure", "Before", "Now", "Change", "Since"] {
                            let isNumber = ["Before", "Now", "Change"].contains(title)
                            html.element(
                                "th", ["scope": "col", "class": isNumber ? "number" : nil],
                                text: title)
                        }
                    }
                }
                html.element("tbody") { html in
                    for (mover, start) in zip(movers, starts) {
                        html.element("tr") { html in
                            html.element("th", ["scope": "row"]) { html in
                                html.campaign(
                                    mover.key, names, link: campaignLink(mover.key))
                            }
                            html.element("td", text: mover.title)
                            Self.values(mover, before, now, to: &html)
                            html.element("td", text: start)
                        }
                    }
                }
            }
        }
        files(of: now)
    }

    private static func values(
        _ mover: Mover, _ before: PageAnswer, _ now: PageAnswer, to html: inout HTML
    ) {
        func value(_ answer: PageAnswer, _ row: [ReportValue]?) -> ReportValue? {
            answer.index(of: mover.measure).flatMap { row?[$0] }
        }
        let (old, new) = (value(before, mover.before), value(now, mover.now))
        for (answer, row, value) in [(before, mover.before, old), (now, mover.now, new)] {
            html.element("td", ["class": "number"]) { html in
                NumberLink(answer, key: mover.key, row: row).write(
                    value, of: mover.measure, to: &html)
            }
        }
        html.element("td", ["class": "number"]) { html in
            if let change = Change(from: old, to: new, of: mover.measure) {
                let tone: Card.Tone =
                    ["cpi": .bad, "installs": .good][mover.measure] ?? .neutral
                html.element(
                    "span", ["class": change.style(tone)], text: "\(change.symbol)\(change.text)")
            } else {
                html.text("new")
            }
        }
    }

    /// The campaigns of both ranges with changed measures, the strongest change first.
    static func movers(from before: PageAnswer, to now: PageAnswer) -> [Mover] {
        func amount(_ answer: PageAnswer, _ row: [ReportValue]?, _ measure: String) -> Double {
            answer.index(of: measure).flatMap { index in
                row.flatMap { ShownValue.amount($0[index], in: measure) }
            } ?? 0
        }
        let earlier = Dictionary(
            before.rows.map { (before.key(of: $0).map(\.value), $0) },
            uniquingKeysWith: { first, _ in first })
        let total = now.rows.reduce(0) { $0 + amount(now, $1, "cost_micros") }
        var movers: [Mover] = []
        for row in now.rows {
            let key = now.key(of: row)
            guard key.contains(where: { $0.column == "campaign" && !$0.value.isEmpty }) else {
                continue
            }
            let old = earlier[key.map(\.value)]
            func add(_ measure: String, _ title: String, _ strength: Double) {
                movers.append(
                    Mover(
                        key: key, measure: measure, title: title, before: old, now: row,
                        strength: strength))
            }
            let installs = (amount(before, old, "installs"), amount(now, row, "installs"))
            let spend = (amount(before, old, "cost_micros"), amount(now, row, "cost_micros"))
            // Counts vary by their square root.
            if installs.0 + installs.1 > 0 {
                let deviation =
                    (installs.1 - installs.0).magnitude / (installs.0 + installs.1).squareRoot()
                if deviation >= leastStrength { add("installs", "Installs", deviation) }
            }
            let moved = (spend.1 - spend.0).magnitude
            if moved >= 0.1 * max(spend.0, spend.1), moved > leastShareOfSpend * total {
                add("cost_micros", "Spend", leastStrength + 20 * moved / max(total, 1))
            }
            if installs.0 > 0, installs.1 > 0, spend.0 > 0, spend.1 > 0 {
                let ratio = log(spend.1 / installs.1) - log(spend.0 / installs.0)
                let deviation =
                    ratio.magnitude / (1 / installs.0 + 1 / installs.1).squareRoot()
                if deviation >= leastStrength { add("cpi", "Cost per install", deviation) }
            }
        }
        return Array(movers.sorted { $0.strength > $1.strength }.prefix(mostMovers))
    }

    /// The first day of each change: the day that separates the earlier days from the later ones best.
    private mutating func starts(
        of movers: [Mover], _ compared: PageContext.Compared
    ) throws -> [String] {
        try movers.map { mover in
            var request = ReportAddress(
                Funnel.name, by: ["day"], measures: ["installs", "cost_micros"])
            request.conditions = mover.key
            let days = try answer(request, days: (compared.before.since, compared.now.until))
            guard let day = days.index(of: "day"), let installs = days.index(of: "installs"),
                let cost = days.index(of: "cost_micros")
            else { return "" }
            let own = days.rows.sorted { $0[day].plainText < $1[day].plainText }
            let amounts = own.map { row -> Double in
                let count = ShownValue.amount(row[installs], in: "installs") ?? 0
                let spend = ShownValue.amount(row[cost], in: "cost_micros") ?? 0
                switch mover.measure {
                case "installs": return count
                case "cpi": return spend / max(count, 1)
                default: return spend
                }
            }
            guard amounts.count > 3, let change = Self.change(in: amounts) else { return "" }
            return PageContext.name(ofDay: own[change][day].plainText, isShort: true)
        }
    }

    /// The index at which a series changes: where the sum of the differences from the mean is largest.
    static func change(in amounts: [Double]) -> Int? {
        let mean = amounts.reduce(0, +) / Double(amounts.count)
        var (sum, largest, found) = (0.0, 0.0, Int?.none)
        for (index, amount) in amounts.dropLast().enumerated() {
            sum += amount - mean
            if sum.magnitude > largest { (largest, found) = (sum.magnitude, index + 1) }
        }
        return found
    }
}

extension HTML {
    /// The name of a campaign, with its network, app and id beneath.
    mutating func campaign(
        _ key: [ReportRequest.Condition], _ names: PageNames, link: PageAddress?
    ) {
        func value(_ column: String) -> String? {
            key.first { $0.column == column }?.value
        }
        let id = value("campaign") ?? ""
        let name = names.name(id, in: "campaign", row: value)
        let shown = name ?? (id.isEmpty ? "No campaign" : id)
        if let link { self.link(shown, to: link) } else { text(shown) }
        let parts = ["ad_network_id", "app_id"].compactMap { column in
            value(column).flatMap { names.name($0, in: column) ?? ($0.isEmpty ? nil : $0) }
        }
        element("small", text: (parts + (name == nil ? [] : [id])).joined(separator: " · "))
    }
}
