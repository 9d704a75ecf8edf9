import ConfigurationValues

// The topic `store-notifications`: its event types, aggregates and rules.

extension StoreNotificationsFold {
    package static let streamName = "store-notifications"
    package static let help = StreamHelp(
        "Verifies and folds notifications of the App Store.",
        """
        Counts App Store Server Notifications of versions 1 and 2, and receipts that an operator \
        publishes, in store-notifications.sqlite. Notifications that cannot be verified are stored \
        and counted only as untrusted. store-notifications.yaml lists the apps. You can stop it at \
        any time. After a restart it continues where it stopped.

          weir publish --topic store-notifications notifications.ndjson
          weir-store-notifications --until-end
          weir dump store-notifications --by day,product_id
          weir dump cohorts --by cohort,age,currency
        """)
    package typealias Kind = StoreNotificationsEventType
    package static let fileKeys = StoreNotificationsRules.fileKeys
    package static let tables = [StoreNotificationsKey.table, CohortsKey.table]
    package static let memoryTables = [
        AcceptedNotification.table, RefundHistory.table, TrialLine.table,
    ]

    package static func rules(
        in pipelines: PipelineDirectory
    ) throws(ConfigurationError) -> StoreNotificationsRules {
        try StoreNotificationsRules(file(in: pipelines))
    }

    package static func make(
        _ rules: StoreNotificationsRules, topic: String, memory: any FoldMemory, threadCount: Int
    ) throws -> StoreNotificationsFold {
        StoreNotificationsFold(
            topic: topic,
            decoders: try StoreNotificationsDecoder.decoders(rules, threadCount: threadCount),
            memory: memory)
    }
}

package enum StoreNotificationsEventType: EventType {
    case notificationV2, notificationV1, receipt

    package static let byDefault = StoreNotificationsEventType.notificationV2

    package var name: StaticString {
        switch self {
        case .notificationV2: "appstore.notification.v2"
        case .notificationV1: "appstore.notification.v1"
        case .receipt: "appstore.receipt"
        }
    }
}

