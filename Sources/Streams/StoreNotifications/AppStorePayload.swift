import JSON

/// The payload of a JWS of the App Store, and what it says of itself: of which app in which environment it
/// speaks, and when it was signed. Nothing of that is verified here; valid as long as the document.
package struct AppStorePayload {
    /// What a payload is of, which decides where it says so.
    package enum Kind: Sendable {
        /// A notification of version 2.
        case notification
        /// A JWS within one.
        case inner(InnerJWS)
    }

    package let value: JSONValue
    private let kind: Kind
    /// The member that says of which app a notification speaks; what is signed within one speaks for
    /// itself. Nil when there is no such member.
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

    /// The bundle id, in UTF-8; nil when there is none, or no text.
    package var bundleID: UnsafeRawBufferPointer? { holder?.member("bundleId")?.string }

    /// The app's id in the App Store, be it a number or a text of digits; nil when there is none.
    package var appAppleID: Int64? { FieldFaults.identifier(holder?.member("appAppleId")) }

    /// The environment; nil when there is none that is known.
    package var environment: AppStoreEnvironment? {
        guard case .inner(let kind) = kind else { return environmentOfNotification }
        return value.member(kind.environment)?.string.flatMap { AppStoreEnvironment($0) }
    }

    /// When it was signed, in milliseconds since 1970; nil when it does not say so with an integer.
    package var signedAtMilliseconds: Int64? {
        let member =
            switch kind {
            case .notification: value.member("signedDate")
            case .inner(let kind): value.member(kind.signedAt)
            }
        guard case .exact(let milliseconds)? = member?.number?.asInteger else { return nil }
        return milliseconds
    }

    /// The JWS of a kind that a notification carries, whatever stands in its place; nil when there is
    /// none.
    package func jws(_ kind: InnerJWS) -> JSONValue? {
        // Where there is data, an app's own is not looked at.
        if kind == .appTransaction, value.member("data") != nil { return nil }
        return value.member(kind.holder)?.member(kind.member)
    }

    /// Why a payload signed within a notification does not belong to the notification's bundle; nil when it
    /// does.
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

    /// The same of the notification's environment.
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
            // A token says it with its id.
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

    /// The member of the notification's payload that it stands in.
    package var holder: StaticString { self == .appTransaction ? "appData" : "data" }

    package var member: StaticString {
        switch self {
        case .transaction: "signedTransactionInfo"
        case .renewal: "signedRenewalInfo"
        case .appTransaction: "signedAppTransactionInfo"
        }
    }

    /// The member of its payload that says when it was signed. An app transaction has no signedDate:
    /// Apple's libraries judge it at its creation.
    var signedAt: StaticString {
        self == .appTransaction ? "receiptCreationDate" : "signedDate"
    }

    /// The member of its payload that names its environment.
    var environment: StaticString { self == .appTransaction ? "receiptType" : "environment" }

    /// Whether its payload names a bundle.
    var namesBundle: Bool { self != .renewal }
}
