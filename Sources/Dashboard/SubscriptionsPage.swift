import Program
import Reports
import Streams
import Wording

// Trials, renewals, churn and refunds of subscriptions.

extension PageWriter {
    /// The measures of tables, money first. Their own pages have all.
    private static let notificationMeasures = [
        "gross_micros", "refunded_micros", DerivedMeasure.netSales.name,
        DerivedMeasure.refundedShareOfSales.name, "one_time_purchases", "initial_buys", "trials",
        "renewals", "recoveries", DerivedMeasure.churned.name, DerivedMeasure.churnRate.name,
        "refunds", DerivedMeasure.refundRate.name,
        DerivedMeasure.paidRefundRate.name,
    ]
    private static let notificationRates: [DerivedColumn] = [
        .of(.churned), .of(.churnRate), .of(.refundRate), .of(.paidRefundRate),
    ]

    mutating func writeSubscriptions() throws {
        let periods = "Trials and paid periods"
        let retention = "Retention and renewals by age"
        let ages = "Each age on its own"
        writeContents(["Results", periods, "By product", "By country", retention, "By day", ages])
        try section("Results") { try $0.writeSubscriptionCards() }
        try section(
            periods,
            "\(buyersOfDays), without family sharing. A trial ends with a first payment (trial conversion) or expires. A paid period ends with a renewal or expires, and its churn rate is expirations / (expirations + renewals - trial conversions), all of purchases without an offer. The offer in the notification of an expiration shows that a trial expired. Expired introductory offers include those at a reduced price, because stored rows do not separate them from free trials. Expired promotional and other offers are not in this table."
        ) { try $0.writePeriods() }
        try section(
            "By product",
            "Payments and refunds of customers. Churn rate, with trials: expirations / (expirations + renewals + recoveries), so its base is all periods that ended in these days, trials too. Refund rate, with trials: (refunds - reversals) / all first purchases, resubscriptions, renewals, recoveries and one-time purchases. Without trials, its base is smaller by the trials. Refunded share is the refunded amount, less reversals, / gross."
        ) {
            try $0.writeNotifications(by: ["environment", "bundle_id", "product_id"])
        }
        try section("By country") {
            try $0.writeNotifications(by: ["environment", "storefront"], sort: "gross_micros")
        }
        try section(
            retention,
            "Buyers with a first purchase in these days, by days since that purchase. Day 0 is its first 24 hours. Each column includes all earlier days, and counts only buyers who have reached it. So each column has other buyers, and a share can be higher at a later age."
        ) { try $0.writeBuyerCurves() }
        try section("By day") { try $0.writeNotifications(by: ["environment", "day"]) }
        try section(
            ages,
            "Each event counts only at its own days since the first purchase, for example from day 15 to day 30."
        ) {
            try $0.table(
                ReportAddress("cohorts", by: ["product_id", "age", "currency"]), limit: 60)
        }
    }

    /// Whose cohorts the days of the page select.
    private var buyersOfDays: String {
        days.since == nil
            ? "Buyers of all days, also those whose first purchase was before the first record"
            : "Buyers whose first purchase was in these days"
    }

    private static let ofBuyers = "of buyers of these days"
    private static let paidChurn = "churn rate of paid periods, \(ofBuyers)"

    /// Says why there is no churn rate of paid periods.
    private mutating func writeNoPaidChurn() throws {
        var request = Self.paidPeriods
        request.measures = DerivedMeasure.periodChurnRate.measures
        var answer = try answer(request)
        answer.add([.of(.periodChurnRate)])
        let rate = answer.only(DerivedMeasure.periodChurnRate.name)
        guard rate.map({ $0.plainText.isEmpty }) ?? true else { return }
        paragraph(
            "No paid period of these buyers has ended yet, so there is no churn rate: choose more days.",
            class: "note")
    }

