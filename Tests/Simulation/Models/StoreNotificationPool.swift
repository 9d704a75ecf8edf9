import TestKit

/// Notifications that are signed once, since signing is dear.
struct StorePool: Sendable {
    static let shared: StorePool = {
        do { return try StorePool() } catch { fatalError("The pool of notifications: \(error)") }
    }()

    let chain: AppStoreChain
    private(set) var signed:
        [(key: String, text: String, content: StoreNotificationsModel.Content)] = []

    private init() throws {
        chain = try AppStoreChain()
        let foreign = try AppStoreChain(AppStoreChainPlan { $0.name = "B" })
        // Always the same numbers, so that a seed means the same records in every process.
        var random = SeededGenerator(seed: 7)
        func add(
            _ number: Int, _ content: StoreNotificationsModel.Content?,
            _ changes: StoreWire.Changes,
            _ sign: (String) throws -> String
        ) throws {
            var purchase = StoreWire.purchase(ofLine: number % 6, using: &random)
            purchase.cancelledAt = StoreWire.instant(using: &random)
            // Of sales, since of these all that can be wrong is judged.
            let kinds = content == nil ? StoreKind.all + StoreKind.refunds : [StoreKind.all[0]]
            var notification = StoreNotification(
                id: "signed-\(number)", kind: kinds[number % kinds.count],
                from: StoreOrigin(
                    environment: number % 3 == 0 ? "Sandbox" : "Production",
                    bundle: StoreWire.bundle(of: purchase)),
                purchase: purchase)
            if notification.kind.type == "TEST" { notification.purchase = nil }
            let payload = try StoreWire.notification(notification, changes, sign: sign)
            signed.append(
                (
                    purchase.line, "{\"signedPayload\":\"\(payload)\"}",
                    content ?? .version2(notification)
                ))
        }
        for number in 0..<30 { try add(number, nil, .init()) { try chain.sign($0.utf8) } }
        // Number 31 is of Production, of the app that has an id.
        let untrusted: [StoreWire.Changes] = [
            .init(in: .data, "bundleId", "\"com.example.foreign\""),
            .init(in: .data, "bundleId", nil),
            .init(in: .data, "environment", "\"LocalTesting\""),
            .init(in: .data, "appAppleId", "1"),
            .init(in: .data, "appAppleId", nil), .init(in: .payload, "signedDate", nil),
            .init(in: .payload, "signedDate", "1600000000000"),
            .init(in: .transaction, "signedDate", nil),
            .init(in: .transaction, "environment", "\"Sandbox\""),
            .init(in: .transaction, "bundleId", "\"com.example.foreign\""),
            .init(in: .data, "signedTransactionInfo", "\"a.b.c\""),
        ]
        for changes in untrusted { try add(31, .untrusted, changes) { try chain.sign($0.utf8) } }
        try add(31, .untrusted, .init()) { try foreign.sign($0.utf8) }
        // Only what is within is of a foreign chain, or only what is around it.
        try add(31, .untrusted, .init()) {
            try ($0.contains("originalTransactionId") ? foreign : chain).sign($0.utf8)
        }
        try add(31, .untrusted, .init()) {
            try ($0.contains("originalTransactionId") ? chain : foreign).sign($0.utf8)
        }
        try add(31, .untrusted, .init()) { _ in "" }
        try add(31, .untrusted, .init()) { _ in try chain.sign("{}".utf8) }
        let rejected: [(StoreWire.Changes, ContractReason)] = [
            (.init(in: .payload, "notificationUUID", nil), .missingField),
            (.init(in: .payload, "notificationType", nil), .missingField),
            (.init(in: .transaction, "price", "-1"), .outOfRange),
            (.init(in: .transaction, "inAppOwnershipType", "7"), .wrongType),
        ]
        for (changes, reason) in rejected {
            try add(31, .rejected(reason), changes) { try chain.sign($0.utf8) }
        }
        let apart = StoreKind.tokens + StoreKind.all.filter { $0.holder != .data }
        for number in 0..<14 {
            let environment = number % 2 == 0 ? "Sandbox" : "Production"
            let notification = StoreNotification(
                id: "apart-\(number)", kind: apart[number / 2],
                from: StoreOrigin(environment: environment, bundle: "com.example.rides"),
                product: "yearly")
            let payload = try StoreWire.notification(notification, .init()) {
                try chain.sign($0.utf8)
            }
            signed.append(
                ("apart", "{\"signedPayload\":\"\(payload)\"}", .version2(notification)))
        }
        // Only what is of Production has a cohort: free trials, what followed, and refunds with their reversals.
        let kinds =
            StoreKind.refunds + StoreKind.refunds
            + StoreKind.all.filter {
                ["SUBSCRIBED", "DID_RENEW", "EXPIRED", "ONE_TIME_CHARGE"].contains($0.type)
            }
        for number in 0..<120 {
            var purchase = StoreWire.purchase(ofLine: number % 3, using: &random)
            purchase.cancelledAt = StoreWire.instant(using: &random)
            if random.chance(60) { purchase.ownership = StoreOwnership.all[0] }
            if random.chance(40) { purchase.offer = StoreOffer.all[2] }
            let notification = StoreNotification(
                id: "cohort-\(number)", kind: random.pick(kinds),
                from: StoreOrigin(
                    environment: random.chance(90) ? "Production" : "Sandbox",
                    bundle: StoreWire.bundle(of: purchase)),
                purchase: purchase)
            let payload = try StoreWire.notification(notification, .init()) {
                try chain.sign($0.utf8)
            }
            signed.append(
                (purchase.line, "{\"signedPayload\":\"\(payload)\"}", .version2(notification)))
        }
    }
}

