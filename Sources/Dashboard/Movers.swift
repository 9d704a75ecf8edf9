import ConversionModels
import Foundation
import Reports
import Streams

/// A measure of a campaign that changed more than chance explains.
struct Mover {
    let key: [ReportRequest.Condition]
    let measure: String
    let title: String
    /// Its row of the earlier days; nil without one.
    let before: [ReportValue]?
    /// Its row of the present days; nil without one.
    let now: [ReportValue]?
    /// The change as a share of the total of all campaigns.
    let size: Double
}

extension PageWriter {
    private static let mostMovers = 8
    /// Standard deviations that a change of counts needs. Among some hundred campaigns, chance alone exceeds two often.
    private static let leastDeviations = 3.0
    /// The share of the total of all campaigns that a change needs.
    private static let leastSize = 0.01
    /// The share of the campaign's own spend that a change of spend needs.
    private static let leastShareOfSpend = 0.1
    private static let rule =
        "A change is listed if it is at least 1 % of the total of all campaigns and more than chance explains (installs and cost per install: three standard deviations of the counts; spend: 10 % of the campaign's spend; revenue: both bounds, by three standard deviations of the number of values above 0, so at least 18 of them); the largest share of the total is first."

    /// The bounds of revenue. It has moved if both of them have.
    private static let bounds = ["revenue_min_micros", "revenue_max_micros"]

    /// The variance of a sum of revenue, in squares of the mean of its values, for each value: amounts vary as much as
    /// their mean.
    private static let varianceOfValue = 2.0
    /// Units of currency from which a change of revenue is a percentage.
    private static let leastBase = 1.0

    /// Days that a change needs before its first day can be found.
    private static let leastDays = 4
    private static let withoutStart =
        "not known: the first day of a change needs \(leastDays) days with this measure"

    /// The largest changes of campaigns between the compared days.
    mutating func writeMovers() throws {
        guard let compared = context.compared(default: period) else { return }
        let request = ReportAddress(
            Funnel.name, by: Self.campaignColumns,
            measures: ["installs", "cost_micros", "cpi"] + Self.bounds)
        let now = try answer(request, days: compared.now)
        var before = try answer(request, days: compared.before)
        before.leaveOutEmptyRows()
        guard !before.rows.isEmpty else {
            return paragraph(
                "Nothing to compare: \(compared.earlierDays) has no results.",
                class: "empty")
        }
        if let note = compared.notOfPostbacks { paragraph(note, class: "note") }
        let movers = Self.movers(from: before, to: now, comparing: compared.compares) { key in
            values(of: key, compared)
        }
        guard !movers.isEmpty else {
            return paragraph(
                "No campaign changed clearly: \(compared.sentence) \(Self.rule)", class: "empty")
        }
        paragraph(
            "\(compared.sentence) \(Self.rule) Since names the day that separates the earlier level from the new one best.",
            class: "note")
        let starts = try starts(of: movers, compared)
        let names = source.names(for: context.scope)
        let (campaignLink, title) = (campaignLink, sectionTitle)
        let headings: [(String, String?)] = [
            ("Campaign", nil), ("Measure", nil), ("Before", compared.earlierDays),
            ("Now", compared.days), ("Change", nil), ("Since", "first day of the new level"),
        ]
        write { html in
            html.table(named: title) { html in
                html.element("thead") { html in
                    html.element("tr") { html in
                        for (title, note) in headings {
                            let isNumber = ["Before", "Now", "Change"].contains(title)
                            html.element(
                                "th", ["scope": "col", "class": isNumber ? "number" : nil]
                            ) { html in
                                html.text(title)
                                if let note { html.element("small", text: note) }
                            }
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
                            html.element("td") { html in
                                guard start == nil else { return html.text(start ?? "") }
                                html.element(
                                    "span", ["class": "unknown", "title": Self.withoutStart],
                                    text: "–")
                            }
                        }
                    }
                }
            }
        }
        files(of: now)
    }

