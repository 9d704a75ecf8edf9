import EventLog
import TestKit

/// Section 7 of the contract, of which version 2 has the types of `StoreKind.all`, and of section 8a what follows.
struct StoreNotificationsModel: StreamModel {
    static let stream = "store-notifications"
    static let dumps = ["outcomes", "store-notifications", "cohorts"]

    struct Meaning {
        var type: String
        var content: Content
    }

    enum Content {
        case rejected(ContractReason)
        case untrusted
        case version2(StoreNotification)
        case version1(StoreBody)
        /// Purchases that are listed, and the whole text, which is part of the id.
        case receipt(line: String, text: String, from: StoreOrigin, [StorePurchase])
    }

    /// How many records were made.
    var count = 0
    /// The latest id of a notification that nobody signed, by line.
    var lastID: [String: String] = [:]
    /// Records that were made, to be sent again.
    var sent: [ModelRecord<Meaning>] = []

    static func rows(of records: [LoggedMeaning<Meaning>]) -> ModelRows {
        var rows = ModelRows()
        var partitions: [Int32: StoreFold] = [:]
        for record in records {
            let hour = hourText(record.timestampMilliseconds)
            let outcome = partitions[record.partition, default: StoreFold()].fold(
                record.meaning.content, hour)
            rows.add("outcomes", [hour, stream, record.meaning.type], [outcome: 1])
            switch (outcome, record.meaning.content) {
            case ("rejected", .rejected(let reason)): rows.refuse(record, reason.rawValue)
            case ("rejected", _): rows.refuse(record, ContractReason.overflow.rawValue)
            case ("untrusted", _): rows.refuse(record, "untrusted")
            default: break
            }
        }
        for (dump, sums) in [
            ("store-notifications", partitions.values.map(\.sums)),
            ("cohorts", partitions.values.map(\.cohorts)),
        ] {
            for (row, measures) in sums.flatMap(\.rows) { rows.add(dump, row, measures) }
        }
        return rows
    }
}

/// Whose purchases a record speaks of.
struct StoreOrigin {
    var environment: String
    var bundle: String
}

/// A purchase, renewal or refund of one line of purchases.
struct StorePurchase {
    var line: String
    var id: String
    var product = "monthly"
    var storefront = "USA"
    var currency = "USD"
    var offer = StoreOffer.all[0]
    var ownership = StoreOwnership.all[0]
    /// Thousandths of the currency's unit; version 2 only.
    var price: Int64?
    var purchasedAt: Int64
    /// When its line was bought first; nil where it does not say so.
    var firstPurchasedAt: Int64?
    /// Whether it leaves out when it was bought; version 2 only.
    var hidesPurchase = false
    /// When it was cancelled or revoked.
    var cancelledAt: Int64?
    /// Thousandths of a percent; version 2 only.
    var percentage: Int64?
    var isUpgraded = false
    /// Id of its order; version 1 only.
    var order: String?

    /// What a refund gives back, in millionths of the unit.
    var refundMicros: Int64 {
        guard let price else { return 0 }
        // Both factors are large: the product of three is not held by 64 bits.
        return percentage.map { Int64(Int128(price) * Int128($0) / 100) } ?? price * 1_000
    }
}

/// A notification of version 2.
struct StoreNotification {
    var id: String
    var kind: StoreKind
    var from: StoreOrigin
    var purchase: StorePurchase?
    /// What is renewed, or what a summary is of.
    var product: String?

    /// That of its row.
    var countedProduct: String {
        let isOfProduct = kind.holder == .data || kind.holder == .summary
        return purchase?.product ?? (isOfProduct ? product : nil) ?? ""
    }
}

/// A body of version 1.
struct StoreBody {
    var type: String
    var from: StoreOrigin
    /// The line that the top level names.
    var line: String?
    /// The object of one of the purchases by which bodies from before March 2021 name it; nil for the line itself.
    var object: String?
    var purchases: [StorePurchase]
    /// Order and instant of a cancellation that the top level names.
    var cancellation: (order: String, at: Int64)?
    /// Of DID_CHANGE_RENEWAL_STATUS.
    var change: (isOn: Bool?, at: Int64?)?

    static let refunds = ["REFUND", "CANCEL"]

    /// The purchases that the transaction of the id is one of.
    private var eligible: [StorePurchase] { purchases.filter { line == nil || $0.line == line } }

