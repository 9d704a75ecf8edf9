import EventLog
import Foundation

/// What the store told on the demo's day: purchases, renewals, refunds, and what only claims to be from it.
enum DemoNotifications {
    /// A notification of version 2, in its parts.
    struct Notification {
        /// The original transaction id, or the notification's own without one.
        var key: String
        /// When it arrived, in milliseconds since 1970.
        var milliseconds: Int64
        /// The payload, with `<transaction>` where the transaction's JWS goes.
        var payload: String
        var signature: String
        var transaction: String?
        var transactionSignature: String?

        /// The body that the store posts.
        var body: String {
            var whole = payload
            if let transaction, let transactionSignature {
                whole.replace(
                    "<transaction>",
                    with: DemoNotifications.token(transaction, transactionSignature))
            }
            return "{\"signedPayload\":\"\(DemoNotifications.token(whole, signature))\"}"
        }
    }

    /// What the store signed; then a repeat, two forgeries, and bodies of version 1.
    static func records() -> [OutgoingRecord] {
        let genuine = signed.map { record($0.key, $0.body, at: $0.milliseconds) }
        // The store sends again when the first answer was lost: the same body, an hour later.
        let renewal = signed[3]
        let repeated = record(renewal.key, renewal.body, at: renewal.milliseconds + 3_600_000)
        var forged = renewal
        forged.payload.replace("\"DID_RENEW\"", with: "\"SUBSCRIBED\"")
        var dearer = signed[0]
        dearer.transaction = dearer.transaction?.replacing("9990", with: "9990000")
        let forgeries = [forged, dearer].map {
            record($0.key, $0.body, at: $0.milliseconds + 60_000)
        }
        return genuine + [repeated] + forgeries + versionOne()
    }

    private static func record(
        _ key: String, type: String = "appstore.notification.v2", _ body: String,
        at milliseconds: Int64
    ) -> OutgoingRecord {
        DemoRecords.record("store-notifications", key: key, type: type, body, at: milliseconds)
    }

    /// A first purchase and its refund by Apple's support, and one whose shared secret is wrong.
    private static func versionOne() -> [OutgoingRecord] {
        let time = DemoRecords.dayMilliseconds + 40_000_000
        let bought = "\"purchase_date_ms\":\"\(time - 5_000)\""
        let cancelled = "\(bought),\"cancellation_date_ms\":\"\(time + 3_500_000)\""
        func body(_ type: String, secret: String, _ dates: String) -> String {
            """
            {"notification_type":"\(type)","environment":"PROD","bid":"com.example.rides",\
            "password":"\(secret)","unified_receipt":{"environment":"Production","status":0,\
            "latest_receipt_info":[{"transaction_id":"1000000000000201",\
            "original_transaction_id":"1000000000000201","product_id":"rides.pro.monthly",\
            "is_trial_period":"false",\(dates)}]}}
            """
        }
        let known = "example-shared-secret"
        return [
            ("INITIAL_BUY", known, bought, time), ("CANCEL", known, cancelled, time + 3_600_000),
            ("CANCEL", "a guess", cancelled, time + 3_700_000),
        ].map { type, secret, dates, milliseconds in
            record(
                "1000000000000201", type: "appstore.notification.v1",
                body(type, secret: secret, dates), at: milliseconds)
        }
    }

    /// A compact JWS under the chain's header.
    private static func token(_ payload: String, _ signature: String) -> String {
        let encoded = Data(payload.utf8).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
        return "\(header).\(encoded).\(signature)"
    }
}
