import Streams

/// A transaction of the App Store as notifications describe it.
struct DemoTransaction {
    var app: DemoApp
    var id: Int64
    var original: Int64
    var product: String
    var country: String
    /// Thousandths of the unit of the country's currency.
    var price: Int64
    var purchasedAt: Int64
    var firstPurchasedAt: Int64
    /// When a subscription ends; nil for a purchase in the game.
    var expiresAt: Int64?
    var isTrial = false
    var isFamily = false
    var revokedAt: Int64?

    private static let countries = [
        "US": ("USA", "USD"), "CA": ("CAN", "CAD"), "DE": ("DEU", "EUR"), "FI": ("FIN", "EUR"),
    ]

    func payload(signedAt: Int64) -> String {
        let (storefront, currency) = Self.countries[country] ?? ("USA", "USD")
        let subscription =
            expiresAt.map {
                """
                ,"expiresDate":\($0),"subscriptionGroupIdentifier":"21500001","webOrderLineItemId":"\(id + 1)"
                """
            } ?? ""
        let offer = isTrial ? ",\"offerType\":1,\"offerDiscountType\":\"FREE_TRIAL\"" : ""
        let revocation = revokedAt.map { ",\"revocationDate\":\($0),\"revocationReason\":1" } ?? ""
        return """
            {"transactionId":"\(id)","originalTransactionId":"\(original)","bundleId":"\(app.bundleID)",\
            "productId":"\(product)","purchaseDate":\(purchasedAt),"originalPurchaseDate":\(firstPurchasedAt),\
            "quantity":1,"type":"\(expiresAt == nil ? "Consumable" : "Auto-Renewable Subscription")",\
            "inAppOwnershipType":"\(isFamily ? "FAMILY_SHARED" : "PURCHASED")","signedDate":\(signedAt),\
            "environment":"Production","storefront":"\(storefront)","price":\(price),"currency":"\(currency)"\
            \(subscription)\(offer)\(revocation)}
            """
    }
}

extension DemoMarket {
    /// - Parameter isForged: signed with a key that is not trusted.
    mutating func notify(
        _ type: String, _ subtype: String? = nil, of transaction: DemoTransaction,
        at instant: Int64,
        isForged: Bool = false, _ random: inout SeededGenerator
    ) throws {
        let id = random.uuid()
        guard calendar.contains(instant) else { return }
        let signed = try demo.keys.storeJWS(transaction.payload(signedAt: instant))
        let payload = """
            {"notificationType":"\(type)"\(subtype.map { ",\"subtype\":\"\($0)\"" } ?? ""),\
            "notificationUUID":"\(id)","version":"2.0","signedDate":\(instant),"data":{\
            "appAppleId":\(transaction.app.id),"bundleId":"\(transaction.app.bundleID)","environment":"Production",\
            "signedTransactionInfo":"\(signed)"}}
            """
        let jws = try isForged ? demo.keys.forgedStoreJWS(payload) : demo.keys.storeJWS(payload)
        calendar.add(
            "store-notifications", "appstore.notification.v2", at: instant + 1200, id: id,
            source: "/appstore", key: "\(transaction.original)", "{\"signedPayload\":\"\(jws)\"}")
    }

    /// Adds the notifications of a person.
    mutating func addSales(
        of person: DemoPerson, isForGame: Bool, country: String, at instant: Int64,
        _ random: inout SeededGenerator
    ) throws {
        if isForGame {
            for purchase in person.purchases {
                try buy(purchase, country: country, at: instant + purchase.after, &random)
            }
        } else if let trial = person.trialAfter {
            try subscribe(person, country: country, at: instant + trial, &random)
        }
    }

    private mutating func buy(
        _ purchase: DemoPerson.Purchase, country: String, at instant: Int64,
        _ random: inout SeededGenerator
    ) throws {
        let id = nextTransaction()
        var transaction = DemoTransaction(
            app: assumptions.game, id: id, original: id,
            product: "gems_\(purchase.price / 1000 + 1)",
            country: country, price: purchase.price, purchasedAt: instant, firstPurchasedAt: instant
        )
        try notify("ONE_TIME_CHARGE", of: transaction, at: instant, &random)
        guard random.happens(assumptions.gameRefundShare) else { return }
        let asked = instant + Int64(random.between(0.5, 9) * Double(DemoTime.day))
        try notify("CONSUMPTION_REQUEST", of: transaction, at: asked, &random)
        let decided = asked + 12 * DemoTime.hour
        guard random.happens(0.8) else {
            return try notify("REFUND_DECLINED", of: transaction, at: decided, &random)
        }
        transaction.revokedAt = decided
        try notify("REFUND", of: transaction, at: decided, &random)
        if random.happens(0.08) {
            try notify("REFUND_REVERSED", of: transaction, at: decided + 3 * DemoTime.day, &random)
        }
    }