    var newestPurchase: StorePurchase? { Self.newest(of: eligible) { $0.purchasedAt } }

    /// Those that are cancelled, of any eligible line.
    private var cancelled: [StorePurchase] {
        let listed = eligible.filter { $0.cancelledAt != nil }
        guard listed.isEmpty, let cancellation else { return listed }
        return eligible.filter { $0.order == cancellation.order }.prefix(1).map {
            var named = $0
            named.cancelledAt = cancellation.at
            return named
        }
    }

    /// The transaction of the id, with its instant.
    private var subject: (purchase: StorePurchase?, at: Int64?) {
        if let at = change?.at { return (nil, at) }
        if Self.refunds.contains(type) || type == "REVOKE",
            let found = newestCancelled
        {
            return (found, found.cancelledAt)
        }
        return (newestPurchase, newestPurchase?.purchasedAt)
    }

    var newestCancelled: StorePurchase? { Self.newest(of: cancelled) { $0.cancelledAt ?? 0 } }

    private var ownLine: String? { line ?? subject.purchase?.line ?? newestPurchase?.line }

    var id: [String] {
        [type, from.bundle, ownLine ?? "", subject.purchase?.id ?? "", "\(subject.at ?? 0)"]
    }

    /// The cancelled purchases that it counts.
    var counted: [StorePurchase] { cancelled.filter { $0.line == ownLine } }

    /// Of several, the first in the list.
    private static func newest(
        of purchases: [StorePurchase], by instant: (StorePurchase) -> Int64
    ) -> StorePurchase? {
        purchases.first { candidate in purchases.allSatisfy { instant($0) <= instant(candidate) } }
    }
}

/// Sums of 64 bits.
private struct StoreSums {
    private(set) var rows: [[String]: [String: Int64]] = [:]
    private(set) var hasOverflown = false

    mutating func add(_ row: [String], _ measures: [String: Int64]) {
        for (measure, amount) in measures {
            let (sum, overflow) =
                rows[row]?[measure]?.addingReportingOverflow(amount)
                ?? (amount, false)
            rows[row, default: [:]][measure] = sum
            if overflow { hasOverflown = true }
        }
    }
}

/// One partition.
private struct StoreFold {
    private(set) var sums = StoreSums()
    private(set) var cohorts = StoreSums()
    /// What was folded, and not rejected for its sums.
    private var folded: [(content: StoreNotificationsModel.Content, hour: String)] = []
    /// The lines whose latest purchase was a free trial that no paid renewal followed.
    private var trials: Set<String> = []
    private var ids: Set<[String]> = []
    /// Transaction and instant of the refunds that were counted.
    private var refunds: Set<[String]> = []
    /// Of each transaction what its refunds put, in order, without those that were taken back.
    private var standing: [String: [(micros: Int64, cohort: [String]?)]] = [:]
    /// Of each transaction how many reversals came before a refund that they could take back.
    private var early: [String: Int] = [:]

    /// A record whose sums would overflow is rejected, and leaves nothing.
    mutating func fold(_ content: StoreNotificationsModel.Content, _ hour: String) -> String {
        let outcome = foldUnbounded(content, hour)
        guard sums.hasOverflown || cohorts.hasOverflown else {
            folded.append((content, hour))
            return outcome
        }
        var before = StoreFold()
        for (content, hour) in folded { _ = before.fold(content, hour) }
        self = before
        return "rejected"
    }

    private mutating func foldUnbounded(
        _ content: StoreNotificationsModel.Content, _ hour: String
    ) -> String {
        switch content {
        case .rejected: return "rejected"
        case .untrusted: return "untrusted"
        case .version2(let notification):
            guard ids.insert(["2", notification.id]).inserted, isFirst(notification) else {
                return "duplicates"
            }
            add(notification, hour)
        case .version1(let body):
            guard ids.insert(["1"] + body.id).inserted else { return "duplicates" }
            add(body, hour)
        case .receipt(let line, let text, let from, let purchases):
            guard ids.insert(["receipt", line, text]).inserted else { return "duplicates" }
            cancel(purchases.filter { $0.line == line }, from, hour)
        }
        return "accepted"
    }

