import EventLog

/// Notifications for the worker: trusted ones of both versions, receipts, forged and broken ones.
package struct SampleNotifications {
    package static let bundle = "com.example.puzzle"
    package static let secret = "0123456789abcdef0123456789abcdef"

    package let chain: AppStoreChain
    private let stranger: AppStoreChain

    package init() throws {
        chain = try AppStoreChain()
        stranger = try AppStoreChain(.init { $0.name = "Stranger" })
    }

    /// Writes the configuration that trusts the chain.
    package func configure(
        _ workspace: Workspace, batch: Int = 100, secret: String = Self.secret, more: String = ""
    ) throws {
        try workspace.write("roots/test.pem", chain.rootPEM)
        try workspace.write(
            "store-notifications.yaml",
            """
            batch_records: \(batch)
            commit_interval_ms: 1
            roots: [roots/test.pem]
            apps:
              - {bundle_id: \(Self.bundle), shared_secrets: ["\(secret)"]}
            \(more)

            """)
    }

    /// A notification of version 2 about a transaction.
    ///
    /// - Parameter cohort: of one of Production, which alone has a cohort, the day of the first purchase since
    ///   1970. The transaction is then `date` days later; else it is of a sandbox.
    package func v2(
        _ type: String, _ subtype: String = "", uuid: String, transaction: Int,
        price: Int64 = 9990, date: Int = 1, cohort: Int? = nil, bundle: String = Self.bundle,
        signedAt: Int64 = 1_795_238_412_500, forged: Bool = false
    ) throws -> String {
        let signer = forged ? stranger : chain
        let environment = cohort == nil ? "Sandbox" : "Production"
        let dates =
            cohort.map { cohort in
                let first = cohort * 86_400_000
                let later = first + date * 86_400_000
                return """
                    "originalTransactionId":"\(transaction % 4)","originalPurchaseDate":\(first),\
                    "purchaseDate":\(later),"revocationDate":\(later),
                    """
            } ?? "\"revocationDate\":\(date),"
        let info = try signer.sign(
            """
            {"transactionId":"\(transaction)","bundleId":"\(bundle)","productId":"monthly",\
            "environment":"\(environment)","currency":"USD","storefront":"USA","price":\(price),\
            \(price == 0 ? "\"offerDiscountType\":\"FREE_TRIAL\"," : "")\(dates)\
            "signedDate":\(signedAt - 500)}
            """.utf8)
        let payload = """
            {"notificationType":"\(type)","subtype":"\(subtype)","notificationUUID":"\(uuid)",\
            "signedDate":\(signedAt),\
            "data":{"bundleId":"\(bundle)","environment":"\(environment)",\
            "signedTransactionInfo":"\(info)"}}
            """
        return "{\"signedPayload\":\"\(try signer.sign(payload.utf8))\"}"
    }

    /// A notification of version 1 whose history holds two cancelled transactions.
    package func v1(
        _ type: String, transaction: Int, date: Int = 1, secret: String = Self.secret
    ) -> String {
        """
        {"notification_type":"\(type)","environment":"PROD","password":"\(secret)","bid":\
        "\(Self.bundle)","original_transaction_id":7,"unified_receipt":{"latest_receipt_info":\
        [\(listed(transaction, date)),\(listed(transaction + 1, date))]}}
        """
    }

    /// A receipt of the line 7.
    package func receipt(transaction: Int) -> String {
        """
        {"status":0,"environment":"Sandbox","receipt":{"bundle_id":"\(Self.bundle)"},\
        "latest_receipt_info":[\(listed(transaction, 1))]}
        """
    }

    private func listed(_ transaction: Int, _ date: Int) -> String {
        """
        {"transaction_id":"\(transaction)","original_transaction_id":"7","product_id":"weekly",\
        "purchase_date_ms":"\(date)","cancellation_date_ms":"\(date)"}
        """
    }

    package static func record(
        _ value: String?, key: String = "7", type: String? = nil, partition: Int32 = 0,
        number: Int = 0
    ) -> OutgoingRecord {
        OutgoingRecord(
            "store-notifications", value, key: key, type: type, partition: partition,
            at: Samples.start + Int64(number) * 60_000)
    }

    /// A mixture: repeated, refunded, reversed, forged and broken ones, over some hours.
    package func records(_ count: Int, seed: UInt64) throws -> [OutgoingRecord] {
        var generator = SeededGenerator(seed: seed)
        func random(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &generator) }
        return try (0..<count).map { number in
            let transaction = random(20)
            let (value, type): (String?, String?) =
                switch random(12) {
                case 0: (nil, nil)
                case 1: ("{\"signedPayload\":5}", nil)
                case 2:
                    (
                        try v2(
                            "REFUND", uuid: "\(random(count))", transaction: transaction,
                            forged: true), nil
                    )
                case 3: (v1("CANCEL", transaction: transaction, secret: "no"), Self.typeV1)
                case 4, 5:
                    (v1("CANCEL", transaction: transaction, date: 1 + random(3)), Self.typeV1)
                case 6: (receipt(transaction: transaction), "appstore.receipt")
                case 7, 8:
                    (
                        try v2(
                            ["REFUND", "REFUND_REVERSED", "DID_RENEW", "SUBSCRIBED"][random(4)],
                            uuid: "\(random(count))", transaction: transaction,
                            price: Int64(random(2) * 9990), date: random(9), cohort: random(3)), nil
                    )
                default:
                    (
                        try v2(
                            ["REFUND", "REFUND_REVERSED", "DID_RENEW"][random(3)],
                            uuid: "\(random(count))", transaction: transaction,
                            price: Int64(random(9999)), date: random(3)), nil
                    )
                }
            return Self.record(value, type: type, partition: Int32(transaction % 4), number: number)
        }
    }

    package static let typeV1 = "appstore.notification.v1"
}
