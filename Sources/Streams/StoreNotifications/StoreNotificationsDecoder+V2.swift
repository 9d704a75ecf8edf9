import JSON
import Signatures

/// Apple's "App Store Server Notifications V2": `responseBodyV2DecodedPayload`, and in it
/// `JWSTransactionDecodedPayload` and `JWSRenewalInfoDecodedPayload`.
extension StoreNotificationsDecoder {
    /// Verifies and decodes a body of version 2.
    func notificationV2(_ value: JSONValue) throws(NotificationRefusal) -> StoreNotificationsEvent {
        let member = value.member("signedPayload")
        if member == nil { _ = faults.missing("signedPayload") }
        let text = faults.text(member, "signedPayload")
        if let rejection = faults.rejection { throw .rejected(rejection) }
        let (payload, environment, transaction, renewal) = try trusted(
            text ?? UnsafeRawBufferPointer(start: nil, count: 0))

        let uuid = faults.requiredID(payload.value, "notificationUUID")
        let type = faults.requiredID(payload.value, "notificationType")
        let subtype = faults.optionalText(payload.value, "subtype")
        let summary =
            payload.value.member("data") == nil ? payload.value.member("summary") : nil
        let holder = transaction ?? renewal ?? summary
        let rule = NotificationRule.of(type: type, subtype: subtype)
        return StoreNotificationsEvent(
            id: idOfVersion2(uuid),
            transactionEventID: transactionEventID(rule, transaction, environment),
            environment: environment, bundleID: keep(payload.bundleID),
            effect: effect(
                rule, type: type, transaction,
                product: holder.flatMap { faults.optionalText($0, "productId") }))
    }

    /// The id of the notification with this `notificationUUID`.
    func idOfVersion2(_ uuid: UnsafeRawBufferPointer) -> RecordID {
        idBuilder.begin()
        idBuilder.add("appstore.notification.v2")
        idBuilder.add(uuid)
        return idBuilder.finish()
    }

    /// The payload of a notification's JWS, and those of its transaction and its renewal, once all of its JWSs are
    /// verified.
    func trusted(
        _ text: UnsafeRawBufferPointer
    ) throws(NotificationRefusal) -> (
        payload: AppStorePayload, environment: AppStoreEnvironment, transaction: JSONValue?,
        renewal: JSONValue?
    ) {
        let payload = try outer(text)
        let environment = try trustedEnvironment(of: payload)
        let transaction = try inner(payload, .transaction, environment, transactionParser)
        let renewal = try inner(payload, .renewal, environment, renewalParser)
        // Present only without a transaction, so it uses the same parser.
        _ = try inner(payload, .appTransaction, environment, transactionParser)
        return (payload, environment, transaction, renewal)
    }

    private func transactionEventID(
        _ rule: NotificationRule, _ transaction: JSONValue?, _ environment: AppStoreEnvironment
    ) -> RecordID? {
        guard let kind = rule.countsOnceAs,
            let transactionID = transaction.flatMap({ transactionID($0, "transactionId") })
        else { return nil }
        idBuilder.begin()
        idBuilder.add(kind)
        idBuilder.add(environment.name)
        addToID(transactionID)
        return idBuilder.finish()
    }

    /// The payload of the notification's JWS. It is not verified if it claims an environment with unverifiable
    /// signatures and the pipeline allows that.
    private func outer(
        _ text: UnsafeRawBufferPointer
    ) throws(NotificationRefusal) -> AppStorePayload {
        if trust.allowsUnverified,
            let payload = unverified(text, of: .notification, by: payloadParser),
            trust.allowsUnverified(payload.environment)
        {
            return payload
        }
        return try verified(text, "signedPayload", of: .notification, by: payloadParser)
    }

    /// The payload of a JWS without verification; nil if the text is not a JWS.
    func unverified(
        _ text: UnsafeRawBufferPointer, of kind: AppStorePayload.Kind, by parser: JSONParser
    ) -> AppStorePayload? {
        guard let bytes = AppStoreJWS.unverifiedPayload(of: text),
            let payload = bytes.withUnsafeBytes({ try? parser.parse($0) }), payload.isObject
        else { return nil }
        return AppStorePayload(payload, of: kind)
    }

