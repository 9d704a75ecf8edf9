/// What a notification of version 2 counts as, by its type and subtype.
struct NotificationRule {
    typealias Measure = StoreNotificationsKey.Measure

    /// What becomes of the transaction's price.
    enum Money {
        case none
        /// It is added to what customers paid.
        case gross
        /// It is added to what they got back.
        case refunded
        /// What a refund added is taken back.
        case reversed
    }

    var measure: Measure
    var secondMeasure: Measure?
    var money: Money

    private static let listed: [(type: StaticString, subtype: StaticString, Measure, Measure?)] = [
        ("SUBSCRIBED", "INITIAL_BUY", .initialBuys, nil),
        ("SUBSCRIBED", "RESUBSCRIBE", .resubscribes, nil),
        ("DID_RENEW", "", .renewals, nil),
        ("DID_RENEW", "BILLING_RECOVERY", .recoveries, nil),
        ("DID_FAIL_TO_RENEW", "", .renewalFailures, nil),
        ("DID_FAIL_TO_RENEW", "GRACE_PERIOD", .renewalFailures, .gracePeriods),
        ("GRACE_PERIOD_EXPIRED", "", .gracePeriodExpirations, nil),
        ("EXPIRED", "VOLUNTARY", .expirationsVoluntary, nil),
        ("EXPIRED", "BILLING_RETRY", .expirationsBilling, nil),
        ("EXPIRED", "PRICE_INCREASE", .expirationsPrice, nil),
        ("EXPIRED", "PRODUCT_NOT_FOR_SALE", .expirationsOther, nil),
        ("EXPIRED", "", .expirationsOther, nil),
        ("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_ENABLED", .autoRenewOn, nil),
        ("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", .autoRenewOff, nil),
        ("DID_CHANGE_RENEWAL_PREF", "", .preferenceChanges, nil),
        ("DID_CHANGE_RENEWAL_PREF", "UPGRADE", .preferenceChanges, .upgrades),
        ("DID_CHANGE_RENEWAL_PREF", "DOWNGRADE", .preferenceChanges, .downgrades),
        ("OFFER_REDEEMED", "", .offersRedeemed, nil),
        ("OFFER_REDEEMED", "UPGRADE", .offersRedeemed, nil),
        ("OFFER_REDEEMED", "DOWNGRADE", .offersRedeemed, nil),
        ("REFUND", "", .refunds, nil),
        ("REFUND_REVERSED", "", .refundReversals, nil),
        ("REFUND_DECLINED", "", .refundsDeclined, nil),
        ("REVOKE", "", .familyRevocations, nil),
        ("CONSUMPTION_REQUEST", "", .consumptionRequests, nil),
        ("PRICE_INCREASE", "PENDING", .priceIncreasesPending, nil),
        ("PRICE_INCREASE", "ACCEPTED", .priceIncreasesAccepted, nil),
        ("ONE_TIME_CHARGE", "", .oneTimePurchases, nil),
        ("RENEWAL_EXTENSION", "SUMMARY", .renewalExtensionSummaries, nil),
        ("RENEWAL_EXTENSION", "FAILURE", .renewalExtensionFailures, nil),
        ("EXTERNAL_PURCHASE_TOKEN", "CREATED", .externalTokensCreated, nil),
        ("EXTERNAL_PURCHASE_TOKEN", "ACTIVE_TOKEN_REMINDER", .externalTokensReminded, nil),
        ("EXTERNAL_PURCHASE_TOKEN", "UNREPORTED", .externalTokensUnreported, nil),
        ("RESCIND_CONSENT", "", .consentsRescinded, nil),
        ("METADATA_UPDATE", "", .metadataUpdates, nil),
        ("MIGRATION", "", .migrations, nil),
        ("MIGRATE", "", .migrations, nil),
        ("PRICE_CHANGE", "", .priceChanges, nil),
        ("RENEWAL_EXTENDED", "", .renewalsExtended, nil),
        ("TEST", "", .tests, nil),
    ]

    /// The rule of a type and subtype; an empty subtype is none. What is not listed counts as `other`,
    /// its money still by its type.
    static func of(
        type: UnsafeRawBufferPointer, subtype: UnsafeRawBufferPointer?
    ) -> NotificationRule {
        let subtype = subtype ?? UnsafeRawBufferPointer(start: nil, count: 0)
        let found = listed.first { type.equals($0.type) && subtype.equals($0.subtype) }
        return NotificationRule(
            measure: found?.2 ?? .other, secondMeasure: found?.3,
            money: money(type: type, subtype: subtype))
    }

    private static func money(
        type: UnsafeRawBufferPointer, subtype: UnsafeRawBufferPointer
    ) -> Money {
        if type.equals("REFUND") { return .refunded }
        if type.equals("REFUND_REVERSED") { return .reversed }
        let isPurchase =
            ["SUBSCRIBED", "DID_RENEW", "ONE_TIME_CHARGE"].contains { type.equals($0) }
        let maySwitch =
            ["DID_CHANGE_RENEWAL_PREF", "OFFER_REDEEMED"].contains { type.equals($0) }
        return isPurchase || maySwitch && subtype.equals("UPGRADE") ? .gross : .none
    }
}
