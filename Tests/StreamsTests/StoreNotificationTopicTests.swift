import Streams
import Testing

@Suite("What topics/ says of store notifications")
struct StoreNotificationTopicTests {
    @Test(
        "the examples of version 1 and of receipts are accepted; those of version 2 verify nowhere")
    func examples() throws {
        let examples = try Topic("store-notifications").examples()
        #expect(examples.count >= 7)
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
        #expect(accepted >= 5)
    }

    @Test("what the decoded examples hold is documented, and counts as they say")
    func decodedExamples() throws {
        let topic = try Topic("store-notifications")
        let examples = topic.decodedExamples(of: "NotificationPayload")
        #expect(examples.count >= 10)
        let schemas = [
            ("NotificationPayload", ""), ("Transaction", "data.signedTransactionInfo"),
            ("Renewal", "data.signedRenewalInfo"),
            ("AppTransaction", "appData.signedAppTransactionInfo"),
            ("AdvancedCommerceTransaction", "data.signedTransactionInfo.advancedCommerceInfo"),
            ("AdvancedCommerceRenewal", "data.signedRenewalInfo.advancedCommerceInfo"),
        ]
        for example in examples {
            let record = TestRecord(try Notifications.body(example.payload))
            let result = try foldNotifications([record])
            #expect(result.measures == example.counts, "\(example.name) \(result.refused)")
            let row = try #require(result.rows("store-notifications").first)
            #expect(row["ownership"] ?? "" == .text(example.ownership), "\(example.name)")
            for (schema, path) in schemas {
                let held = path.isEmpty ? example.payload : example.payload[path] ?? [:]
                let names = Set(held.members.map(\.name))
                let unknown = names.subtracting(topic.properties(schema))
                #expect(unknown.isEmpty, "\(example.name) \(schema)")
            }
        }
    }

    @Test("the schemas name every field of Apple's payloads, read or not")
    func fieldsOfApple() throws {
        let topic = try Topic("store-notifications")
        let ofBoth: Set = [
            "advancedCommerceInfo", "appAccountToken", "appTransactionId", "commitmentInfo",
            "currency", "environment", "offerDiscountType", "offerIdentifier", "offerPeriod",
            "offerType", "originalTransactionId", "productId", "signedDate",
        ]
        let ofTransactions: Set = [
            "billingPlanType", "bundleId", "expiresDate", "inAppOwnershipType", "isUpgraded",
            "originalPurchaseDate", "previousOriginalTransactionId", "price", "purchaseDate",
            "quantity", "revocationDate", "revocationPercentage", "revocationReason",
            "revocationType", "storefront", "storefrontId", "subscriptionGroupIdentifier",
            "transactionId", "transactionReason", "type", "webOrderLineItemId",
        ]
        let ofRenewals: Set = [
            "autoRenewProductId", "autoRenewStatus", "eligibleWinBackOfferIds", "expirationIntent",
            "gracePeriodExpiresDate", "isInBillingRetryPeriod", "priceIncreaseStatus",
            "recentSubscriptionStartDate", "renewalBillingPlanType", "renewalDate", "renewalPrice",
        ]
        #expect(topic.properties("Transaction") == ofBoth.union(ofTransactions))
        #expect(topic.properties("Renewal") == ofBoth.union(ofRenewals))
    }
}