    /// The payload of a JWS that is valid at its claimed time of signing.
    private func verified(
        _ text: UnsafeRawBufferPointer, _ member: StaticString, of kind: AppStorePayload.Kind,
        by parser: JSONParser
    ) throws(NotificationRefusal) -> AppStorePayload {
        let jws: AppStoreJWS
        do {
            jws = try AppStoreJWS(text)
        } catch {
            throw .untrusted(member, error.explanation)
        }
        let parsed = jws.payload.withUnsafeBytes { try? parser.parse($0) }
        guard let value = parsed, value.isObject else {
            throw .untrusted(member, "its payload is not a JSON object")
        }
        let payload = AppStorePayload(value, of: kind)
        guard let signedAt = payload.signedAtMilliseconds else {
            throw .untrusted(member, "its payload has no signedDate")
        }
        do {
            try trust.verifier.verify(jws, signedAtMilliseconds: signedAt)
        } catch {
            throw .untrusted(member, error.explanation)
        }
        return payload
    }

    /// The environment of a payload about a configured app.
    private func trustedEnvironment(
        of payload: AppStorePayload
    ) throws(NotificationRefusal) -> AppStoreEnvironment {
        guard payload.holder != nil else {
            throw .untrusted("signedPayload", "its payload does not name an app")
        }
        guard let bundleID = payload.bundleID, let app = trust.app(bundleID) else {
            throw .untrusted("bundleId", "is not one of the configured bundles")
        }
        guard let environment = payload.environment, trust.environments.contains(environment)
        else {
            throw .untrusted("environment", "is not allowed by the pipeline")
        }
        if environment == .production, let appAppleID = app.appAppleID,
            payload.appAppleID != appAppleID
        {
            throw .untrusted("appAppleId", "is not the app id that is configured for the bundle")
        }
        return environment
    }

    /// The payload of a JWS within the notification; nil if missing.
    private func inner(
        _ notification: AppStorePayload, _ kind: InnerJWS, _ environment: AppStoreEnvironment,
        _ parser: JSONParser
    ) throws(NotificationRefusal) -> JSONValue? {
        let member = kind.member
        guard let value = notification.jws(kind) else { return nil }
        guard let text = value.string else {
            throw .untrusted(member, AppStoreFault.notAJWS.explanation)
        }
        let payload: AppStorePayload
        if environment.isLocal {
            guard let read = unverified(text, of: .inner(kind), by: parser) else {
                throw .untrusted(member, AppStoreFault.notAJWS.explanation)
            }
            payload = read
        } else {
            payload = try verified(text, member, of: .inner(kind), by: parser)
        }
        if let fault = payload.faultOfBundle(in: notification)
            ?? payload.faultOfEnvironment(in: notification)
        {
            throw .untrusted(member, fault)
        }
        return payload.value
    }
}

// MARK: Counting notifications

extension StoreNotificationsDecoder {
    private typealias Measure = StoreNotificationsKey.Measure

    private func effect(
        _ rule: NotificationRule, type: UnsafeRawBufferPointer, _ transaction: JSONValue?,
        product: UnsafeRawBufferPointer?
    ) -> StoreNotificationsEvent.Effect {
        var columns = StoreNotificationsEvent.Columns(productID: keep(product))
        var rule = rule
        guard let transaction else {
            return .count(
                columns, rule.measure, rule.secondMeasure,
                rule.money == .gross ? .init(price: 0, isPriced: false) : nil)
        }
        columns.storefront = keep(faults.optionalText(transaction, "storefront"))
        columns.currency = keep(faults.optionalText(transaction, "currency"))
        columns.offer = offer(of: transaction)
        columns.ownership = Ownership.column(faults.optionalText(transaction, "inAppOwnershipType"))
        if rule.measure == .familyRevocations,
            faults.optionalText(transaction, "revocationType")?.equals("ASSIGNMENT_REVOKE") == true
        {
            rule.measure = .assignmentRevocations
        }
        let discount = faults.optionalText(transaction, "offerDiscountType")
        switch rule.money {
        case .refunded: return .refund(columns, rule.measure, refund(of: transaction))
        case .reversed:
            return .reversal(
                columns, rule.measure, transactionID: transactionID(transaction, "transactionId"))
        case .gross, .none:
            let isTrial = discount?.equals("FREE_TRIAL") == true
            let sale = rule.money == .gross ? sale(transaction, columns) : nil
            let step = rule.trialStep(
                type: type, isTrial: isTrial, isPaid: sale.map { $0.price > 0 } ?? false)
            return .count(
                columns, rule.measure,
                rule.measure == .initialBuys && isTrial ? .trials : rule.secondMeasure,
                sale, dates(of: transaction, rule),
                step.flatMap { kind in
                    transactionID(transaction, "originalTransactionId").map {
                        .init(line: $0, kind: kind)
                    }
                })
        }
    }