    private mutating func writeSubscriptionCards() throws {
        var sold = ReportAddress("store-notifications")
        sold.conditions = [.init(column: "environment", value: "Production")]
        let buyers = ReportAddress("cohorts")
        try? writeEndedTrials()
        try cards([
            CardGroup(
                buyers, [Card("Trials begun", "trials", .good)], isOfDays: true, keepsZeros: true),
            CardGroup(
                buyers,
                [
                    Card(
                        "Became paid, of all trials begun", "conversion_rate",
                        parts: [("became paid", "trial_conversions"), ("began", "trials")],
                        share: .of(.conversionRate))
                ],
                [.of(.conversionRate)], isCompared: false),
            CardGroup(
                sold,
                [
                    Card("Renewals", "renewals", .good),
                    Card("Recovered after a failed payment", "recoveries", .good),
                    Card(
                        "Churned: all expirations", DerivedMeasure.churned.name, .bad,
                        parts: [
                            ("cancelled by the customer", "expirations_voluntary"),
                            ("by failed payments", "expirations_billing"),
                            ("by a higher price", "expirations_price"),
                            ("for other reasons", "expirations_other"),
                        ]),
                    Card(
                        "Churn rate, with trials", DerivedMeasure.churnRate.name, .bad,
                        share: .of(.churnRate)),
                    Card("Refunds", "refunds", .bad),
                    Card("Refunds reversed", "refund_reversals", .good),
                    Card(
                        "Refund rate of paid purchases", DerivedMeasure.paidRefundRate.name, .bad),
                    Card("Refund rate, with trials", DerivedMeasure.refundRate.name, .bad),
                ], Self.notificationRates, keepsZeros: true),
            CardGroup(
                Self.paidPeriods,
                [
                    Card(
                        ShownValue.sentence(Self.paidChurn), DerivedMeasure.periodChurnRate.name,
                        .bad,
                        parts: [
                            ("expired", "expirations"), ("renewed", "renewals"),
                            ("of these ended a trial", "trial_conversions"),
                        ], share: .of(.periodChurnRate))
                ], [.of(.periodChurnRate)], isCompared: false),
            CardGroup(
                sold,
                [
                    Card("Gross amount", "gross_micros", .good),
                    Card("Refunded, less reversals", "refunded_micros", .bad),
                    Card("Gross less refunds", "net_micros", .good),
                ], [.of(.netSales)], keepsZeros: true),
        ])
        // A failed card says why itself.
        try? writeNoPaidChurn()
        writeDefinitions()
    }

    /// How the figures of the cards are counted.
    private mutating func writeDefinitions() {
        let definitions = [
            "Trials begun, the shares that became paid, and Churn rate of paid periods are about these buyers: \(buyersOfDays), without family sharing. All other figures are of the environment Production. The trials in the tables by product, country and day include family sharing.",
            "Became paid, of all trials begun: trial conversions / trials. The newest trials have not ended, so this share can still change.",
            "Churn rate, with trials: expirations / (expirations + renewals + recoveries). Trials that end without a payment count as churned.",
            "Churn rate of paid periods leaves out trials and all other purchases with an offer: expirations / (expirations + renewals - trial conversions).",
            "Refund rate: (refunds - reversals) / (first purchases, resubscriptions, renewals, recoveries and one-time purchases). Of paid purchases: less the trials. It has no interval, because refunds of these days can be of earlier purchases.",
            "The 95 % interval of a share is computed from its counts (Wilson). Shares whose intervals overlap may be equal.",
        ]
        write { html in
            html.element("details", ["class": "why"]) { html in
                html.element("summary", text: "How are these figures counted?")
                html.element("ul", ["class": "list"]) { html in
                    for definition in definitions { html.element("li", text: definition) }
                }
            }
        }
    }

    /// The share of trials that became paid, of those that have ended.
    private mutating func writeEndedTrials() throws {
        guard let days = try daysOfSeenTrials() else { return }
        var begun = ReportAddress("cohorts")
        begun.measures = ["trials", "trial_conversions"]
        var offers = Self.cohorts(offer: "introductory")
        offers.measures = ["buyers", "trials", "expirations"]
        let (all, introductory) = (
            try answer(begun, days: days), try answer(offers, days: days)
        )
        func count(_ measure: String, _ answer: PageAnswer) -> Int128 {
            if case .integer(let count)? = answer.only(measure) { count } else { 0 }
        }
        let (trials, paid) = (count("trials", all), count("trial_conversions", all))
        let expired = count("expirations", introductory)
        guard trials > 0 else { return }
        // Each introductory offer is a trial, and each trial is an introductory offer, so the expired ones are trials.
        let isSeparate =
            count("buyers", introductory) == count("trials", introductory)
            && count("trials", introductory) == trials && paid + expired <= trials
        let ended = paid + expired
        let since = days.since == self.days.since ? nil : days.since
        write { html in
            html.element("div", ["class": "cards"]) { html in
                html.card("Became paid, of trials that have ended") { html in
                    let share: ReportValue = isSeparate ? .ratio(paid, ended) : .null
                    html.element("span", ["class": "amount"]) {
                        NumberLink(all).write(
                            share, of: DerivedMeasure.conversionRate.name, isLinked: false, to: &$0)
                    }
                    html.element("span", ["class": "before"]) { html in
                        let (first, second) = (
                            NumberLink(all, row: all.rows.first),
                            NumberLink(introductory, row: introductory.rows.first)
                        )
                        first.write(.integer(paid), of: "trial_conversions", to: &html)
                        html.text(" became paid, ")
                        second.write(.integer(expired), of: "expirations", to: &html)
                        html.text(
                            isSeparate
                                ? " expired, \(ShownValue.grouped(trials - ended)) of "
                                : " introductory offers expired, of ")
                        first.write(.integer(trials), of: "trials", to: &html)
                        html.text(isSeparate ? " have not ended" : " trials begun")
                        if let since {
                            html.text(" (buyers since \(PageContext.name(ofDay: since)))")
                        }
                    }
                    if isSeparate { html.interval(ShareParts.words(paid, of: ended)) }
                }
            }
        }
        paragraph(
            isSeparate
                ? "A trial has ended if it became paid or expired. \(Self.aboutEndedTrials)"
                : "The share of trials that have ended is not shown, because stored rows do not separate these trials from other offers. \(Self.aboutEndedTrials)",
            class: "note")
    }

