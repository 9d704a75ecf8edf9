import Attestation
import JSONReader

/// Apple's "App Store Server Notifications V2": `responseBodyV2DecodedPayload`, and in it
/// `JWSTransactionDecodedPayload` and `JWSRenewalInfoDecodedPayload`.
extension StoreNotificationDecoder {
    /// Which app in which environment a payload speaks of.
    private struct Identity {
        var bundleID: UnsafeRawBufferPointer
        var environment: AppStoreEnvironment
    }

    /// Verifies and decodes a body of version 2.
    func notificationV2(_ value: JSONValue) throws(NotificationRefusal) -> StoreNotificationEvent {
        let text = faults.requiredID(value, "signedPayload")
        if let rejection = faults.rejection { throw .rejected(rejection) }
        let payload = try verified(text, "signedPayload", by: payloadParser)
        let identity = try identity(of: payload)
        let data = payload.member("data")
        let transaction = try inner(data, "signedTransactionInfo", transactionParser, identity)
        let renewal = try inner(data, "signedRenewalInfo", renewalParser, identity)
        if payload.member("data") == nil, let appData = payload.member("appData") {
            // An app transaction has no signedDate: Apple's libraries judge it at its creation.
            _ = try inner(
                appData, "signedAppTransactionInfo", transactionParser, identity,
                signedAt: "receiptCreationDate")
        }

        let uuid = faults.requiredID(payload, "notificationUUID")
        let type = faults.requiredID(payload, "notificationType")
        let subtype = faults.optionalText(payload, "subtype")
        idBuilder.begin()
        idBuilder.add("appstore.notification.v2")
        idBuilder.add(uuid)
        let holder = transaction ?? renewal ?? payload.member("summary")
        return StoreNotificationEvent(
            id: idBuilder.finish(), environment: identity.environment,
            bundleID: keep(identity.bundleID),
            effect: effect(
                type: type, subtype: subtype, transaction,
                product: holder.flatMap { faults.optionalText($0, "productId") }))
    }

    /// The payload of a JWS that holds at the instant at which its member `signedAt` says that it was
    /// signed.
    private func verified(
        _ text: UnsafeRawBufferPointer, _ member: StaticString, by parser: JSONParser,
        signedAt: StaticString = "signedDate"
    ) throws(NotificationRefusal) -> JSONValue {
        let jws: AppStoreJWS
        do {
            jws = try AppStoreJWS(text)
        } catch {
            throw .untrusted(member, error.words)
        }
        let parsed = jws.payload.withUnsafeBytes { try? parser.parse($0) }
        guard let payload = parsed, payload.isObject else {
            throw .untrusted(member, "its payload is no JSON object")
        }
        guard case .exact(let signedAt)? = payload.member(signedAt)?.number?.asInteger else {
            throw .untrusted(member, "its payload has no signedDate")
        }
        do {
            try trust.verifier.verify(jws, signedAtMilliseconds: signedAt)
        } catch {
            throw .untrusted(member, error.words)
        }
        return payload
    }

    private func identity(of payload: JSONValue) throws(NotificationRefusal) -> Identity {
        let token = payload.member("externalPurchaseToken")
        guard
            let holder = payload.member("data") ?? payload.member("summary") ?? token
                ?? payload.member("appData")
        else { throw .untrusted("signedPayload", "its payload speaks of no app") }
        guard let bundleID = holder.member("bundleId")?.string, let app = trust.app(bundleID) else {
            throw .untrusted("bundleId", "is none of the configured bundles")
        }
        let isToken = payload.member("data") == nil && payload.member("summary") == nil
        let environment =
            isToken && token != nil
            ? Self.environment(ofToken: holder)
            : holder.member("environment")?.string.flatMap { AppStoreEnvironment($0) }
        guard let environment, trust.environments.contains(environment) else {
            throw .untrusted("environment", "is none that the pipeline allows")
        }
        if environment == .production, let appAppleID = app.appAppleID,
            FieldFaults.identifier(holder.member("appAppleId")) != appAppleID
        {
            throw .untrusted("appAppleId", "is not the app id that is configured for the bundle")
        }
        return Identity(bundleID: bundleID, environment: environment)
    }