    /// Whether a sale, or a consumption request, is the first of its transaction.
    private mutating func isFirst(_ notification: StoreNotification) -> Bool {
        guard let purchase = notification.purchase else { return true }
        let kind: String? =
            if notification.kind.isSale {
                "sale"
            } else if notification.kind.type == "CONSUMPTION_REQUEST" {
                "consumption"
            } else {
                nil
            }
        guard let kind else { return true }
        return ids.insert([kind, notification.from.environment, purchase.id]).inserted
    }

    private mutating func add(_ notification: StoreNotification, _ hour: String) {
        let kind = notification.kind
        // What was revoked is said by the transaction.
        let isUnsaid = notification.purchase == nil && kind.revocation != nil
        var measures = [isUnsaid ? "family_revocations" : kind.measure: Int64(1)]
        if let detail = kind.detail { measures[detail] = 1 }
        if kind.isSale, notification.purchase?.price == nil { measures["unpriced_sales"] = 1 }
        var at = notification.purchase.flatMap { $0.hidesPurchase ? nil : $0.purchasedAt }
        var refunded: String?
        if let purchase = notification.purchase {
            if kind.measure == "initial_buys" && purchase.offer.isTrial { measures["trials"] = 1 }
            if kind.isSale { measures["gross_micros"] = (purchase.price ?? 0) * 1_000 }
            if kind.type == "REFUND" {
                let put = putRefund(of: purchase, purchase.refundMicros)
                if put == nil { measures["refunds"] = nil }
                measures["refunded_micros"] = put
                at = purchase.cancelledAt
                refunded = purchase.id
            }
            if kind.type == "REFUND_REVERSED" {
                let (micros, cohort) = takeBack(purchase.id)
                measures["refunded_micros"] = -micros
                if let cohort {
                    cohorts.add(cohort, ["refunded_micros": -micros])
                }
            }
        }
        add(
            measures, hour, notification.from, notification.purchase,
            product: notification.countedProduct, hasStorefront: true)
        guard kind.type != "REFUND_REVERSED", let purchase = notification.purchase else { return }
        let step: TrialStep? =
            if kind.type == "SUBSCRIBED" {
                purchase.offer.isTrial ? .trial : .purchase
            } else if ["renewals", "recoveries"].contains(kind.measure), purchase.price ?? 0 > 0 {
                .paid
            } else {
                nil
            }
        let cohort = addToCohort(
            measures, notification.from, purchase, at: at, step, hasStorefront: true)
        if let refunded, let cohort, let last = standing[refunded]?.indices.last,
            measures["refunded_micros"] ?? 0 != 0
        {
            standing[refunded]?[last].cohort = cohort
        }
    }

    /// What a notification is to the free trial of its line.
    private enum TrialStep { case trial, purchase, paid }

    /// Counts what `store-notifications` counts of a purchase in its cohort.
    ///
    /// - Parameter at: when it was bought, or cancelled.
    /// - Returns: the row; nil for none that has a cohort.
    private mutating func addToCohort(
        _ counted: [String: Int64], _ from: StoreOrigin, _ purchase: StorePurchase, at: Int64?,
        _ step: TrialStep?, hasStorefront: Bool
    ) -> [String]? {
        guard from.environment == "Production", purchase.ownership.column == "purchased" else {
            return nil
        }
        var measures: [String: Int64] = [:]
        for (name, amount) in counted {
            switch name {
            case "initial_buys", "one_time_purchases": measures["buyers"] = amount
            case "renewals", "recoveries": measures["renewals"] = amount
            case "trials", "refunds", "gross_micros", "refunded_micros": measures[name] = amount
            case let name where name.hasPrefix("expirations_"): measures["expirations"] = amount
            default: break
            }
        }
        let adds = measures.values.contains { $0 != 0 }
        let columns = [
            from.bundle, purchase.product, hasStorefront ? purchase.storefront : "",
            hasStorefront ? purchase.currency : "", purchase.offer.column,
        ]
        guard let first = purchase.firstPurchasedAt, let at else {
            if adds {
                cohorts.add(["", ""] + columns, ["undated": 1])
            }
            return nil
        }
        switch step {
        case .trial: trials.insert(purchase.line)
        case .purchase: trials.remove(purchase.line)
        case .paid:
            if trials.remove(purchase.line) != nil { measures["trial_conversions"] = 1 }
        case nil: break
        }
        let row = [dayText(first), Self.age(at - first)] + columns
        cohorts.add(row, measures)
        return row
    }