/// Notifications as bytes. Members are pairs of a name and JSON, nil for an absent one.
enum StoreWire {
    typealias Members = [(name: String, json: String?)]

    /// One member that is other than it should be.
    struct Changes {
        enum Section { case payload, data, transaction }

        var section = Section.payload
        var members: Members = []

        init() {}

        init(in section: Section, _ name: String, _ json: String?) {
            self.section = section
            members = [(name, json)]
        }

        static func rejected(
            _ notification: StoreNotification, using random: inout SeededGenerator
        ) -> (Changes, ContractReason) {
            var changes: [(Changes, ContractReason)] = [
                (.init(in: .payload, "notificationUUID", nil), .missingField),
                (.init(in: .payload, "notificationUUID", "\"\""), .missingField),
                (.init(in: .payload, "notificationUUID", "7"), .wrongType),
                (.init(in: .payload, "notificationType", nil), .missingField),
                (.init(in: .payload, "notificationType", "5"), .wrongType),
            ]
            guard notification.purchase != nil else { return random.pick(changes) }
            changes.append((.init(in: .transaction, "inAppOwnershipType", "7"), .wrongType))
            if notification.kind.isSale {
                changes.append((.init(in: .transaction, "price", "-1"), .outOfRange))
            }
            if notification.kind.type == "REFUND" {
                let percentage = Changes(in: .transaction, "revocationPercentage", "100001")
                changes.append((percentage, .outOfRange))
                changes.append((.init(in: .transaction, "revocationDate", "\"soon\""), .wrongType))
            }
            return random.pick(changes)
        }

        fileprivate func object(_ members: Members, in section: Section) -> String {
            StoreWire.object(
                section == self.section ? StoreWire.changed(members, self.members) : members)
        }
    }

    static func object(_ members: Members) -> String {
        let texts = members.compactMap { member in member.json.map { "\"\(member.name)\":\($0)" } }
        return "{" + texts.joined(separator: ",") + "}"
    }

    fileprivate static func changed(_ members: Members, _ changes: Members) -> Members {
        members.filter { member in !changes.contains { $0.name == member.name } } + changes
    }

    // MARK: Purchases

    static func line(_ number: Int) -> String { "\(20_000_000_000_000 + number * 100)" }

    /// That of two lines that one customer has.
    static func bundle(of purchase: StorePurchase) -> String {
        (Int(purchase.line) ?? 0) / 200 % 2 == 0 ? "com.example.rides" : "com.example.maps"
    }

    /// Few, so that refunds meet.
    static func instant(using random: inout SeededGenerator) -> Int64 {
        1_794_000_000_000 + Int64(random.below(3)) * 86_400_000
    }

