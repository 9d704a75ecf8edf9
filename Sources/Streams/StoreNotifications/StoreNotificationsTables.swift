/// Row of `store-notifications`.
package struct StoreNotificationsKey: RowKey {
    var environment: Symbol
    var bundleID: Symbol
    var productID: Symbol
    var storefront: Symbol
    var currency: Symbol
    var offer: Symbol
    var ownership: Symbol

    package enum Measure: Int, AggregateMeasure {
        case initialBuys, trials, resubscribes, renewals, recoveries, renewalFailures
        case gracePeriods, gracePeriodExpirations
        case expirationsVoluntary, expirationsBilling, expirationsPrice, expirationsOther
        case autoRenewOn, autoRenewOff, preferenceChanges, upgrades, downgrades, offersRedeemed
        case refunds, upgradeCancellations, refundReversals, refundsDeclined, familyRevocations
        case assignmentRevocations
        case consumptionRequests, priceIncreasesPending, priceIncreasesAccepted
        case oneTimePurchases, renewalExtensionSummaries, renewalExtensionFailures
        case externalTokensCreated, externalTokensReminded, externalTokensUnreported
        case consentsRescinded, metadataUpdates, migrations, priceChanges
        case renewalsExtended, tests, other
        case grossMicros, refundedMicros
    }

    package static let columns: KeyColumns<Self> = [
        .text(
            "environment", \.environment,
            "'Production', 'Sandbox', and where they are allowed 'Xcode', 'LocalTesting'"),
        .text("bundle_id", \.bundleID),
        .text("product_id", \.productID, "'' when unknown"),
        .text("storefront", \.storefront, "country, three letters; '' in version 1"),
        .text("currency", \.currency, "'' in version 1"),
        .text(
            "offer", \.offer,
            "'', 'introductory', 'promotional:<id>', 'code:<name>', 'win_back:<id>', 'retention:<id>'"
        ),
        .text(
            "ownership", \.ownership,
            "'purchased', 'family', 'assigned', 'other'; '' without a transaction"),
    ]
    package static let table = AggregateTable(
        "store-notifications", "Accepted notifications of the App Store, and what receipts add.",
        columns, measures: Measure.self,
        notes: [
            .trials: "of initial_buys",
            .recoveries: "renewed after a failure",
            .gracePeriods: "of renewal_failures",
            .upgrades: "of preference_changes",
            .downgrades: "of preference_changes",
            .upgradeCancellations: "cancelled by an upgrade: no money was asked back",
            .assignmentRevocations: "in place of family_revocations, for assigned seats",
            .other: "of an unknown type or subtype",
            .grossMicros: "what customers paid, in millionths of the unit; version 2 only",
            .refundedMicros:
                "what they got back, less what was reversed; in millionths of the unit; version 2 only",
        ])
}