    private static func environment(ofToken token: JSONValue) -> AppStoreEnvironment {
        let id = token.member("externalPurchaseId")?.string
        let isSandbox = id.map { $0.prefix(7).elementsEqual("SANDBOX".utf8) } ?? false
        return isSandbox ? .sandbox : .production
    }

    /// A JWS within the payload; nil when there is none.
    private func inner(
        _ holder: JSONValue?, _ member: StaticString, _ parser: JSONParser, _ identity: Identity,
        signedAt: StaticString = "signedDate"
    ) throws(NotificationRefusal) -> JSONValue? {
        guard let value = holder?.member(member) else { return nil }
        guard let text = value.string else {
            throw .untrusted(member, AppStoreFault.notAJWS.words)
        }
        let payload = try verified(text, member, by: parser, signedAt: signedAt)
        if let bundleID = payload.member("bundleId"),
            bundleID.string?.equals(identity.bundleID) != true
        {
            throw .untrusted(member, "is of another bundle than the notification")
        }
        if let environment = payload.member("environment"),
            environment.string?.equals(identity.environment.name) != true
        {
            throw .untrusted(member, "is of another environment than the notification")
        }
        return payload
    }
}

// MARK: What a notification counts as

extension StoreNotificationDecoder {
    private typealias Measure = StoreNotificationsKey.Measure

    private func effect(
        type: UnsafeRawBufferPointer, subtype: UnsafeRawBufferPointer?, _ transaction: JSONValue?,
        product: UnsafeRawBufferPointer?
    ) -> StoreNotificationEvent.Effect {
        var columns = StoreNotificationEvent.Columns(productID: keep(product))
        let rule = NotificationRule.of(type: type, subtype: subtype)
        guard let transaction else {
            return .count(columns, rule.measure, rule.secondMeasure, grossPrice: 0)
        }
        columns.storefront = keep(faults.optionalText(transaction, "storefront"))
        columns.currency = keep(faults.optionalText(transaction, "currency"))
        columns.offer = offer(of: transaction)
        let transactionID = faults.optionalIdentifier(transaction, "transactionId")
        let price = price(of: transaction)
        let refund = refund(of: transaction, transactionID, price)
        let discount = faults.optionalText(transaction, "offerDiscountType")
        switch rule.money {
        case .refunded: return .refund(columns, rule.measure, refund)
        case .reversed: return .reversal(columns, rule.measure, transactionID: transactionID)
        case .gross, .none:
            let isTrial =
                rule.measure == .initialBuys && discount?.equals("FREE_TRIAL") == true
            return .count(
                columns, rule.measure, isTrial ? .trials : rule.secondMeasure,
                grossPrice: rule.money == .gross ? price : 0)
        }
    }

    private func price(of transaction: JSONValue) -> Int64 {
        let price = faults.optionalInteger(transaction, "price") ?? 0
        if price < 0 { faults.note(.outOfRange, "price", "is negative") }
        return price
    }

    private func refund(
        of transaction: JSONValue, _ transactionID: Int64?, _ price: Int64
    ) -> StoreNotificationEvent.Refund {
        let whole: Int64 = 100_000
        let percentage = faults.optionalInteger(transaction, "revocationPercentage") ?? whole
        if !(0...whole).contains(percentage) {
            faults.note(.outOfRange, "revocationPercentage", "is not between 0 and 100000")
        }
        return StoreNotificationEvent.Refund(
            transactionID: transactionID,
            revocationDate: faults.optionalInteger(transaction, "revocationDate"), price: price,
            percentage: percentage)
    }

    private func offer(of transaction: JSONValue) -> Range<Int> {
        let identifier = faults.optionalText(transaction, "offerIdentifier")
        return switch faults.optionalInteger(transaction, "offerType") {
        case 1: keep("introductory")
        case 2: keepOffer("promotional", identifier)
        case 3: keepOffer("code", identifier)
        case 4: keepOffer("win_back", identifier)
        default: 0..<0
        }
    }
}