    static func purchase(ofLine line: Int, using random: inout SeededGenerator) -> StorePurchase {
        let number = random.below(3)
        var purchase = StorePurchase(
            line: Self.line(line), id: "\((Int(Self.line(line)) ?? 0) + number)",
            purchasedAt: 1_790_000_000_000 + Int64(number / 2) * 86_400_000)
        purchase.product = number == 0 ? "monthly" : "yearly"
        if line % 2 == 1 { (purchase.storefront, purchase.currency) = ("DEU", "EUR") }
        purchase.offer = random.pick(StoreOffer.all)
        purchase.ownership = random.pick(StoreOwnership.all)
        purchase.price = random.pick([nil, 0, 1, 7, 299, 9_990])
        // Two of them in a row are more than its sum can hold.
        if random.chance(10) {
            (purchase.price, purchase.percentage) = (9_000_000_000_000_000, nil)
            (purchase.offer, purchase.ownership) = (StoreOffer.all[0], StoreOwnership.all[0])
        }
        purchase.percentage = random.pick([nil, nil, 0, 33_333, 50_000, 100_000])
        purchase.isUpgraded = random.chance(15)
        purchase.order = "9\(purchase.id)"
        // At both ends of every bin, and before: a customer is as old as the purchase is late.
        let days = random.pick([-2, 0, 1, 2, 3, 4, 7, 8, 14, 30, 31, 60, 90, 180, 365, 366, 4_000])
        let day: Int64 = 86_400_000
        if !random.chance(15) {
            purchase.firstPurchasedAt =
                purchase.purchasedAt - Int64(days) * day - random.pick([0, 1, day - 1])
        }
        purchase.hidesPurchase = random.chance(10)
        return purchase
    }

    /// What version 1 lists: purchases of a customer's two lines, in any order.
    static func history(around line: Int, using random: inout SeededGenerator) -> [StorePurchase] {
        (0...random.below(4)).map { _ in
            var purchase = Self.purchase(
                ofLine: random.chance(70) ? line : line ^ 1, using: &random)
            if random.chance(40) { purchase.cancelledAt = instant(using: &random) }
            purchase.offer = random.pick(StoreOffer.all.filter { $0.version1 != nil })
            return purchase
        }
    }

    // MARK: Bytes

    /// - Parameter version: 0 for a receipt.
    static func record(
        _ version: Int, key: String, _ body: String, _ content: StoreNotificationsModel.Content,
        using random: inout SeededGenerator
    ) -> ModelRecord<StoreNotificationsModel.Meaning> {
        let type = version == 0 ? "appstore.receipt" : "appstore.notification.v\(version)"
        let isNamed = version != 2 || random.chance(50)
        return ModelRecord(
            key: Array(key.utf8), headers: isNamed ? [.init("ce_type", type)] : [],
            value: Array(body.utf8),
            meaning: .init(type: type, content: content))
    }

