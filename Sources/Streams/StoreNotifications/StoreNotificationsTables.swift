/// Row of `store-notifications`.
package struct StoreNotificationsKey: RowKey {
    /// The partition whose records the row counts.
    package var partition: Int32
    /// The hour of the record's timestamp.
    package var hour: Hour
    /// `Production`, `Sandbox`, or a test environment that the pipeline allows; empty when unknown.
    package var environment: Symbol
    /// The app's bundle id.
    package var bundleID: Symbol
    /// What was bought; empty when unknown.
    package var productID: Symbol
    /// Three letters of the country; empty in version 1.
    package var storefront: Symbol
    /// The price's currency; empty in version 1.
    package var currency: Symbol
    /// Empty, `introductory`, or the kind of the offer with its id: `promotional:<id>`, `code:<name>`,
    /// `win_back:<id>`, `retention:<id>`.
    package var offer: Symbol
    /// `purchased`, `family`, `assigned` or `other`; empty where there is no transaction.
    package var ownership: Symbol

    /// The measures, in the table's order.
    enum Measure: Int {
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

    /// The aggregate.
    package static let table = AggregateTable(
        name: "store-notifications",
        columns: [
            .init("hour", .hour), .init("environment", .text), .init("bundle_id", .text),
            .init("product_id", .text), .init("storefront", .text), .init("currency", .text),
            .init("offer", .text), .init("ownership", .text),
        ],
        measures: [
            "initial_buys", "trials", "resubscribes", "renewals", "recoveries",
            "renewal_failures", "grace_periods", "grace_period_expirations",
            "expirations_voluntary", "expirations_billing", "expirations_price",
            "expirations_other", "auto_renew_on", "auto_renew_off", "preference_changes",
            "upgrades", "downgrades", "offers_redeemed", "refunds", "upgrade_cancellations",
            "refund_reversals", "refunds_declined", "family_revocations",
            "assignment_revocations", "consumption_requests", "price_increases_pending",
            "price_increases_accepted", "one_time_purchases", "renewal_extension_summaries",
            "renewal_extension_failures", "external_tokens_created", "external_tokens_reminded",
            "external_tokens_unreported", "consents_rescinded", "metadata_updates", "migrations",
            "price_changes", "renewals_extended", "tests", "other", "gross_micros",
            "refunded_micros",
        ])

    /// Adds all that makes the key to a hash.
    package func combine(into hasher: inout RowHasher) {
        hasher.combine(Int64(partition) << 40 ^ hour.hoursSince1970)
        hasher.combine(environment, bundleID)
        hasher.combine(productID, offer)
        hasher.combine(storefront, currency)
        hasher.combine(UInt64(ownership.number))
    }

    /// The columns, in the table's order.
    package func forEachColumn(_ body: (ColumnValue) -> Void) {
        body(.hour(hour))
        body(.symbol(environment))
        body(.symbol(bundleID))
        body(.symbol(productID))
        body(.symbol(storefront))
        body(.symbol(currency))
        body(.symbol(offer))
        body(.symbol(ownership))
    }
}
