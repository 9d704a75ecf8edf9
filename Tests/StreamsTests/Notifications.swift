import Signatures
import Streams
import TestKit
import Testing

/// Notifications and receipts that tests alter and sign.
enum Notifications {
    /// Whose chain signs.
    enum Signer { case apple, stranger }

    static let bundle = "com.example.puzzle"
    static let appAppleID: Int64 = 525_463_029
    static let secret = "0123456789abcdef0123456789abcdef"
    static let otherBundle = "com.example.other"

    private static let chains = Result {
        (apple: try AppStoreChain(), stranger: try AppStoreChain(.init { $0.name = "B" }))
    }

    static func chain(_ signer: Signer = .apple) throws -> AppStoreChain {
        let chains = try chains.get()
        return signer == .apple ? chains.apple : chains.stranger
    }

    static func trust(
        _ environments: Set<AppStoreEnvironment> = [.production, .sandbox]
    ) throws -> StoreNotificationsTrust {
        StoreNotificationsTrust(
            apps: [
                .init(
                    bundleID: bundle, appAppleID: appAppleID,
                    sharedSecrets: ["before", secret].map { Array($0.utf8) }),
                .init(
                    bundleID: otherBundle, appAppleID: nil,
                    sharedSecrets: [Array("other secret".utf8)]),
                .init(bundleID: "com.example.secretless", appAppleID: nil, sharedSecrets: []),
            ],
            environments: environments,
            verifier: AppStoreVerifier(roots: [try AppStoreRoot(pem: chain().rootPEM)]))
    }

    /// A transaction of a subscription at 9.99 USD.
    static let transaction: Document = [
        "transactionId": "2000000701234568", "originalTransactionId": "2000000700000001",
        "bundleId": "com.example.puzzle", "productId": "monthly", "storefront": "USA",
        "currency": "USD", "price": 9990, "environment": "Production",
        "signedDate": 1_795_238_412_000, "type": "Auto-Renewable Subscription",
    ]

    static let renewal: Document = [
        "originalTransactionId": "2000000700000001", "productId": "monthly",
        "autoRenewStatus": 1, "environment": "Production", "signedDate": 1_795_238_412_000,
    ]

    private static let sales = [
        "SUBSCRIBED", "DID_RENEW", "ONE_TIME_CHARGE", "OFFER_REDEEMED", "DID_CHANGE_RENEWAL_PREF",
    ]

    /// A payload of version 2 with a transaction in it. Sales have transactions of their own, by their ids.
    static func payload(
        _ type: String, _ subtype: String? = nil, uuid: String = "u",
        with changes: KeyValuePairs<String, Document?> = [:]
    ) -> Document {
        let payload: Document = [
            "notificationType": .string(type), "notificationUUID": .string(uuid),
            "version": "2.0", "signedDate": 1_795_238_412_500,
            "data": [
                "appAppleId": .raw("\(appAppleID)"), "bundleId": .string(bundle),
                "environment": "Production", "signedTransactionInfo": transaction,
                "signedRenewalInfo": renewal,
            ],
        ]
        let transaction =
            sales.contains(type) ? .string("sale \(uuid)") : transaction["transactionId"]
        return payload.with([
            "subtype": subtype.map { .string($0) },
            "data.signedTransactionInfo.transactionId": transaction,
        ]).with(changes)
    }

    /// The body that carries a payload. Objects where JWSs belong are signed too.
    static func body(_ payload: Document, by signer: Signer = .apple) throws -> Document {
        var payload = payload
        for holder in ["data", "appData"] {
            for member in payload[holder]?.members ?? [] {
                guard member.name.hasPrefix("signed"), !member.value.members.isEmpty else {
                    continue
                }
                payload["\(holder).\(member.name)"] = try jws(member.value, by: signer)
            }
        }
        return ["signedPayload": try jws(payload, by: signer)]
    }

    static func jws(_ payload: Document, by signer: Signer = .apple) throws -> Document {
        .string(try chain(signer).sign(payload.text.utf8))
    }

    static let listed: Document = [
        "transaction_id": "30", "original_transaction_id": "10", "product_id": "monthly",
        "purchase_date_ms": "1795238400000",
    ]

    /// A body of version 1 that lists these transactions.
    static func bodyV1(
        _ type: String, _ transactions: [Document] = [listed],
        with changes: KeyValuePairs<String, Document?> = [:]
    ) -> Document {
        let body: Document = [
            "notification_type": .string(type), "environment": "PROD",
            "password": .string(secret), "bid": .string(bundle), "original_transaction_id": 10,
            "unified_receipt": [
                "environment": "Production", "status": 0, "latest_receipt": "MIIU",
                "latest_receipt_info": .array(transactions),
            ],
        ]
        return body.with(changes)
    }

    /// A verifyReceipt response, under the key of a line.
    static func receipt(
        _ line: String, _ transactions: [Document],
        with changes: KeyValuePairs<String, Document?> = [:]
    ) -> TestRecord {
        let value: Document = [
            "status": 0, "environment": "Production",
            "receipt": ["bundle_id": .string(bundle), "in_app": []],
            "latest_receipt_info": .array(transactions),
        ]
        return TestRecord(value.with(changes), type: "appstore.receipt").keyed(line)
    }
}

/// A record of version 2.
func v2(
    _ type: String, _ subtype: String? = nil, uuid: String = "u",
    with changes: KeyValuePairs<String, Document?> = [:]
) throws -> TestRecord {
    TestRecord(
        try Notifications.body(Notifications.payload(type, subtype, uuid: uuid, with: changes)))
}

/// A record of version 1.
func v1(
    _ type: String, _ transactions: [Document] = [Notifications.listed],
    with changes: KeyValuePairs<String, Document?> = [:]
) -> TestRecord {
    TestRecord(
        Notifications.bodyV1(type, transactions, with: changes), type: "appstore.notification.v1")
}

/// A transaction that was cancelled.
func cancelled(
    _ transaction: String, at milliseconds: Int64,
    with changes: KeyValuePairs<String, Document?> = [:]
) -> Document {
    Notifications.listed.with([
        "transaction_id": .string(transaction),
        "cancellation_date_ms": .string("\(milliseconds)"),
    ]).with(changes)
}

extension FoldResult {
    /// A sum over all rows of `store-notifications`.
    func count(_ measure: String, where columns: Row = [:]) -> Int64 {
        sum("store-notifications", measure, where: columns)
    }

    /// The measures of `store-notifications` that are not 0, summed over all rows.
    var measures: [String: Int64] {
        Dictionary(
            uniqueKeysWithValues: StoreNotificationsKey.table.measures.map { ($0, count($0)) }
        ).filter { $0.value != 0 }
    }
}