    /// The bin of an age in milliseconds.
    private static func age(_ milliseconds: Int64) -> String {
        let days = milliseconds < 0 ? 0 : milliseconds / (24 * 60 * 60 * 1_000)
        for last in [0, 1, 3, 7, 14, 30, 60, 90, 180, 365] where days <= last { return "\(last)" }
        return "+"
    }

    private mutating func add(_ body: StoreBody, _ hour: String) {
        if StoreBody.refunds.contains(body.type) { return cancel(body.counted, body.from, hour) }
        if body.type == "REVOKE" {
            guard let purchase = body.newestCancelled else { return }
            // An upgrade is one whatever the body calls it.
            if purchase.isUpgraded { return cancel([purchase], body.from, hour) }
            return add(["family_revocations": 1], hour, body.from, purchase)
        }
        let measure =
            switch body.type {
            case "INITIAL_BUY": "initial_buys"
            case "DID_RENEW", "INTERACTIVE_RENEWAL": "renewals"
            case "DID_RECOVER", "RENEWAL": "recoveries"
            case "DID_FAIL_TO_RENEW": "renewal_failures"
            case "DID_CHANGE_RENEWAL_PREF": "preference_changes"
            case "CONSUMPTION_REQUEST": "consumption_requests"
            case "PRICE_INCREASE_CONSENT": "price_increases_pending"
            case "DID_CHANGE_RENEWAL_STATUS":
                body.change?.isOn.map { $0 ? "auto_renew_on" : "auto_renew_off" } ?? "other"
            default: "other"
            }
        let isTrial = body.newestPurchase?.offer.isTrial == true
        let measures: [String: Int64] = [
            measure: 1, "trials": measure == "initial_buys" && isTrial ? 1 : 0,
        ]
        add(measures, hour, body.from, body.newestPurchase)
        guard let purchase = body.newestPurchase else { return }
        var step: TrialStep?
        if measure == "initial_buys" { step = isTrial ? .trial : .purchase }
        if ["renewals", "recoveries"].contains(measure), !isTrial { step = .paid }
        _ = addToCohort(
            measures, body.from, purchase, at: purchase.purchasedAt, step, hasStorefront: false)
    }

    private mutating func cancel(_ purchases: [StorePurchase], _ from: StoreOrigin, _ hour: String)
    {
        for purchase in purchases {
            if !purchase.isUpgraded {
                guard putRefund(of: purchase, 0) != nil else { continue }
                add(["refunds": 1], hour, from, purchase)
                _ = addToCohort(
                    ["refunds": 1], from, purchase, at: purchase.cancelledAt, nil,
                    hasStorefront: false)
            } else if isNew(purchase) {
                add(["upgrade_cancellations": 1], hour, from, purchase)
            }
        }
    }

    /// Whether a purchase is cancelled and was not counted before.
    private mutating func isNew(_ purchase: StorePurchase) -> Bool {
        guard let cancelledAt = purchase.cancelledAt else { return false }
        return refunds.insert([purchase.id, "\(cancelledAt)"]).inserted
    }

    /// Counts a refund, once.
    ///
    /// - Returns: what it puts in its row; nil when it does not count.
    private mutating func putRefund(of purchase: StorePurchase, _ micros: Int64) -> Int64? {
        guard isNew(purchase) else { return nil }
        if let count = early[purchase.id], count > 0 {
            early[purchase.id] = count - 1
            return 0
        }
        standing[purchase.id, default: []].append((micros, nil))
        return micros
    }

    private mutating func takeBack(_ transaction: String) -> (micros: Int64, cohort: [String]?) {
        if let last = standing[transaction]?.popLast() { return last }
        early[transaction, default: 0] += 1
        return (0, nil)
    }

    /// - Parameter hasStorefront: false for version 1, which names neither storefront nor currency.
    private mutating func add(
        _ measures: [String: Int64], _ hour: String, _ from: StoreOrigin,
        _ purchase: StorePurchase?, product: String = "", hasStorefront: Bool = false
    ) {
        let storefront = hasStorefront ? purchase?.storefront : nil
        let currency = hasStorefront ? purchase?.currency : nil
        let columns = [
            hour, from.environment, from.bundle, purchase?.product ?? product,
            storefront ?? "", currency ?? "", purchase?.offer.column ?? "",
            purchase?.ownership.column ?? "",
        ]
        sums.add(columns, measures)
    }
}
