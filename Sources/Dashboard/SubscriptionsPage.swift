import Program
import Reports
import Streams
import Wording

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
            note:
                "Expirations up to each day (churn), and their number per 100 buyers. An expiration counts at the age of the purchase that expired: a trial that expires counts on Day 0."
        ),
        BuyerShare(
            measure: "refunded_micros", whole: "gross_micros",
            note:
                "Refunds minus reversals up to each day, and their share of the payments up to the same day."
        ),
    ]

    /// The measures of tables, money first. Their own pages have all.
    private static let notificationMeasures = [
        "gross_micros", "refunded_micros", "one_time_purchases", "initial_buys", "trials",
        "renewals", "recoveries", "expirations_voluntary", "expirations_billing", "refunds",
    ]

    mutating func writeSubscriptions() throws {
        try section("Results") { try $0.writeSubscriptionCards() }
        try section(
            "By days since the first purchase, added up",
            "Buyers with a first purchase in these days. Each age includes all earlier ages. Hatched cells can still grow, because younger buyers have not reached the age."
        ) { try $0.writeBuyerShares() }
        try section("By product", "Payments and refunds of customers, by currency.") {
            try $0.writeNotifications(by: ["environment", "bundle_id", "product_id"])
        }
        try section("By day") { try $0.writeNotifications(by: ["environment", "day"]) }
        try section("By country") {
            try $0.writeNotifications(by: ["environment", "storefront"], sort: "gross_micros")
        }
        try section(
            "By days since the first purchase, each age on its own",
            "Each event counts only at its own age. Click a number to see its records."
        ) {
            try $0.table(
                ReportAddress("cohorts", by: ["product_id", "age", "currency"]), limit: 60)
        }
    }

    private mutating func writeSubscriptionCards() throws {
        var sold = ReportAddress("store-notifications")
        sold.conditions = [.init(column: "environment", value: "Production")]
        try cards([
            CardGroup(sold, [Card("Trials", "trials", .good)]),
            CardGroup(
                ReportAddress("cohorts"), [Card("Trials that became paid", "conversion_rate")],
                [.of(.conversionRate)],
                isCompared: false),
            CardGroup(
                sold,
                [
                    Card("Renewals", "renewals", .good),
                    Card("Recovered after a failed payment", "recoveries", .good),
                    Card("Churned: voluntary and billing expirations", "churned", .bad),
                    Card("Cancelled by the customer", "expirations_voluntary", .bad),
                    Card("Lost by failed payments", "expirations_billing", .bad),
                    Card("Refunds", "refunds", .bad),
                    Card("Refunds reversed", "refund_reversals", .good),
                    Card("Refund rate, less reversals", "refund_rate", .bad),
                ],
                [.of(.churned), .of(.refundRate)]),
            CardGroup(
                sold,
                [
                    Card("Gross amount", "gross_micros", .good),
                    Card("Refunded, less reversals", "refunded_micros", .bad),
                ]),
        ])
        paragraph(
            "Trials that became paid is the share of the trials that began in these days. The newest of them have not ended, so it can still grow. Refund rate is (refunds - reversals) / (first purchases with trials, resubscriptions, renewals, recoveries and one-time purchases). All other figures are of the environment Production.",
            class: "note")
    }

    /// Notifications with their currency. Columns of one value are below the table.
    private mutating func writeNotifications(by columns: [String], sort: String? = nil) throws {
        var request = ReportAddress("store-notifications", by: columns + ["currency"])
        let everything = try limited(request, to: days)
        request.measures = Self.notificationMeasures
        var answer = try answer(
            request,
            keeping: RowBound(sort == nil ? PageSource.mostRows : Self.mostRows, largest: sort))
        answer.show(Self.notificationMeasures)
        answer.leaveOutEmptyRows()
        answer.hideConstantKeys(["environment", "bundle_id"])
        try table(answer, sort: sort)
        write { html in
            html.element("p", ["class": "note"]) { html in
                html.text("Failed renewals, reversals, upgrades and all other counts: ")
                html.link("all columns of this table", to: everything.address)
            }
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

    private static let renewingBuyers = "buyers_of_renewing_products"

    /// Adds the buyers of products that renew. The others would only lower a share of renewals.
    private mutating func addRenewingBuyers(to answer: inout PageAnswer) throws {
        let steps = ["trials", "renewals", "expirations"]
        let products = try self.answer(
            ReportAddress("cohorts", by: ["product_id"], measures: ["buyers"] + steps))
        let renewing = products.rows.filter { row in
            steps.contains { !products.value(row, $0).isZero }
        }.map { products.value($0, "product_id").plainText }
        var buyers: [[String]: Int128] = [:]
        for product in renewing {
            var request = ReportAddress(
                "cohorts", by: ["storefront", "age"], measures: ["buyers"])
            request.curve = true
            request.conditions = [.init(column: "product_id", value: product)]
            let found = try self.answer(request)
            for row in found.rows {
                guard case .integer(let count) = found.value(row, "buyers") else { continue }
                buyers[found.key(of: row).map(\.value), default: 0] += count
            }
        }
        let all = answer
        answer.add(.init(Self.renewingBuyers, isNumber: true), explainedBy: nil) { row in
            .integer(buyers[all.key(of: row).map(\.value)] ?? 0)
        }
        let others = products.rows.count - renewing.count
        guard others > 0 else { return }
        paragraph(
            "Buyers of \(counted(others, "product")) without any trial, renewal or expiration in these days are left out.",
            class: "note")
    }

    private mutating func writeBuyerShares(
        _ share: BuyerShare, by column: String, _ title: String
    ) throws {
        let isMoney = MoneyByCurrency.isMoney(share.measure)
        var request = ReportAddress(
            "cohorts", by: [column] + (isMoney ? ["currency"] : []) + ["age"])
        request.curve = true
        request.measures = [share.whole, share.measure]
        var answer = try answer(request)
        guard !answer.rows.isEmpty else {
            writeNoRows()
            return files(of: answer)
        }
        var whole = share.whole
        if column == PageContext.storefront, whole == "buyers" {
            try addRenewingBuyers(to: &answer)
            whole = Self.renewingBuyers
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
                measure: share.measure, sizes: isMoney ? [] : [whole], rows: rows, whole: whole,
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