    /// The instants of a transaction; empty for notifications without a cohort, and their values are not judged.
    private func dates(
        of transaction: JSONValue, _ rule: NotificationRule
    ) -> StoreNotificationsEvent.CohortDates {
        guard rule.money != .none || CohortsKey.Measure(rule.measure) != nil else {
            return .init()
        }
        return .init(
            firstPurchase: faults.optionalInteger(transaction, "originalPurchaseDate"),
            instant: faults.optionalInteger(transaction, "purchaseDate"))
    }

    private func sale(
        _ transaction: JSONValue, _ columns: StoreNotificationsEvent.Columns
    ) -> StoreNotificationsEvent.Sale {
        let price = price(of: transaction)
        return .init(price: price ?? 0, isPriced: price != nil && !columns.currency.isEmpty)
    }

    private func price(of transaction: JSONValue) -> Int64? {
        let price = faults.optionalInteger(transaction, "price")
        if let price, price < 0 { faults.report(.outOfRange, "price", "is negative") }
        return price
    }

    private func refund(of transaction: JSONValue) -> StoreNotificationsEvent.Refund {
        let whole: Int64 = 100_000
        let percentage = faults.optionalInteger(transaction, "revocationPercentage") ?? whole
        if !(0...whole).contains(percentage) {
            faults.report(.outOfRange, "revocationPercentage", "is not between 0 and 100000")
        }
        return StoreNotificationsEvent.Refund(
            transactionID: transactionID(transaction, "transactionId"),
            revocationDate: faults.optionalInteger(transaction, "revocationDate"),
            price: price(of: transaction) ?? 0, percentage: percentage,
            firstPurchaseDate: faults.optionalInteger(transaction, "originalPurchaseDate"))
    }

    private func offer(of transaction: JSONValue) -> Range<Int> {
        let identifier = faults.optionalText(transaction, "offerIdentifier")
        return switch faults.optionalInteger(transaction, "offerType") {
        case 1: keep("introductory")
        case 2: keepOffer("promotional", identifier)
        case 3: keepOffer("code", identifier)
        case 4: keepOffer("win_back", identifier)
        case 5: keepOffer("retention", identifier)
        default: 0..<0
        }
    }
}

/// The rule for counting a notification of version 2, by its type and subtype.
struct NotificationRule {
    typealias Measure = StoreNotificationsKey.Measure

    /// The effect of the transaction's price.
    enum Money {
        case none
        /// Added to the customers' payments.
        case gross
        /// Added to the refunds.
        case refunded
        /// The amount of an earlier refund is subtracted.
        case reversed
    }

    var measure: Measure
    var secondMeasure: Measure?
    var money: Money
    /// The kind of event that counts once for each transaction, regardless of notification ids; nil for other kinds.
    var countsOnceAs: StaticString?

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

    /// The rule of a type and subtype; an empty subtype equals a missing one. Unlisted ones count as `other`, but their
    /// money still depends on the type.
    static func of(
        type: UnsafeRawBufferPointer, subtype: UnsafeRawBufferPointer?
    ) -> NotificationRule {
        let subtype = subtype ?? UnsafeRawBufferPointer(start: nil, count: 0)
        let found = listed.first { type.equals($0.type) && subtype.equals($0.subtype) }
        let money = money(type: type, subtype: subtype)
        return NotificationRule(
            measure: found?.2 ?? .other, secondMeasure: found?.3, money: money,
            countsOnceAs: money == .gross
                ? "appstore.sale"
                : type.equals("CONSUMPTION_REQUEST") ? "appstore.consumption_request" : nil)
    }

    /// The effect of a notification on the free trial of its line; nil if it has no effect.
    func trialStep(
        type: UnsafeRawBufferPointer, isTrial: Bool, isPaid: Bool
    ) -> StoreNotificationsEvent.TrialStep.Kind? {
        if type.equals("SUBSCRIBED") { return isTrial ? .trial : .purchase }
        return (measure == .renewals || measure == .recoveries) && isPaid ? .paidRenewal : nil
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