    private static let aboutEndedTrials =
        "Expired introductory offers can include offers at a reduced price. So the share is shown only if each introductory offer of these buyers began as a free trial, and each trial was an introductory offer. It leaves out buyers of the first day with records and of earlier days, because the beginnings of their trials are not in the records."

    /// The days of the page of whose trials both the beginning and the end are in the records; nil without such days.
    private func daysOfSeenTrials() throws -> PageContext.Days? {
        let stream = StoreNotificationsFold.streamName
        // Days of cohorts are in UTC.
        let first = try source.stores.recordDays(of: [stream], in: .utc).first(of: [stream])
        guard let start = first.flatMap({ UTC.milliseconds(text: $0) }) else { return nil }
        let seen = UTC.day(milliseconds: start + PageContext.dayMilliseconds)
        if let until = days.until, until.prefix(10) <= seen { return nil }
        if let since = days.since, since.prefix(10) >= seen { return days }
        return (seen, days.until)
    }

    /// The buyers' purchases without an offer, which are paid in full.
    private static var paidPeriods: ReportAddress { cohorts(offer: "") }

    private static func cohorts(offer: String) -> ReportAddress {
        var request = ReportAddress("cohorts")
        request.conditions = [.init(column: "offer", value: offer)]
        return request
    }

    /// Trials and paid periods of each product, with how they ended.
    private mutating func writePeriods() throws {
        func answer(
            _ request: ReportAddress, _ measures: [String], _ derived: DerivedMeasure? = nil
        ) throws -> PageAnswer {
            var request = request
            request.by = ["product_id"]
            request.measures = measures
            var answer = try self.answer(request)
            if let derived { answer.add([.of(derived)]) }
            return answer
        }
        var columns: [(label: String, answer: PageAnswer)] = []
        func add(_ label: String, _ measure: String, _ answer: PageAnswer) {
            var answer = answer
            answer.show([measure])
            columns.append((label, answer))
        }
        func addInterval(_ label: String, _ share: DerivedMeasure, _ answer: PageAnswer) {
            var answer = answer
            answer.addInterval(.of(share))
            add("interval of \(label), 95 %", ShareParts.column, answer)
        }
        let trials = try answer(
            ReportAddress("cohorts"), ["trials", "trial_conversions"], .conversionRate)
        let introductory = try answer(Self.cohorts(offer: "introductory"), ["expirations"])
        let paid = try answer(
            Self.paidPeriods, ["renewals", "expirations", "trial_conversions"], .periodChurnRate)
        add("trials", "trials", trials)
        add("trial conversions", "trial_conversions", trials)
        add("conversion rate", DerivedMeasure.conversionRate.name, trials)
        addInterval("the conversion rate", .conversionRate, trials)
        add("expired introductory offers", "expirations", introductory)
        add("renewals without an offer", "renewals", paid)
        add("of these, trial conversions", "trial_conversions", paid)
        add("expired paid periods, \(Self.ofBuyers)", "expirations", paid)
        add(Self.paidChurn, DerivedMeasure.periodChurnRate.name, paid)
        addInterval("this churn rate", .periodChurnRate, paid)
        for notice in Set(columns.flatMap(\.answer.notices)).sorted() { writeNotices([notice]) }
        let table = JoinedTable(
            columns.map(\.answer), sort: "trials", labels: columns.map(\.label))
        guard !table.isEmpty else { return writeNoRows() }
        let (title, names) = (sectionTitle, source.names(for: context.scope))
        write { html in
            table.write(named: title, to: &html) { column, value, html in
                html.named(value, names.name(value, in: column))
            }
        }
        writeMoreRows(table.moreRows)
        files(of: [trials, introductory, paid].map(\.request))
    }

    /// Notifications with their currency. Columns of one value are below the table.
    private mutating func writeNotifications(by columns: [String], sort: String? = nil) throws {
        var request = ReportAddress("store-notifications", by: columns + ["currency"])
        var everything = try limited(request, to: days)
        let derived = [.of(.netSales), .of(.refundedShareOfSales)] + Self.notificationRates
        let everyMeasure = Self.notificationMeasures + derived.flatMap(\.parts)
        request.measures = StoreNotificationsKey.table.measures.filter(everyMeasure.contains)
        var answer = try answer(
            request,
            keeping: RowBound(sort == nil ? PageSource.mostRows : Self.mostRows, largest: sort))
        everything.target = answer.request.target
        answer.add(derived)
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
}
