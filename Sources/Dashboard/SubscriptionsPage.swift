import Program
import Reports
import Streams

// Trials, renewals, churn and refunds of subscriptions.

extension PageWriter {
    /// A measure of buyers by age, and the measure that it is a share of.
    private struct BuyerShare {
        let measure: String
        let whole: String
        let note: String
    }

    /// The choices of `show`.
    static let subscriptionMeasures = shares.map(\.measure)

    private static let shares = [
        BuyerShare(
            measure: "renewals", whole: "buyers",
            note: "Renewals up to each day, and their number per 100 buyers."),
        BuyerShare(
            measure: "trial_conversions", whole: "trials",
            note: "Trials that became paid up to each day, and their share of all trials."),
        BuyerShare(
            measure: "expirations", whole: "buyers",
            note: "Expirations up to each day (churn), and their number per 100 buyers."),
        BuyerShare(
            measure: "refunded_micros", whole: "gross_micros",
            note: "Refunds minus reversals up to each day, and their share of all payments."),
    ]

    private static let notificationMeasures = [
        "initial_buys", "trials", "renewals", "recoveries", "renewal_failures",
        "expirations_voluntary", "expirations_billing", "one_time_purchases", "refunds",
        "refund_reversals", "gross_micros", "refunded_micros",
    ]

    mutating func writeSubscriptions() throws {
        try section("Results") { page in
            try page.cards(
                ReportAddress("store-notifications"),
                [
                    Card("Trials", "trials", .good), Card("Renewals", "renewals", .good),
                    Card("Recovered after a failed payment", "recoveries", .good),
                    Card("Cancelled by the customer", "expirations_voluntary", .bad),
                    Card("Lost by failed payments", "expirations_billing", .bad),
                    Card("Refunds", "refunds", .bad),
                    Card("Refunds reversed", "refund_reversals", .good),
                ])
        }
        try section(
            "From the first purchase on",
            "Of the buyers whose first purchase is in these days. Each age includes all earlier ages. Hatched cells can still grow, because younger buyers have not reached the age."
        ) { try $0.writeBuyerShares() }
        try section(
            "From the first purchase on, not cumulative", "Click a number to see its records."
        ) {
            try $0.table(
                ReportAddress("cohorts", by: ["product_id", "age", "currency"]), limit: 60)
        }
        try section("By product", "Payments and refunds of customers, by currency.") {
            try $0.table(
                ReportAddress(
                    "store-notifications",
                    by: ["environment", "bundle_id", "product_id", "currency"],
                    measures: Self.notificationMeasures))
        }
        try section("By day") {
            try $0.table(
                ReportAddress(
                    "store-notifications", by: ["day", "currency"],
                    measures: Self.notificationMeasures))
        }
        try section("By country") {
            try $0.table(
                ReportAddress(
                    "store-notifications", by: ["storefront", "currency"],
                    measures: Self.notificationMeasures),
                sort: "gross_micros")
        }
    }

    /// The chosen measure by age, for each product and for each storefront.
    private mutating func writeBuyerShares() throws {
        let chosen = try choice("show", of: Self.subscriptionMeasures)
        guard let share = Self.shares.first(where: { $0.measure == chosen }) else { return }
        paragraph(share.note, class: "note")
        for (column, title) in [("product_id", "By product"), ("storefront", "By storefront")] {
            write { $0.element("h3", text: title) }
            try writeBuyerShares(share, by: column, title)
        }
    }

    private mutating func writeBuyerShares(
        _ share: BuyerShare, by column: String, _ title: String
    ) throws {
        let isMoney = MoneyByCurrency.isMoney(share.measure)
        var request = ReportAddress(
            "cohorts", by: [column] + (isMoney ? ["currency"] : []) + ["age"])
        request.curve = true
        request.measures = [share.whole, share.measure]
        let answer = try answer(request)
        guard !answer.rows.isEmpty else {
            writeNoRows()
            return files(of: answer)
        }
        let currency = isMoney ? answer.index(of: "currency") : nil
        let groups = Dictionary(grouping: answer.rows) { row in
            currency.map { row[$0].plainText } ?? ""
        }
        let measure = answer.index(of: share.measure) ?? 0
        let key = answer.index(of: column) ?? 0
        for (name, all) in groups.sorted(by: { $0.key < $1.key }) {
            // A product that cannot renew has only zeros.
            let used = Set(all.filter { !$0[measure].isZero }.map { $0[key].plainText })
            let rows = all.filter { used.contains($0[key].plainText) }
            guard !rows.isEmpty else { continue }
            let map = HeatMap(
                title: "\(title) \(name)", answer: answer, cohort: column, age: "age",
                measure: share.measure, sizes: [share.whole], rows: rows, whole: share.whole,
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
