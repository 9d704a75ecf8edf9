import JSON

/// The payload of an App Store JWS, with its own claims about its app, its environment and the time of signing. Nothing
/// is verified here. Valid as long as the document.
package struct AppStorePayload {
    /// The kind of a payload, which determines the places of these claims.
    package enum Kind: Sendable {
        /// A notification of version 2.
        case notification
        /// A JWS within a notification.
        case inner(InnerJWS)
    }

    package let value: JSONValue
    private let kind: Kind
    /// The member that identifies a notification's app; in an inner JWS, the payload itself. Nil if missing.
    let holder: JSONValue?

    package init(_ value: JSONValue, of kind: Kind) {
        self.value = value
        self.kind = kind
        holder =
            switch kind {
            case .notification:
                value.member("data") ?? value.member("summary")
                    ?? value.member("externalPurchaseToken") ?? value.member("appData")
            case .inner: value
            }
    }

    /// The bundle id, in UTF-8; nil if missing or not a text.
    package var bundleID: UnsafeRawBufferPointer? { holder?.member("bundleId")?.string }

    /// The app's id in the App Store, from a number or a text of digits; nil if missing.
    package var appAppleID: Int64? { FieldFaults.identifier(holder?.member("appAppleId")) }

    /// The environment; nil if missing or unknown.
    package var environment: AppStoreEnvironment? {
        guard case .inner(let kind) = kind else { return environmentOfNotification }
        return value.member(kind.environment)?.string.flatMap { AppStoreEnvironment($0) }
    }

    /// The time of signing, in milliseconds since 1970; nil unless it is an integer.
    package var signedAtMilliseconds: Int64? {
        let member =
            switch kind {
            case .notification: value.member("signedDate")
            case .inner(let kind): value.member(kind.signedAt)
            }
        guard case .exact(let milliseconds)? = member?.number?.asInteger else { return nil }
        return milliseconds
    }

    /// A notification's JWS of a kind, without checks of its value; nil if missing.
    package func jws(_ kind: InnerJWS) -> JSONValue? {
        // If `data` is present, `appData` is ignored.
        if kind == .appTransaction, value.member("data") != nil { return nil }
        return value.member(kind.holder)?.member(kind.member)
    }

    /// The reason why an inner payload does not belong to the notification's bundle; nil if it does.
    package func faultOfBundle(in notification: AppStorePayload) -> StaticString? {
        guard let bundleID = value.member("bundleId") else {
            if case .inner(let kind) = kind, !kind.namesBundle { return nil }
            return "has no bundleId"
        }
        guard let bundleID = bundleID.string, let wanted = notification.bundleID,
            bundleID.elementsEqual(wanted)
        else { return "is not of the notification's bundle" }
        return nil
    }

    /// The reason why an inner payload does not belong to the notification's environment; nil if it does.
    package func faultOfEnvironment(in notification: AppStorePayload) -> StaticString? {
        guard environment != notification.environment else { return nil }
        if case .inner(let kind) = kind, value.member(kind.environment) == nil {
            return "has no environment"
        }
        return "is not of the notification's environment"
    }

    private var environmentOfNotification: AppStoreEnvironment? {
        if value.member("data") == nil, value.member("summary") == nil,
            let token = value.member("externalPurchaseToken")
        {
            // The id of a token reveals its environment.
            let id = token.member("externalPurchaseId")?.string
            let isSandbox = id.map { $0.prefix(7).elementsEqual("SANDBOX".utf8) } ?? false
            return isSandbox ? .sandbox : .production
        }
        return holder?.member("environment")?.string.flatMap { AppStoreEnvironment($0) }
    }
}

/// A JWS within the payload of a notification of version 2.
package enum InnerJWS: CaseIterable, Sendable {
    case transaction
    case renewal
    case appTransaction

    /// The member of the notification's payload that contains it.
    package var holder: StaticString { self == .appTransaction ? "appData" : "data" }

    package var member: StaticString {
        switch self {
        case .transaction: "signedTransactionInfo"
        case .renewal: "signedRenewalInfo"
        case .appTransaction: "signedAppTransactionInfo"
        }
    }

    /// The member with the time of signing. An app transaction has no signedDate: Apple's libraries judge it at its
    /// creation.
    var signedAt: StaticString {
        self == .appTransaction ? "receiptCreationDate" : "signedDate"
    }

    /// The payload's member with the environment.
    var environment: StaticString { self == .appTransaction ? "receiptType" : "environment" }

    /// Whether its payload contains a bundle.
    var namesBundle: Bool { self != .renewal }
}
