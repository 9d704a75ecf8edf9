/// A number that is computed from the measures of a dump and that its rows do not have: a quotient or a sum.
///
/// Pages show it, and `weir explain` explains it as the measures that it is computed from.
package struct DerivedMeasure: Sendable {
    package let dump: String
    package let name: String
    /// The measures that are added.
    package let over: [String]
    /// The measures that are subtracted from them.
    package var less: [String] = []
    /// The measures whose sum divides; empty for a sum.
    package var under: [String] = []

    package static let conversionRate = DerivedMeasure(
        dump: "cohorts", name: "conversion_rate", over: ["trial_conversions"], under: ["trials"])
    package static let churned = DerivedMeasure(
        dump: "store-notifications", name: "churned",
        over: ["expirations_voluntary", "expirations_billing"])
    /// By all sales, as in `app_refund_rate` of the funnel.
    package static let refundRate = DerivedMeasure(
        dump: "store-notifications", name: "refund_rate", over: ["refunds"],
        less: ["refund_reversals"],
        under: [
            "initial_buys", "resubscribes", "renewals", "recoveries", "one_time_purchases",
        ])
    package static let netSales = DerivedMeasure(
        dump: "store-notifications", name: "net_micros", over: ["gross_micros"],
        less: ["refunded_micros"])
    package static let winRate = DerivedMeasure(
        dump: "bids", name: "win_rate", over: ["wins"], under: ["bids"])
    /// The sum of CPM prices divided by the ads that it is for.
    package static let averageCPM = DerivedMeasure(
        dump: "bids", name: "average_cpm", over: ["billed_price_micros"], under: ["billed"])

    private static let all = [
        conversionRate, churned, refundRate, netSales, winRate, averageCPM,
    ]

    package static func named(_ name: String, of dump: String) -> DerivedMeasure? {
        all.first { $0.name == name && $0.dump == dump }
    }

    /// Every measure that it is computed from.
    package var parts: [String] { over + less + under }

    /// Its value; null if a part is unknown or has several currencies, or without anything to divide by. A quotient of
    /// money is in units of its currency.
    ///
    /// - Parameter values: those of the parts, in order.
    package func value(_ values: [ReportValue]) -> ReportValue {
        var unit: Int128 = 1
        var currencies: Set<String> = []
        let integers = values.compactMap { value -> Int128? in
            switch value {
            case .integer(let integer): return integer
            case .money(let money) where money.amounts.count < 2:
                unit = 1_000_000
                currencies.formUnion(money.amounts.map(\.currency))
                return money.amounts.first?.micros ?? 0
            default: return nil
            }
        }
        guard integers.count == parts.count, currencies.count < 2 else { return .null }
        func sum(_ range: some Sequence<Int128>) -> Int128 { range.reduce(0, +) }
        let above =
            sum(integers.prefix(over.count))
            - sum(integers.dropFirst(over.count).prefix(less.count))
        guard under.isEmpty else {
            return .ratio(above, sum(integers.suffix(under.count)) * unit)
        }
        return currencies.first.map { .money(MoneyByCurrency([.text($0): above])) }
            ?? .integer(above)
    }

    /// The calculation over the only row of a table of its parts. A part without a row is 0.
    func division(_ table: ReportTable) -> FunnelDivision {
        func term(_ name: String) -> FunnelDivision.Term {
            let index = table.columns.firstIndex { $0.name == name }
            let value = table.rows.first.flatMap { row in index.map { row[$0] } }
            return FunnelDivision.Term(name: name, value: value ?? .integer(0))
        }
        return FunnelDivision(
            measure: name, over: over.map(term), less: less.map(term), under: under.map(term),
            value: value(parts.map { term($0).value }))
    }
}