    /// The trusted, winning postbacks of a campaign in both ranges whose value means revenue above 0, by the newest
    /// version of the model; 0 if they cannot be selected.
    private mutating func values(
        of key: [ReportRequest.Condition], _ compared: PageContext.Compared
    ) -> Double {
        let models = (try? source.installation.configuration.conversionModels()) ?? []
        guard let app = key.first(where: { $0.column == "app_id" })?.value,
            let version = models.first(where: { "\($0.app)" == app })?.versions.last
        else { return 0 }
        var request = ReportAddress(
            "conversion-values",
            by: ["sequence_index", "did_win", "verdict", "kind", "value"],
            measures: ["postbacks"])
        request.conditions = key.compactMap { part in
            switch part.column {
            case "name": nil
            case "campaign": .init(column: ReportRequest.catalogCampaign, value: part.value)
            default: part
            }
        }
        return [compared.before, compared.now].reduce(0) { sum, days in
            guard let answer = try? answer(request, days: days) else { return sum }
            return answer.rows.reduce(sum) { sum, row in
                func text(_ column: String) -> String { answer.value(row, column).plainText }
                let events = version.decode(
                    text("kind"), text("value"), window: Int(text("sequence_index")) ?? 0)
                guard text("did_win") != "false",
                    ["valid", "development"].contains(text("verdict")),
                    events.contains(where: { $0.revenueMinMicros > 0 })
                else { return sum }
                let postbacks = answer.value(row, "postbacks")
                return sum + (ShownValue.amount(postbacks, in: "postbacks") ?? 0)
            }
        }
    }

    private static func values(
        _ mover: Mover, _ before: PageAnswer, _ now: PageAnswer, to html: inout HTML
    ) {
        func value(_ answer: PageAnswer, _ row: [ReportValue]?) -> ReportValue? {
            guard let row else { return .integer(0) }
            return answer.index(of: mover.measure).map { row[$0] }
        }
        let (old, new) = (value(before, mover.before), value(now, mover.now))
        for (answer, row, value) in [(before, mover.before, old), (now, mover.now, new)] {
            html.element("td", ["class": "number"]) { html in
                NumberLink(answer, key: mover.key, row: row).write(
                    value, of: mover.measure, isLinked: row != nil, to: &html)
            }
        }
        html.element("td", ["class": "number"]) { html in
            // An amount that has ended has no currency. A percentage of almost nothing says nothing.
            let base = old.flatMap { ShownValue.amount($0, in: mover.measure) } ?? 0
            let change =
                bounds.contains(mover.measure) && base < leastBase
                ? nil
                : mover.now == nil
                    ? Change(from: old.flatMap { ShownValue.amount($0, in: mover.measure) }, to: 0)
                    : Change(from: old, to: new, of: mover.measure)
            if let change {
                let tone: Card.Tone =
                    ["cpi": .bad, "installs": .good, bounds[1]: .good][mover.measure]
                    ?? .neutral
                html.element(
                    "span", ["class": change.style(tone)], text: "\(change.symbol)\(change.text)")
            } else {
                html.text(
                    base > 0
                        ? [old, new].map { value in
                            value.map { ShownValue.text($0, in: mover.measure, isKey: false) }
                                ?? "–"
                        }.joined(separator: " to ") : "new")
            }
        }
    }

