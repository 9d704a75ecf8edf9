/// A JWS within the payload of a notification of version 2.
package enum InnerJWS: CaseIterable, Sendable {
    /// What was bought.
    case transaction
    /// How a subscription goes on.
    case renewal
    /// The app's own purchase.
    case appTransaction

    /// The member of the notification's payload that it stands in.
    package var holder: StaticString { self == .appTransaction ? "appData" : "data" }

    /// The member that holds it.
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
