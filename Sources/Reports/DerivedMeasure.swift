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
    /// The measures that are subtracted from those that divide.
    package var underLess: [String] = []
    /// A constant that multiplies.
    package var factor: Int128 = 1
    /// A constant that divides.
    package var divisor: Int128 = 1

    package static let conversionRate = DerivedMeasure(
        dump: "cohorts", name: "conversion_rate", over: ["trial_conversions"], under: ["trials"])
    /// The share of buyers without an expiration.
    package static let keptRate = DerivedMeasure(
        dump: "cohorts", name: "kept_rate", over: ["buyers"], less: ["expirations"],
        under: ["buyers"])
    /// A buyer can renew several times, so it is not a share.
    package static let renewalsPer100 = DerivedMeasure(
        dump: "cohorts", name: "renewals_per_100_buyers", over: ["renewals"], under: ["buyers"],
        factor: 100)
    package static let expirationsPer100 = DerivedMeasure(
        dump: "cohorts", name: "expirations_per_100_buyers", over: ["expirations"],
        under: ["buyers"], factor: 100)
    /// The share of the payments up to the same age.
    package static let refundedShare = DerivedMeasure(
        dump: "cohorts", name: "refunded_share", over: ["refunded_micros"],
        under: ["gross_micros"])

    /// The share of subscription periods that ended without a renewal, of all that ended or were renewed. The first
    /// payment after a trial is a renewal, but it ends a trial and no paid period.
    package static let periodChurnRate = DerivedMeasure(
        dump: "cohorts", name: "period_churn_rate", over: ["expirations"],
        under: ["expirations", "renewals"], underLess: ["trial_conversions"])

    private static let expirations = [
        "expirations_voluntary", "expirations_billing", "expirations_price", "expirations_other",
    ]
    /// All expirations, whatever their cause.
    package static let churned = DerivedMeasure(
        dump: "store-notifications", name: "churned", over: expirations)
    /// The share of subscription periods that ended without a renewal, of all that ended or were renewed.
    package static let churnRate = DerivedMeasure(
        dump: "store-notifications", name: "churn_rate", over: expirations,
        under: expirations + ["renewals", "recoveries"])
    private static let sales = [
        "initial_buys", "resubscribes", "renewals", "recoveries", "one_time_purchases",
    ]
    /// By all sales, as in `app_refund_rate` of the funnel.
    package static let refundRate = DerivedMeasure(
        dump: "store-notifications", name: "refund_rate", over: ["refunds"],
        less: ["refund_reversals"], under: sales)
    /// By all sales without trials, which have nothing to refund.
    package static let paidRefundRate = DerivedMeasure(
        dump: "store-notifications", name: "paid_refund_rate", over: ["refunds"],
        less: ["refund_reversals"], under: sales, underLess: ["trials"])
    package static let netSales = DerivedMeasure(
        dump: "store-notifications", name: "net_micros", over: ["gross_micros"],
        less: ["refunded_micros"])
    /// The share of the payments of the same rows.
    package static let refundedShareOfSales = DerivedMeasure(
        dump: netSales.dump, name: refundedShare.name, over: refundedShare.over,
        under: refundedShare.under)
    package static let winRate = DerivedMeasure(
        dump: "bids", name: "win_rate", over: ["wins"], under: ["bids"])
    /// The billed amount, as a publisher calls it: prices are for a thousand ads.
    package static let earnings = DerivedMeasure(
        dump: "bids", name: "earnings_micros", over: ["billed_price_micros"], divisor: 1000)
    /// The sum of CPM prices divided by the ads that it is for.
    package static let averageCPM = DerivedMeasure(
        dump: "bids", name: "average_cpm", over: ["billed_price_micros"], under: ["billed"])
    private static let clicks = ["clicks", "automatic_clicks", "early"]
    /// The clicks that fraud signals are a share of.
    package static let judgedClicks = DerivedMeasure(
        dump: "overlay-clicks", name: "judged_clicks", over: clicks)
    /// As in the fraud signal `automatic_clicks`.
    package static let automaticRate = DerivedMeasure(
        dump: "overlay-clicks", name: "automatic_click_rate", over: ["automatic_clicks"],
        under: clicks)
    /// As in the fraud signal `early_clicks`.
    package static let earlyRate = DerivedMeasure(
        dump: "overlay-clicks", name: "early_click_rate", over: ["early"], under: clicks)

    private static let all = [
        conversionRate, keptRate, renewalsPer100, expirationsPer100, refundedShare, churned,
        churnRate, periodChurnRate, refundRate, paidRefundRate, netSales, refundedShareOfSales,
        winRate, earnings, averageCPM, judgedClicks, automaticRate, earlyRate,
    ]

    package static func named(_ name: String, of dump: String) -> DerivedMeasure? {
        all.first { $0.name == name && $0.dump == dump }
    }

    /// The measures of its terms, in order.
    package var parts: [String] { over + less + under + underLess }

    /// Every measure that it is computed from.
    package var measures: [String] { parts.uniqued }

    /// Its value; null if a part is unknown or has several currencies, or without anything to divide by. A quotient of
    /// money and a count is in units of its currency.
    ///
    /// - Parameter values: those of the parts, in order.
    package func value(_ values: [ReportValue]) -> ReportValue {
        if under.isEmpty, values.count == 1, case .money(let money) = values[0] {
            return .money(money.divided(by: divisor))
        }
        guard let above = sum(values.prefix(over.count)),
            let subtracted = sum(values.dropFirst(over.count).prefix(less.count)),
            let below = sum(values.dropFirst(over.count + less.count).prefix(under.count)),
            let belowLess = sum(values.suffix(underLess.count)), values.count == parts.count,
            Set(values.flatMap(\.currencies)).count < 2
        else { return .null }
        let divisors = values.suffix(under.count + underLess.count)
        let unit: Int128 =
            Self.isMoney(values.prefix(over.count)) == Self.isMoney(divisors)
                || under.isEmpty ? 1 : 1_000_000
        let amount = (above - subtracted) * factor
        guard under.isEmpty else { return .ratio(amount, (below - belowLess) * unit * divisor) }
        guard let currency = values.flatMap(\.currencies).first else {
            return .integer(amount / divisor)
        }
        return .money(MoneyByCurrency([.text(currency): amount]).divided(by: divisor))
    }

    private static func isMoney(_ values: some Sequence<ReportValue>) -> Bool {
        values.contains { if case .money = $0 { true } else { false } }
    }

    /// The sum of counts, or of the millionths of amounts; nil if one is unknown or has several currencies.
    private func sum(_ values: some Sequence<ReportValue>) -> Int128? {
        values.reduce(0) { sum, value in
            switch value {
            case .integer(let integer): sum.map { $0 + integer }
            case .money(let money) where money.amounts.count < 2:
                sum.map { $0 + (money.amounts.first?.micros ?? 0) }
            default: nil
            }
        }
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
            underLess: underLess.map(term), factor: factor, divisor: divisor,
            value: value(parts.map { term($0).value }))
    }
}