package struct StoreNotificationsKey: RowKey {
    package var environment: Symbol
    package var bundleID: Symbol
    package var productID: Symbol
    package var storefront: Symbol
    package var currency: Symbol
    package var offer: Symbol
    package var ownership: Symbol

    package enum Measure: Int, AggregateMeasure {
        case initialBuys, trials, resubscribes, renewals, recoveries, renewalFailures
        case gracePeriods, gracePeriodExpirations
        case expirationsVoluntary, expirationsBilling, expirationsPrice, expirationsOther
        case autoRenewOn, autoRenewOff, preferenceChanges, upgrades, downgrades, offersRedeemed
        case refunds, upgradeCancellations, refundReversals, refundsDeclined, familyRevocations
        case assignmentRevocations
        case consumptionRequests, priceIncreasesPending, priceIncreasesAccepted
        case oneTimePurchases, unpricedSales, renewalExtensionSummaries, renewalExtensionFailures
        case externalTokensCreated, externalTokensReminded, externalTokensUnreported
        case consentsRescinded, metadataUpdates, migrations, priceChanges
        case renewalsExtended, tests, other
        case grossMicros, refundedMicros
    }

    package static let columns: KeyColumns<Self> = [
        .text(
            "environment", \.environment,
            "'Production', 'Sandbox', and 'Xcode' and 'LocalTesting' if they are allowed"),
        .text("bundle_id", \.bundleID, .page("the app")),
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
        "store-notifications", "Accepted notifications of the App Store, and receipts.",
        columns, measures: Measure.self,
        notes: [
            .initialBuys: .page("SUBSCRIBED / INITIAL_BUY; version 1: INITIAL_BUY"),
            .trials: "of initial_buys",
            .resubscribes: .page("SUBSCRIBED / RESUBSCRIBE"),
            .renewals: .page("DID_RENEW; version 1: also INTERACTIVE_RENEWAL"),
            .recoveries: "renewals after a failure",
            .renewalFailures: .page("DID_FAIL_TO_RENEW"),
            .gracePeriods: "of renewal_failures",
            .gracePeriodExpirations: .page("GRACE_PERIOD_EXPIRED"),
            .expirationsVoluntary: .page("EXPIRED / VOLUNTARY"),
            .expirationsBilling: .page("EXPIRED / BILLING_RETRY"),
            .expirationsPrice: .page("EXPIRED / PRICE_INCREASE"),
            .expirationsOther: .page("EXPIRED / PRODUCT_NOT_FOR_SALE, or without a subtype"),
            .autoRenewOn: .page("DID_CHANGE_RENEWAL_STATUS: customers turned renewal on"),
            .autoRenewOff: .page("DID_CHANGE_RENEWAL_STATUS: customers turned renewal off"),
            .preferenceChanges: .page("DID_CHANGE_RENEWAL_PREF"),
            .upgrades: "of preference_changes",
            .downgrades: "of preference_changes",
            .offersRedeemed: .page("OFFER_REDEEMED"),
            .refunds: .page("REFUND; version 1: also CANCEL, except for upgrades"),
            .upgradeCancellations: "cancellations by an upgrade, without a refund",
            .refundReversals: .page("REFUND_REVERSED"),
            .refundsDeclined: .page("REFUND_DECLINED"),
            .familyRevocations: .page("REVOKE: family sharing ended"),
            .assignmentRevocations: "the same as family_revocations for assigned seats",
            .consumptionRequests: .page("CONSUMPTION_REQUEST: a customer requested a refund"),
            .priceIncreasesPending: .page("PRICE_INCREASE / PENDING"),
            .priceIncreasesAccepted: .page("PRICE_INCREASE / ACCEPTED"),
            .oneTimePurchases: .page("ONE_TIME_CHARGE"),
            .unpricedSales:
                "sales without a price or without a currency; version 2 only",
            .renewalExtensionSummaries: .page("RENEWAL_EXTENSION / SUMMARY"),
            .renewalExtensionFailures: .page("RENEWAL_EXTENSION / FAILURE"),
            .externalTokensCreated: .page("EXTERNAL_PURCHASE_TOKEN / CREATED"),
            .externalTokensReminded: .page("EXTERNAL_PURCHASE_TOKEN / ACTIVE_TOKEN_REMINDER"),
            .externalTokensUnreported: .page("EXTERNAL_PURCHASE_TOKEN / UNREPORTED"),
            .consentsRescinded: .page("RESCIND_CONSENT"),
            .metadataUpdates: .page("METADATA_UPDATE"),
            .migrations: .page("MIGRATION"),
            .priceChanges: .page("PRICE_CHANGE"),
            .renewalsExtended: .page("RENEWAL_EXTENDED"),
            .tests: .page("TEST"),
            .other: "notifications of an unknown type or subtype",
            .grossMicros: "payments of customers, in millionths of the unit; version 2 only",
            .refundedMicros:
                "refunds minus reversals, in millionths of the unit; version 2 only",
        ])
}

package struct CohortsKey: RowKey {
    package var age: CohortAge
    package var bundleID: Symbol
    package var productID: Symbol
    package var storefront: Symbol
    package var currency: Symbol
    package var offer: Symbol

    package enum Measure: Int, AggregateMeasure {
        case buyers, trials, trialConversions, renewals, expirations, refunds
        case grossMicros, refundedMicros, undated
    }

    package static let columns: KeyColumns<Self> = [
        .word(
            "age", \.age,
            "'0', '1', '3', '7', '14', '30', '60', '90', '180', '365', '+': whole days from the first purchase to the counted one or to the revocation, above the previous age and up to this one; '' without a cohort",
            steps: CohortAge.all.map { "\($0.name)" }),
        .text("bundle_id", \.bundleID, "the app"),
        .text("product_id", \.productID, "'' when unknown"),
        .text("storefront", \.storefront, "country, three letters; '' in version 1"),
        .text("currency", \.currency, "'' in version 1"),
        .text("offer", \.offer, "as in store-notifications"),
    ]
    package static let table = AggregateTable(
        "cohorts",
        "Purchases in the environment Production with the ownership purchased, by day of the first purchase and age.",
        columns, measures: Measure.self,
        notes: [
            .buyers: "initial_buys and one_time_purchases",
            .trials: "buyers with a free trial",
            .trialConversions:
                "first renewals at a price above 0 after a free trial; in version 1, the first renewals that are not a trial",
            .renewals: "renewals and recoveries",
            .expirations: "expirations of all four kinds",
            .refunds: "REFUND; version 1: also CANCEL, except for upgrades",
            .grossMicros: "payments of customers; version 2 only",
            .refundedMicros:
                "refunds minus reversals; a reversal is subtracted in the row of its refund; version 2 only",
            .undated:
                "notifications (in version 1, cancelled transactions) without a date, which no other measure counts",
        ],
        day: .init(
            "cohort", "day of the line's first purchase, UTC; '' if it is unknown"))
}