    private mutating func subscribe(
        _ person: DemoPerson, country: String, at instant: Int64, _ random: inout SeededGenerator
    ) throws {
        let original = nextTransaction()
        let isAnnual = person.purchases.first?.isAnnual ?? random.happens(assumptions.annualShare)
        let trialEnd = instant + Int64(assumptions.trialDays) * DemoTime.day
        var transaction = DemoTransaction(
            app: assumptions.subscription, id: original, original: original,
            product: isAnnual ? "daybreak.annual" : "daybreak.monthly", country: country, price: 0,
            purchasedAt: instant, firstPurchasedAt: instant, expiresAt: trialEnd, isTrial: true)
        try notify("SUBSCRIBED", "INITIAL_BUY", of: transaction, at: instant, &random)
        if random.happens(assumptions.familyShare) {
            var shared = transaction
            shared.id = nextTransaction()
            shared.original = shared.id
            shared.isFamily = true
            try notify(
                "SUBSCRIBED", "INITIAL_BUY", of: shared, at: instant + DemoTime.hour, &random)
        }
        var last = instant
        for purchase in person.purchases {
            transaction.isTrial = false
            last = instant - (person.trialAfter ?? 0) + purchase.after
            transaction.id = nextTransaction()
            transaction.price = purchase.price
            transaction.purchasedAt = last
            transaction.expiresAt = last + (isAnnual ? 365 : 30) * DemoTime.day
            try renew(transaction, at: last, &random)
        }
        guard !isAnnual || person.purchases.isEmpty else { return }
        // The last period ends without a renewal.
        let end = transaction.expiresAt ?? trialEnd
        try notify(
            "DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", of: transaction,
            at: last + (end - last) / 2, &random)
        try notify("EXPIRED", "VOLUNTARY", of: transaction, at: end, &random)
    }

    private mutating func renew(
        _ transaction: DemoTransaction, at instant: Int64, _ random: inout SeededGenerator
    ) throws {
        if random.happens(assumptions.failedRenewalShare) {
            try notify("DID_FAIL_TO_RENEW", "GRACE_PERIOD", of: transaction, at: instant, &random)
            guard random.happens(assumptions.recoveredShare) else {
                return try notify(
                    "GRACE_PERIOD_EXPIRED", of: transaction, at: instant + 16 * DemoTime.day,
                    &random)
            }
            try notify(
                "DID_RENEW", "BILLING_RECOVERY", of: transaction,
                at: instant + Int64(random.between(1, 9) * Double(DemoTime.day)), &random)
        } else {
            try notify("DID_RENEW", of: transaction, at: instant, &random)
        }
        guard random.happens(assumptions.subscriptionRefundShare) else { return }
        var refunded = transaction
        let at = instant + Int64(random.between(0.5, 12) * Double(DemoTime.day))
        refunded.revokedAt = at
        try notify("REFUND", of: refunded, at: at, &random)
    }

    /// Monthly subscriptions from before the first day, which are renewed in it.
    mutating func addEarlierSubscribers() throws {
        var random = SeededGenerator(seed: demo.seed, 3)
        for _ in 0..<random.count(Double(assumptions.earlierSubscribers) * demo.scale) {
            let first = demo.firstMidnight - Int64(random.between(30, 400) * Double(DemoTime.day))
            let id = nextTransaction()
            var at =
                first + (demo.firstMidnight - first + 30 * DemoTime.day - 1) / (30 * DemoTime.day)
                * 30 * DemoTime.day
            let country = random.pick([("US", weight: 72), ("CA", 12), ("DE", 16)])
            while at < demo.end && random.happens(assumptions.renewalShare) {
                let transaction = DemoTransaction(
                    app: assumptions.subscription, id: nextTransaction(), original: id,
                    product: "daybreak.monthly", country: country, price: assumptions.monthlyPrice,
                    purchasedAt: at, firstPurchasedAt: first, expiresAt: at + 30 * DemoTime.day)
                try renew(transaction, at: at, &random)
                at += 30 * DemoTime.day
            }
        }
    }
}
