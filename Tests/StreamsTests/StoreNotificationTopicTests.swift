import Streams
import Testing

@Suite("What topics/ says of store notifications")
struct StoreNotificationTopicTests {
    @Test(
        "the examples of version 1 and of receipts are accepted; those of version 2 verify nowhere")
    func examples() throws {
        let examples = try Topic("store-notifications").examples()
        #expect(examples.count >= 5)
        var accepted = 0
        for example in examples {
            let type = example.headers.first { $0.0 == "ce_type" }?.1 ?? ""
            // A receipt's key is the line that its id names.
            let id = example.headers.first { $0.0 == "ce_id" }?.1 ?? ""
            let key = id.split(separator: "/").dropFirst().first.map(String.init) ?? id
            let result = try foldNotifications([example.record.keyed(key)])
            #expect(result.rows("outcomes").first?["type"] == .text(type))
            if type == "appstore.notification.v2" {
                #expect(result.outcome(.untrusted) == 1, "\(example.name)")
                #expect(
                    result.refused.first?.detail.hasPrefix("signedPayload: ") == true,
                    "\(result.refused)")
            } else {
                #expect(result.outcome(.accepted) == 1, "\(example.name) \(result.refused)")
                #expect(result.rows("store-notifications").count == 1, "\(example.name)")
                accepted += 1
            }
        }
        #expect(accepted >= 3)
    }

    @Test("the schemas name every field that is read")
    func fields() throws {
        let topic = try Topic("store-notifications")
        let identity: Set = ["bundleId", "appAppleId"]
        let read: [(Set<String>, Set<String>)] = [
            (["signedPayload"], topic.properties("NotificationV2")),
            (
                [
                    "notificationType", "subtype", "notificationUUID", "signedDate", "data",
                    "summary", "externalPurchaseToken", "appData",
                ], topic.properties("NotificationPayload")
            ),
            (
                identity.union(["environment", "signedTransactionInfo", "signedRenewalInfo"]),
                topic.properties("NotificationPayload", at: "data")
            ),
            (
                identity.union(["environment", "productId"]),
                topic.properties("NotificationPayload", at: "summary")
            ),
            (
                identity.union(["externalPurchaseId"]),
                topic.properties("NotificationPayload", at: "externalPurchaseToken")
            ),
            (
                identity.union(["environment", "signedAppTransactionInfo"]),
                topic.properties("NotificationPayload", at: "appData")
            ),
            (
                [
                    "transactionId", "bundleId", "environment", "signedDate", "productId",
                    "storefront", "currency", "price", "offerType", "offerIdentifier",
                    "offerDiscountType", "revocationDate", "revocationPercentage",
                ], topic.properties("Transaction")
            ),
            (["productId", "environment", "signedDate"], topic.properties("Renewal")),
            (
                [
                    "notification_type", "environment", "password", "bid",
                    "original_transaction_id", "auto_renew_status",
                    "auto_renew_status_change_date_ms", "unified_receipt", "latest_receipt_info",
                    "latest_expired_receipt_info",
                ], topic.properties("NotificationV1")
            ),
            (
                ["environment", "latest_receipt_info"],
                topic.properties("NotificationV1", at: "unified_receipt")
            ),
            (
                [
                    "transaction_id", "original_transaction_id", "product_id",
                    "purchase_date_ms", "cancellation_date_ms", "is_trial_period",
                    "is_in_intro_offer_period", "is_upgraded", "promotional_offer_id",
                    "offer_code_ref_name", "bid",
                ], topic.properties("ReceiptTransaction")
            ),
            (
                [
                    "environment", "receipt", "latest_receipt_info",
                    "latest_expired_receipt_info",
                ], topic.properties("Receipt")
            ),
            (["bundle_id", "bid", "in_app"], topic.properties("Receipt", at: "receipt")),
            (["ce_type", "content-type"], topic.properties("Envelope")),
        ]
        for (fields, documented) in read {
            #expect(fields.subtracting(documented).isEmpty, "\(fields.subtracting(documented))")
        }
    }
}
