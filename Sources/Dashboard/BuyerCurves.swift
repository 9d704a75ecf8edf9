import Reports
import Streams
import Wording

// Retention, renewals and refunds of buyers by age.

extension PageWriter {
    /// A measure of buyers by age.
    private struct BuyerCurve {
        let measure: String
        /// What it is compared with.
        let whole: String
        /// Computed from the measure and the whole; the measure itself if they have the same name.
        let quotient: DerivedMeasure
        let words: String
        let note: String

        /// The whole in a cell: `of 123 buyers`.
        var wholeWords: String { whole == "trials" ? "trials" : "buyers" }
    }

    /// The choices of `show`.
    static let subscriptionMeasures = curves.map(\.measure)

    private static let curves = [
        BuyerCurve(
            measure: DerivedMeasure.keptRate.name, whole: "buyers", quotient: .keptRate,
            words: "of",
            note:
                "Retention is (buyers - expirations) / buyers. An expiration counts at the age of the purchase that expired, so Through day 30 is the share of buyers who paid again after day 30, or whose subscription has not ended yet. Days 30, 60, 90, 180 and 365 are about 1, 2, 3, 6 and 12 months. Every cell can still fall until the last purchase of its buyers has ended. A buyer who returns after an expiration stays expired, and a refund without an expiration does not count. Weir does not store who pays in which billing month: a renewal of a month is 28 to 31 days after the last one, and a weekly plan renews several times a month."
        ),
        BuyerCurve(
            measure: "renewals", whole: "buyers", quotient: .renewalsPer100,
            words: "per 100 of",
            note:
                "Renewals up to each day, and their number per 100 buyers. It is not a share of buyers: one buyer can renew several times, so it can be above 100."
        ),
        BuyerCurve(
            measure: "trial_conversions", whole: "trials", quotient: .conversionRate,
            words: "of",
            note: "Trials that became paid up to each day, and their share of all trials."),
        BuyerCurve(
            measure: "expirations", whole: "buyers", quotient: .expirationsPer100,
            words: "per 100 of",
            note:
                "Expirations up to each day (churn), and their number per 100 buyers. An expiration counts at the age of the purchase that expired: a trial that expires counts on day 0."
        ),
        BuyerCurve(
            measure: "refunded_micros", whole: "gross_micros", quotient: .refundedShare,
            words: "of payments",
            note:
                "Refunds minus reversals up to each day, and their share of the payments up to the same day."
        ),
    ]

    /// The chosen measure by age, for each product and for each storefront.
    mutating func writeBuyerCurves() throws {
        let chosen = try choice("show", of: Self.subscriptionMeasures)
        guard let curve = Self.curves.first(where: { $0.measure == chosen }) else { return }
        paragraph(curve.note, class: "note")
        if let age = try firstUnreachedAge() {
            paragraph(
                "No buyer of these days has reached day \(age) yet. Choose earlier days for later ages.",
                class: "note")
        }
        for (column, title) in [("product_id", "By product"), ("storefront", "By storefront")] {
            write { $0.element("h3", text: title) }
            try writeBuyerCurve(curve, by: column, title)
        }
    }

    private static let renewingBuyers = "buyers_of_renewing_products"

    /// Adds the buyers of products that renew. The others would only lower a share of renewals.
    ///
    /// - Parameter renewing: the products that renew.
    private func addRenewingBuyers(to answer: inout PageAnswer, _ renewing: Set<String>) throws {
        var request = ReportAddress(
            "cohorts", by: ["product_id", "storefront", "age"], measures: ["buyers"])
        request.curve = true
        let found = try self.answer(
            request, days: (answer.request.since, answer.request.until))
        var buyers: [[String]: Int128] = [:]
        for row in found.rows {
            guard case .integer(let count) = found.value(row, "buyers"),
                renewing.contains(found.value(row, "product_id").plainText)
            else { continue }
            buyers[found.key(of: row).dropFirst().map(\.value), default: 0] += count
        }
        let all = answer
        answer.add(.init(Self.renewingBuyers, isNumber: true), explainedBy: nil) { row in
            .integer(buyers[all.key(of: row).map(\.value)] ?? 0)
        }
    }

    private mutating func renewingProducts() throws -> Set<String> {
        let steps = ["trials", "renewals", "expirations"]
        let products = try self.answer(
            ReportAddress("cohorts", by: ["product_id"], measures: ["buyers"] + steps))
        let renewing = products.rows.filter { row in
            steps.contains { !products.value(row, $0).isZero }
        }
        let others = products.rows.count - renewing.count
        if others > 0 {
            paragraph(
                "Buyers of \(counted(others, "product")) without any trial, renewal or expiration in these days are left out.",
                class: "note")
        }
        return Set(renewing.map { products.value($0, "product_id").plainText })
    }