    /// The campaigns of both ranges with changed measures, the largest change first.
    ///
    /// - Parameters:
    ///   - compares: whether the earlier range has a measure in full.
    ///   - values: the number of values above 0 of a campaign, in both ranges together.
    static func movers(
        from before: PageAnswer, to now: PageAnswer,
        comparing compares: (String) -> Bool = { _ in true },
        values: ([ReportRequest.Condition]) -> Double = { _ in 0 }
    ) -> [Mover] {
        func amount(_ answer: PageAnswer, _ row: [ReportValue]?, _ measure: String) -> Double {
            answer.index(of: measure).flatMap { index in
                row.flatMap { ShownValue.amount($0[index], in: measure) }
            } ?? 0
        }
        let earlier = Dictionary(
            before.rows.map { (before.key(of: $0).map(\.value), $0) },
            uniquingKeysWith: { first, _ in first })
        func total(_ measure: String) -> Double {
            func sum(_ answer: PageAnswer) -> Double {
                answer.rows.reduce(0) { $0 + amount(answer, $1, measure) }
            }
            return max(sum(before), sum(now))
        }
        let totals = (
            installs: total("installs"), spend: total("cost_micros"), revenue: total(bounds[1])
        )
        var movers: [Mover] = []
        let current = now.rows.map { (now.key(of: $0), Optional($0)) }
        let keys = Set(current.map { $0.0.map(\.value) })
        let ended = before.rows.map(before.key).filter { !keys.contains($0.map(\.value)) }
        for (key, row) in current + ended.map({ ($0, nil) }) {
            guard key.contains(where: { $0.column == "campaign" && !$0.value.isEmpty }) else {
                continue
            }
            let old = earlier[key.map(\.value)]
            func add(_ measure: String, _ title: String, _ size: Double) {
                guard size >= leastSize, compares(measure) else { return }
                movers.append(
                    Mover(
                        key: key, measure: measure, title: title, before: old, now: row, size: size)
                )
            }
            let installs = (amount(before, old, "installs"), amount(now, row, "installs"))
            let spend = (amount(before, old, "cost_micros"), amount(now, row, "cost_micros"))
            // Counts vary by their square root.
            let added = (installs.1 - installs.0).magnitude
            if added > leastDeviations * (installs.0 + installs.1).squareRoot() {
                add("installs", "Installs", added / totals.installs)
            }
            let moved = (spend.1 - spend.0).magnitude
            if moved >= leastShareOfSpend * max(spend.0, spend.1) {
                add("cost_micros", "Spend", moved / totals.spend)
            }
            let changes: [Double] = bounds.compactMap { bound in
                let (earlier, later) = (amount(before, old, bound), amount(now, row, bound))
                let sum = earlier + later
                return sum > 0 ? (later - earlier) / sum : nil
            }
            let isOneWay = changes.allSatisfy { $0 > 0 } || changes.allSatisfy { $0 < 0 }
            let revenue = (amount(before, old, bounds[1]), amount(now, row, bounds[1]))
            let size = (revenue.1 - revenue.0).magnitude / totals.revenue
            // Few installs have revenue, so its number of values decides; reading it is left for last.
            if !changes.isEmpty, isOneWay, size >= leastSize, compares(bounds[1]) {
                let count = values(key)
                let least = leastDeviations * (varianceOfValue / count).squareRoot()
                if count > 0, changes.allSatisfy({ $0.magnitude >= least }) {
                    add(bounds[1], "Revenue, upper bound", size)
                }
            }
            if installs.0 > 0, installs.1 > 0, spend.0 > 0, spend.1 > 0 {
                let ratio = log(spend.1 / installs.1) - log(spend.0 / installs.0)
                let deviation = (1 / installs.0 + 1 / installs.1).squareRoot()
                if ratio.magnitude > leastDeviations * deviation {
                    // What the present installs cost more or less than at the earlier price.
                    let difference = (spend.1 - spend.0 / installs.0 * installs.1).magnitude
                    add("cpi", "Cost per install", difference / totals.spend)
                }
            }
        }
        // Sizes can be equal: the order of the campaigns must not differ between two visits.
        return Array(
            movers.sorted {
                $0.size != $1.size
                    ? $0.size > $1.size
                    : $0.key.map(\.value).lexicographicallyPrecedes($1.key.map(\.value))
            }.prefix(mostMovers))
    }

    /// The first day of each change: the day that separates the earlier days from the later ones best; nil for too few
    /// days.
    private mutating func starts(
        of movers: [Mover], _ compared: PageContext.Compared
    ) throws -> [String?] {
        try movers.map { mover in
            var request = ReportAddress(
                Funnel.name, by: ["day"], measures: ["installs", "cost_micros", Self.bounds[1]])
            request.conditions = mover.key
            let answer = try answer(request, days: (compared.before.since, compared.now.until))
            let amounts = Self.amounts(of: mover.measure, answer, compared)
            guard amounts.count >= Self.leastDays,
                let change = Self.change(in: amounts.map(\.amount))
            else { return nil }
            return PageContext.name(ofDay: amounts[change].day)
        }
    }

    /// A measure by day, from the first earlier day to the last present one. A day without a row has 0, and no cost per
    /// install.
    static func amounts(
        of measure: String, _ answer: PageAnswer, _ compared: PageContext.Compared
    ) -> [(day: String, amount: Double)] {
        let zone = compared.timeZone
        guard let first = compared.before.since.flatMap(zone.milliseconds(text:)),
            let end = compared.now.until.flatMap(zone.milliseconds(text:)), first < end
        else { return [] }
        let rows = Dictionary(
            answer.rows.map { (answer.value($0, "day").plainText, $0) },
            uniquingKeysWith: { first, _ in first })
        let numbers = zone.dayNumber(milliseconds: first)...zone.dayNumber(milliseconds: end - 1)
        return numbers.compactMap { number in
            let day = zone.day(milliseconds: zone.start(ofDay: number))
            func amount(_ measure: String) -> Double {
                rows[day].flatMap {
                    ShownValue.amount(answer.value($0, measure), in: measure)
                } ?? 0
            }
            guard measure == "cpi" else { return (day, amount(measure)) }
            let installs = amount("installs")
            return installs > 0 ? (day, amount("cost_micros") / installs) : nil
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
        let unnamed = names.unnamedCampaign(value)
        let shown = name ?? unnamed.title
        if let link { self.link(shown, to: link) } else { text(shown) }
        var parts = ["ad_network_id", "app_id"].compactMap { column in
            value(column).flatMap { names.name($0, in: column) ?? ($0.isEmpty ? nil : $0) }
        }
        if name != nil { parts.append(id) }
        element("small", text: parts.filter { !$0.isEmpty }.joined(separator: " · "))
        if name == nil, let reason = unnamed.reason { element("small", text: reason) }
    }
}