    /// The `signedPayload` of a notification.
    static func notification(
        _ notification: StoreNotification, _ changes: Changes, sign: (String) throws -> String
    ) rethrows -> String {
        let (from, holder) = (notification.from, notification.kind.holder)
        let origin: Members = [
            ("bundleId", "\"\(from.bundle)\""), ("environment", "\"\(from.environment)\""),
        ]
        var data = origin
        let product = notification.product.map { "\"\($0)\"" }
        switch holder {
        case .data:
            if product != nil {
                let renewal = object(
                    origin + [("signedDate", "1795000000000"), ("productId", product)])
                data.append(("signedRenewalInfo", "\"\(try sign(renewal))\""))
            }
        case .summary: data += [("productId", product), ("succeededCount", "7")]
        case .appData:
            let app = object([
                origin[0], ("receiptType", origin[1].json),
                ("receiptCreationDate", "1795000000000"),
            ])
            data.append(("signedAppTransactionInfo", "\"\(try sign(app))\""))
        case .externalPurchaseToken:
            let prefix = from.environment == "Sandbox" ? "SANDBOX_" : ""
            data = [origin[0], ("externalPurchaseId", "\"\(prefix)\(notification.id)\"")]
        }
        if from.environment == "Production" { data.append(("appAppleId", "525463029")) }
        if let purchase = notification.purchase {
            let members: Members = [
                ("originalTransactionId", "\"\(purchase.line)\""),
                ("transactionId", "\"\(purchase.id)\""),
                ("bundleId", "\"\(from.bundle)\""), ("environment", "\"\(from.environment)\""),
                ("signedDate", "1795000000000"), ("productId", "\"\(purchase.product)\""),
                ("storefront", "\"\(purchase.storefront)\""),
                ("currency", "\"\(purchase.currency)\""),
                ("purchaseDate", purchase.hidesPurchase ? nil : "\(purchase.purchasedAt)"),
                ("originalPurchaseDate", purchase.firstPurchasedAt.map { "\($0)" }),
                ("price", purchase.price.map { "\($0)" }),
                ("inAppOwnershipType", purchase.ownership.word.map { "\"\($0)\"" }),
                ("revocationDate", purchase.cancelledAt.map { "\($0)" }),
                ("revocationPercentage", purchase.percentage.map { "\($0)" }),
                ("isUpgraded", "\(purchase.isUpgraded)"),
                ("revocationType", notification.kind.revocation.map { "\"\($0)\"" }),
            ]
            let transaction = changes.object(members + purchase.offer.version2, in: .transaction)
            data.append(("signedTransactionInfo", "\"\(try sign(transaction))\""))
        }
        let payload = changes.object(
            [
                ("notificationType", "\"\(notification.kind.type)\""),
                ("subtype", notification.kind.subtype.map { "\"\($0)\"" }),
                ("notificationUUID", "\"\(notification.id)\""), ("version", "\"2.0\""),
                ("signedDate", "1795000000000"), (holder.rawValue, changes.object(data, in: .data)),
            ], in: .payload)
        return try sign(payload)
    }

    /// A body of version 1.
    static func body(
        _ body: StoreBody, _ changes: Members, using random: inout SeededGenerator
    ) -> String {
        let isProduction = body.from.environment == "Production"
        let isOn = body.change.flatMap { $0.isOn }
        let members: Members = [
            ("notification_type", "\"\(body.type)\""), ("bid", "\"\(body.from.bundle)\""),
            (
                "environment",
                isProduction ? random.pick(["\"PROD\"", "\"Production\""]) : "\"Sandbox\""
            ),
            (
                "password",
                body.from.bundle == "com.example.maps" ? "\"secret of maps\"" : "\"secret\""
            ),
            ("original_transaction_id", body.object == nil ? body.line : nil),
            ("web_order_line_item_id", body.cancellation.map { "\"\($0.order)\"" }),
            ("cancellation_date_ms", body.cancellation.map { "\"\($0.at)\"" }),
            ("auto_renew_status", isOn.map { "\"\($0)\"" }),
            ("auto_renew_status_change_date_ms", body.change?.at.map { "\"\($0)\"" }),
            (
                "unified_receipt",
                object([
                    ("status", "0"), ("latest_receipt_info", list(body.purchases, using: &random)),
                ])
            ),
        ]
        let named = body.purchases.first { body.object != nil && $0.line == body.line }
        let object: Members =
            named.map { [(body.object ?? "", version1($0, using: &random))] } ?? []
        return Self.object(changed(members + object, changes))
    }

    static func list(_ purchases: [StorePurchase], using random: inout SeededGenerator) -> String {
        "[" + purchases.map { version1($0, using: &random) }.joined(separator: ",") + "]"
    }

    /// A purchase as version 1 and receipts list it.
    static func version1(_ purchase: StorePurchase, using random: inout SeededGenerator) -> String {
        let quote = random.pick(["", "\""])
        let members: Members = [
            ("transaction_id", quote + purchase.id + quote),
            ("original_transaction_id", quote + purchase.line + quote),
            ("product_id", "\"\(purchase.product)\""),
            ("purchase_date_ms", "\"\(purchase.purchasedAt)\""),
            ("original_purchase_date_ms", purchase.firstPurchasedAt.map { "\"\($0)\"" }),
            ("cancellation_date_ms", purchase.cancelledAt.map { "\"\($0)\"" }),
            ("web_order_line_item_id", purchase.order.map { "\"\($0)\"" }),
            ("is_upgraded", purchase.isUpgraded ? "\"true\"" : nil),
            ("in_app_ownership_type", purchase.ownership.word.map { "\"\($0)\"" }),
        ]
        return object(members + (purchase.offer.version1 ?? []))
    }
}