    /// The end of the days whose buyers have reached an age, in milliseconds since 1970. They have done so when two days
    /// have passed after its last day.
    private func end(ofDaysAt age: Int64) throws -> Int64 {
        let day = PageContext.dayMilliseconds
        return (try source.stores.newestMilliseconds(of: "cohorts") / day - age - 1) * day
    }

    /// The first age that no buyer of the days has reached; nil if some have reached each.
    private func firstUnreachedAge() throws -> Int64? {
        let since = days.since.flatMap(UTC.milliseconds(text:)) ?? .min
        return try CohortAge.all.compactMap(\.lastDay).first {
            try end(ofDaysAt: $0) <= since
        }
    }

    /// The same curves of the buyers who have reached an age, by age. An age that all buyers of the days have reached,
    /// or none, is not in it.
    private func matureCurves(_ request: ReportAddress) throws -> [String: PageAnswer] {
        let since = days.since.flatMap(UTC.milliseconds(text:)) ?? .min
        let until = days.until.flatMap(UTC.milliseconds(text:)) ?? .max
        return try CohortAge.all.reduce(into: [:]) { answers, age in
            guard let last = age.lastDay else { return }
            let end = try end(ofDaysAt: last)
            guard since < end, end < until else { return }
            answers["\(age.name)"] = try answer(
                request, days: (days.since, UTC.day(milliseconds: end)))
        }
    }

    private mutating func writeBuyerCurve(
        _ curve: BuyerCurve, by column: String, _ title: String
    ) throws {
        let quotient = curve.quotient
        let isMoney = MoneyByCurrency.isMoney(curve.measure)
        var request = ReportAddress(
            "cohorts", by: [column] + (isMoney ? ["currency"] : []) + ["age"])
        request.curve = true
        request.measures = CohortsKey.table.measures.filter(
            (quotient.parts + [curve.measure, curve.whole]).contains)
        var answer = try answer(request)
        writeNotices(answer.notices)
        guard !answer.rows.isEmpty else {
            writeNoRows()
            return files(of: answer)
        }
        var mature = try matureCurves(request)
        // A product that cannot renew has only zeros.
        let events = quotient.over + quotient.less
        let counted = events.filter { $0 != curve.whole }.compactMap(answer.index)
        let key = answer.index(of: column) ?? 0
        var whole = curve.whole
        let isOfSeveral = column == PageContext.storefront && whole == "buyers"
        let renewing = isOfSeveral ? try renewingProducts() : []
        if isOfSeveral { whole = Self.renewingBuyers }
        func complete(_ answer: inout PageAnswer) throws {
            guard isOfSeveral else { return answer.add([.of(quotient)]) }
            try addRenewingBuyers(to: &answer, renewing)
            let parts = quotient.parts.map { $0 == "buyers" ? whole : $0 }.compactMap(answer.index)
            // Its buyers are those of several products, which no single number of the report has.
            answer.add(.init(quotient.name, isNumber: true), explainedBy: nil) { row in
                quotient.value(parts.map { row[$0] })
            }
        }
        try complete(&answer)
        for age in mature.keys.sorted() {
            guard var reached = mature[age] else { continue }
            try complete(&reached)
            mature[age] = reached
        }
        let currency = isMoney ? answer.index(of: "currency") : nil
        let groups = Dictionary(grouping: answer.rows) { row in
            currency.map { row[$0].plainText } ?? ""
        }
        for (name, all) in groups.sorted(by: { $0.key < $1.key }) {
            let used = Set(
                all.filter { row in counted.contains { !row[$0].isZero } }
                    .map { $0[key].plainText })
            let rows = all.filter { used.contains($0[key].plainText) }
            guard !rows.isEmpty else { continue }
            let map = HeatMap(
                title: "\(title) \(name)", answer: answer, cohort: column, age: "age",
                measure: curve.measure, sizes: isMoney ? [] : [whole], rows: rows,
                quotient: curve.measure == quotient.name
                    ? nil : HeatMap.Quotient(measure: quotient.name, words: curve.words),
                order: whole, mature: mature,
                whole: isMoney ? nil : (whole, curve.wholeWords),
                name: { row, index in
                    let text = answer.name(row, index)
                    return text.isEmpty ? "unknown" : text
                })
            write { html in
                if groups.count > 1 { html.element("h4", text: name.isEmpty ? "Others" : name) }
                map.write(to: &html)
            }
        }
        files(of: answer)
    }
}
