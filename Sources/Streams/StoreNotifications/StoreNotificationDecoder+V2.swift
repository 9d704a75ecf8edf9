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
        let member = value.member("signedPayload")
        if member == nil { _ = faults.missing("signedPayload") }
        let text = faults.text(member, "signedPayload")
        if let rejection = faults.rejection { throw .rejected(rejection) }
        let payload = try outer(text ?? UnsafeRawBufferPointer(start: nil, count: 0))
        let identity = try identity(of: payload)
        let data = payload.member("data")
        let transaction = try inner(data, .transaction, transactionParser, identity)
        let renewal = try inner(data, .renewal, renewalParser, identity)
        if payload.member("data") == nil {
            _ = try inner(
                payload.member("appData"), .appTransaction, transactionParser, identity)
        }

        let uuid = faults.requiredID(payload, "notificationUUID")
        let type = faults.requiredID(payload, "notificationType")
        let subtype = faults.optionalText(payload, "subtype")
        idBuilder.begin()
        idBuilder.add("appstore.notification.v2")
        idBuilder.add(uuid)
        let holder = transaction ?? renewal ?? (data == nil ? payload.member("summary") : nil)
        return StoreNotificationEvent(
            id: idBuilder.finish(), environment: identity.environment,
            bundleID: keep(identity.bundleID),
            effect: effect(
                type: type, subtype: subtype, transaction,
                product: holder.flatMap { faults.optionalText($0, "productId") }))
    }

    /// The payload of the notification's JWS; where it says that it comes from an environment whose
    /// signatures nobody can verify, and the pipeline allows that, whoever signed it.
    private func outer(
        _ text: UnsafeRawBufferPointer
    ) throws(NotificationRefusal) -> JSONValue {
        if trust.allowsUnverified, let payload = unverified(text, by: payloadParser),
            let environment = Self.environment(of: payload), environment.isLocal,
            trust.environments.contains(environment)
        {
            return payload
        }
        return try verified(text, "signedPayload", by: payloadParser)
    }

    /// The payload of a JWS that nobody vouches for; nil when the text is none.
    private func unverified(_ text: UnsafeRawBufferPointer, by parser: JSONParser) -> JSONValue? {
        guard let bytes = AppStoreJWS.unverifiedPayload(of: text),
            let payload = bytes.withUnsafeBytes({ try? parser.parse($0) }), payload.isObject
        else { return nil }
        return payload
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
        guard let holder = Self.holder(of: payload) else {
            throw .untrusted("signedPayload", "its payload speaks of no app")
        }
        guard let bundleID = holder.member("bundleId")?.string, let app = trust.app(bundleID) else {
            throw .untrusted("bundleId", "is none of the configured bundles")
        }
        let environment = Self.environment(of: payload)
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

    /// The member that says of which app a payload speaks.
    private static func holder(of payload: JSONValue) -> JSONValue? {
        payload.member("data") ?? payload.member("summary")
            ?? payload.member("externalPurchaseToken") ?? payload.member("appData")
    }

    private static func environment(of payload: JSONValue) -> AppStoreEnvironment? {
        if payload.member("data") == nil, payload.member("summary") == nil,
            let token = payload.member("externalPurchaseToken")
        {
            return environment(ofToken: token)
        }
        return holder(of: payload)?.member("environment")?.string
            .flatMap { AppStoreEnvironment($0) }
    }

    private static func environment(ofToken token: JSONValue) -> AppStoreEnvironment {
        let id = token.member("externalPurchaseId")?.string
        let isSandbox = id.map { $0.prefix(7).elementsEqual("SANDBOX".utf8) } ?? false
        return isSandbox ? .sandbox : .production
    }

    /// A JWS within the payload; nil when there is none.
    private func inner(
        _ holder: JSONValue?, _ kind: InnerJWS, _ parser: JSONParser, _ identity: Identity
    ) throws(NotificationRefusal) -> JSONValue? {
        let member = kind.member
        guard let value = holder?.member(member) else { return nil }
        guard let text = value.string else {
            throw .untrusted(member, AppStoreFault.notAJWS.words)
        }
        let payload: JSONValue
        if identity.environment.isLocal {
            guard let read = unverified(text, by: parser) else {
                throw .untrusted(member, AppStoreFault.notAJWS.words)
            }
            payload = read
        } else {
            payload = try verified(text, member, by: parser, signedAt: kind.signedAt)
        }
        let bundleID = payload.member("bundleId")
        guard bundleID?.string?.equals(identity.bundleID) ?? (bundleID == nil && !kind.namesBundle)
        else { throw .untrusted(member, "is not of the notification's bundle") }
        guard
            payload.member(kind.environment)?.string?.equals(identity.environment.name) == true
        else { throw .untrusted(member, "is not of the notification's environment") }
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
        let discount = faults.optionalText(transaction, "offerDiscountType")
        switch rule.money {
        case .refunded: return .refund(columns, rule.measure, refund(of: transaction))
        case .reversed:
            return .reversal(
                columns, rule.measure, transactionID: transactionID(transaction, "transactionId"))
        case .gross, .none:
            let isTrial =
                rule.measure == .initialBuys && discount?.equals("FREE_TRIAL") == true
            return .count(
                columns, rule.measure, isTrial ? .trials : rule.secondMeasure,
                grossPrice: rule.money == .gross ? price(of: transaction) : 0)
        }
    }

    private func price(of transaction: JSONValue) -> Int64 {
        let price = faults.optionalInteger(transaction, "price") ?? 0
        if price < 0 { faults.note(.outOfRange, "price", "is negative") }
        return price
    }

    private func refund(of transaction: JSONValue) -> StoreNotificationEvent.Refund {
        let whole: Int64 = 100_000
        let percentage = faults.optionalInteger(transaction, "revocationPercentage") ?? whole
        if !(0...whole).contains(percentage) {
            faults.note(.outOfRange, "revocationPercentage", "is not between 0 and 100000")
        }
        return StoreNotificationEvent.Refund(
            transactionID: transactionID(transaction, "transactionId"),
            revocationDate: faults.optionalInteger(transaction, "revocationDate"),
            price: price(of: transaction), percentage: percentage)
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
