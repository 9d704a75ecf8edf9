import EventLog
import Foundation

/// Notifications of the store on the demo's day: purchases, renewals, refunds, and forgeries.
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

extension DemoNotifications {
    /// The header of every JWS here: ES256, and the three certificates of a chain that was made for the
    /// demo (the key is gone). `pipelines/roots/example-root.pem` is its anchor.
    static let header = #"""
        eyJhbGciOiJFUzI1NiIsIng1YyI6WyJNSUlCNkRDQ0FXNmdBd0lCQWdJQkF6QUtCZ2dxaGtqT1BRUURBekF6TVNJd0\#
        lBWURWUVFEREJsWFpXbHlJRVY0WVcxd2JHVWdTVzUwWlhKdFpXUnBZWFJsTVEwd0N3WURWUVFLREFSWFpXbHlNQjRY\#
        RFRJMk1ERXdNVEF3TURBd01Gb1hEVE14TURFd01UQXdNREF3TUZvd05ERWpNQ0VHQTFVRUF3d2FWMlZwY2lCRmVHRn\#
        RjR3hsSUZOMGIzSmxJRk5wWjI1cGJtY3hEVEFMQmdOVkJBb01CRmRsYVhJd1dUQVRCZ2NxaGtqT1BRSUJCZ2dxaGtq\#
        T1BRTUJCd05DQUFTQ2RISGVYUVRHM2tZVmJCN0wzSnR1MGx6QWZsZHErUnlPVlgvUlZhQzRXVmpteEgxRFBuak81OD\#
        lHdC8wNWQ0Nk91S0RUTXNJWDNJUys2L3p4NCsyTm8zSXdjREFNQmdOVkhSTUJBZjhFQWpBQU1BNEdBMVVkRHdFQi93\#
        UUVBd0lIZ0RBZEJnTlZIUTRFRmdRVWhaNnZhNFc2T2t1ak9LcWs3WnZqTTNiTXZ1OHdId1lEVlIwakJCZ3dGb0FVRU\#
        5DYlROZldjY2g5Sm9aMGM5MkhKcjJ0Yjhrd0VBWUtLb1pJaHZkalpBWUxBUVFDQlFBd0NnWUlLb1pJemowRUF3TURh\#
        QUF3WlFJeEFQTU5XSjZ1V0ZGV001WG9qQ1E5blZvQWxkZG45a3U4cjliVzJrbXEzMEIrcnJMc0x5cmd5VkJrUG5pek\#
        lVc042d0l3UDBhamc3K25ZZEdqNUZuRHdLbUEwZmpaQzg1Wm1mQkJSeUJFRnZpNU81VjBYa1RVM05tN1A1MkVnK25K\#
        cHJSdCIsIk1JSUNBVENDQVlpZ0F3SUJBZ0lCQWpBS0JnZ3Foa2pPUFFRREF6QXJNUm93R0FZRFZRUUREQkZYWldseU\#
        lFVjRZVzF3YkdVZ1VtOXZkREVOTUFzR0ExVUVDZ3dFVjJWcGNqQWVGdzB5TmpBeE1ERXdNREF3TURCYUZ3MDBNVEF4\#
        TURFd01EQXdNREJhTURNeElqQWdCZ05WQkFNTUdWZGxhWElnUlhoaGJYQnNaU0JKYm5SbGNtMWxaR2xoZEdVeERUQU\#
        xCZ05WQkFvTUJGZGxhWEl3ZGpBUUJnY3Foa2pPUFFJQkJnVXJnUVFBSWdOaUFBVDl0U0d0UElkdkxDSkRDY3FaTFpE\#
        c3dFNHozaXBWc0E3Wk9VcEU1QVdoMmlJQUNhSWZuc0drRE5RVERZN2pIZjlzbGtKcnk3QXZaaXZua2hnOFZjRitlbF\#
        AxcUxnMXZBRWhpbkZxQ0g0dW5YK0RsbGF4NlVXbWJTb08rSVJuRWt5amVEQjJNQklHQTFVZEV3RUIvd1FJTUFZQkFm\#
        OENBUUF3RGdZRFZSMFBBUUgvQkFRREFnRUdNQjBHQTFVZERnUVdCQlFRMEp0TTE5Wnh5SDBtaG5SejNZY212YTF2eV\#
        RBZkJnTlZIU01FR0RBV2dCU0pIdUd1eEpBRkV5NWttd2tWUFVKK3NRWWkrekFRQmdvcWhraUc5Mk5rQmdJQkJBSUZB\#
        REFLQmdncWhrak9QUVFEQXdObkFEQmtBakFqZkNsUllLSWgyY1ZvTmFuQnJGQ2UzQlFPVzBOWERsSG16aEVKQWEyeD\#
        RpSzNLMGNleHcwZkN5UVhIcVIweEhZQ01HY21JRXpqTjdqTTZwV3YyaUhYOEdWWGhNVHdaOWQrTVhudnlTMzlhU3NW\#
        WGdpWmF1MHlzOFNka3dSR254UFNmdz09IiwiTUlJQnhEQ0NBVXFnQXdJQkFnSUJBVEFLQmdncWhrak9QUVFEQXpBck\#
        1Sb3dHQVlEVlFRRERCRlhaV2x5SUVWNFlXMXdiR1VnVW05dmRERU5NQXNHQTFVRUNnd0VWMlZwY2pBZUZ3MHlOakF4\#
        TURFd01EQXdNREJhRncwME5qQXhNREV3TURBd01EQmFNQ3N4R2pBWUJnTlZCQU1NRVZkbGFYSWdSWGhoYlhCc1pTQl\#
        NiMjkwTVEwd0N3WURWUVFLREFSWFpXbHlNSFl3RUFZSEtvWkl6ajBDQVFZRks0RUVBQ0lEWWdBRUhCNDkrTS91OFRB\#
        ZnZ1TzJyMFhhQVpmelNmeERUUHBhSm0wM0pTQTJUdG5ocFZ1M09EaldOVi8xSTArOE0rVGNEeUJGcFFCUkNPd1hrNE\#
        JDNXhKaWk5cUs0aGRwOXd1MG03Mi91b3JPY1JaWTFpVDJnOWdybmZpU0ZWeFNwZTl6bzBJd1FEQVBCZ05WSFJNQkFm\#
        OEVCVEFEQVFIL01BNEdBMVVkRHdFQi93UUVBd0lCQmpBZEJnTlZIUTRFRmdRVWlSN2hyc1NRQlJNdVpKc0pGVDFDZn\#
        JFR0l2c3dDZ1lJS29aSXpqMEVBd01EYUFBd1pRSXhBSWcvZU1KRkg0NmxVSzlaODNBK3JJdGt1NGVlVTg3WXB0cldX\#
        eXdoQUtpVFRaeGJXTCsvNGl6NHNaSXhMOFJDMVFJd0RsLzkxWWVGVktnbzZlQ3pMcU9rSklyK09GMHMyTWtlamNJVk\#
        lCVXlQbU9xM1pWcGpvdTFxRzdNanlaN0Z3NmciXX0
        """#

    /// Notifications as the store would send them, with the signatures of the chain's leaf.
    static let signed: [Notification] = [
        // SUBSCRIBED / INITIAL_BUY
        Notification(
            key: "2000000000000101", milliseconds: 1_795_137_120_000,
            payload: #"""
                {"notificationType":"SUBSCRIBED","subtype":"INITIAL_BUY","notificationUUID":"5f0d8\#
                a1e-0001-4000-8000-000000000001","version":"2.0","signedDate":1795137120000,"data"\#
                :{"appAppleId":525463029,"bundleId":"com.example.rides","environment":"Production"\#
                ,"signedTransactionInfo":"<transaction>"}}
                """#,
            signature: #"""
                N8a89a0ai-Y8EPuey6VBhnsjB7BwfgxXRMmAcCi8q8-lAJYk4asmmfhR4vYdeMCnBlzl_S1OMxaKU3OwiO\#
                yZ9A
                """#,
            transaction: #"""
                {"transactionId":"2000000000000101","originalTransactionId":"2000000000000101","bu\#
                ndleId":"com.example.rides","productId":"rides.pro.monthly","type":"Auto-Renewable\#
                 Subscription","purchaseDate":1795137120000,"quantity":1,"inAppOwnershipType":"PUR\#
                CHASED","signedDate":1795137120000,"environment":"Production","storefront":"USA","\#
                currency":"USD","price":9990,"transactionReason":"PURCHASE"}
                """#,
            transactionSignature: #"""
                ldPq761Iioeg5rvb9dePg1qquZSm76RV0EG4Uw1SmZ-8JyttHy5VJUFiSU84666B9XQvhFoNeCaAZTwYYU\#
                B_EQ
                """#),
        // SUBSCRIBED / INITIAL_BUY
        Notification(
            key: "2000000000000102", milliseconds: 1_795_140_360_000,
            payload: #"""
                {"notificationType":"SUBSCRIBED","subtype":"INITIAL_BUY","notificationUUID":"5f0d8\#
                a1e-0001-4000-8000-000000000002","version":"2.0","signedDate":1795140360000,"data"\#
                :{"appAppleId":525463029,"bundleId":"com.example.rides","environment":"Production"\#
                ,"signedTransactionInfo":"<transaction>"}}
                """#,
            signature: #"""
                bWjRbTfy5YsPS6aLIdq9b1KHj79GyuRzgq2Y--V6gPLvx-dBOi_IFasYrshl2AR_2do7eOGSTkF2_0olBz\#
                XyMQ
                """#,
            transaction: #"""
                {"transactionId":"2000000000000102","originalTransactionId":"2000000000000102","bu\#
                ndleId":"com.example.rides","productId":"rides.pro.monthly","type":"Auto-Renewable\#
                 Subscription","purchaseDate":1795140360000,"quantity":1,"inAppOwnershipType":"PUR\#
                CHASED","signedDate":1795140360000,"environment":"Production","storefront":"USA","\#
                currency":"USD","price":0,"offerType":1,"offerDiscountType":"FREE_TRIAL","transact\#
                ionReason":"PURCHASE"}
                """#,
            transactionSignature: #"""
                Eb_Wk9l34hLviAnC__G-moUx9kNUG4hK3_shKkWNXbyvX4CkEgaHzL0aRe6-NXIy9XJvF23KaBYw1-w9oe\#
                GS6A
                """#),
        // SUBSCRIBED / INITIAL_BUY
        Notification(
            key: "2000000000000103", milliseconds: 1_795_145_040_000,
            payload: #"""
                {"notificationType":"SUBSCRIBED","subtype":"INITIAL_BUY","notificationUUID":"5f0d8\#
                a1e-0001-4000-8000-000000000003","version":"2.0","signedDate":1795145040000,"data"\#
                :{"appAppleId":525463029,"bundleId":"com.example.rides","environment":"Production"\#
                ,"signedTransactionInfo":"<transaction>"}}
                """#,
            signature: #"""
                JSEV9zT3gPbVyFkhZRElQR8lRi4OhdlcgIqYp-8bRFPOJqpACTuE_3kKeaty8W_aNjz2qJXzJ918omemxF\#
                XqJQ
                """#,
            transaction: #"""
                {"transactionId":"2000000000000103","originalTransactionId":"2000000000000103","bu\#
                ndleId":"com.example.rides","productId":"rides.pro.yearly","type":"Auto-Renewable \#
                Subscription","purchaseDate":1795145040000,"quantity":1,"inAppOwnershipType":"PURC\#
                HASED","signedDate":1795145040000,"environment":"Production","storefront":"DEU","c\#
                urrency":"EUR","price":59990,"offerType":3,"offerIdentifier":"LAUNCH26","offerDisc\#
                ountType":"PAY_UP_FRONT","transactionReason":"PURCHASE"}
                """#,
            transactionSignature: #"""
                rzy-i934qlH-5wPIALk4jz7WB5InxZLSJs9BqUiOqHmhuD9-LXiba_3rLI1056tsoPdDLSSKzsZpFGKEmx\#
                6zjg
                """#),
        // DID_RENEW
        Notification(
            key: "2000000000000104", milliseconds: 1_795_147_200_000,
            payload: #"""
                {"notificationType":"DID_RENEW","notificationUUID":"5f0d8a1e-0001-4000-8000-000000\#
                000004","version":"2.0","signedDate":1795147200000,"data":{"appAppleId":525463029,\#
                "bundleId":"com.example.rides","environment":"Production","signedTransactionInfo":\#
                "<transaction>"}}
                """#,
            signature: #"""
                rpJ5AAgBtYaj6N9ZQLM_xdfRxSm5lOGeLF5d9GxjrebIvTets2VgyR-a4INAQxAkIcRgG9q3vaXS0sSTD1\#
                1wOw
                """#,
            transaction: #"""
                {"transactionId":"2000000000000114","originalTransactionId":"2000000000000104","bu\#
                ndleId":"com.example.rides","productId":"rides.pro.monthly","type":"Auto-Renewable\#
                 Subscription","purchaseDate":1795147200000,"quantity":1,"inAppOwnershipType":"PUR\#
                CHASED","signedDate":1795147200000,"environment":"Production","storefront":"USA","\#
                currency":"USD","price":9990,"transactionReason":"RENEWAL"}
                """#,
            transactionSignature: #"""
                a-Jm_H1TnDzDf2XA9GfGH4TCi2wIg751lzdOm6HDVBBVzz3s8nPoaGnbloeXUMasDu3HaLSM7h31rn0Q2L\#
                FBFQ
                """#),
        // DID_RENEW / BILLING_RECOVERY
        Notification(
            key: "2000000000000105", milliseconds: 1_795_152_600_000,
            payload: #"""
                {"notificationType":"DID_RENEW","subtype":"BILLING_RECOVERY","notificationUUID":"5\#
                f0d8a1e-0001-4000-8000-000000000005","version":"2.0","signedDate":1795152600000,"d\#
                ata":{"appAppleId":525463029,"bundleId":"com.example.rides","environment":"Product\#
                ion","signedTransactionInfo":"<transaction>"}}
                """#,
            signature: #"""
                e030YsnaYqMymWPwwQK0ud6uoOhrcdk5G4WRaM_ap0FUahE84Q1-JBqOXGO12kqhzQHQ-KC_hu4ERnlVgx\#
                idnA
                """#,
            transaction: #"""
                {"transactionId":"2000000000000115","originalTransactionId":"2000000000000105","bu\#
                ndleId":"com.example.rides","productId":"rides.pro.monthly","type":"Auto-Renewable\#
                 Subscription","purchaseDate":1795152600000,"quantity":1,"inAppOwnershipType":"PUR\#
                CHASED","signedDate":1795152600000,"environment":"Production","storefront":"USA","\#
                currency":"USD","price":9990,"transactionReason":"RENEWAL"}
                """#,
            transactionSignature: #"""
                12kjIsPJQaoYOaciXxuh3542palk-_r6BBTI8sYed2aFj3QzYyeQF1gqy21OiANHi-ac60fos2rN1opJ3k\#
                v12w
                """#),
        // DID_FAIL_TO_RENEW / GRACE_PERIOD
        Notification(
            key: "2000000000000106", milliseconds: 1_795_154_400_000,
            payload: #"""
                {"notificationType":"DID_FAIL_TO_RENEW","subtype":"GRACE_PERIOD","notificationUUID\#
                ":"5f0d8a1e-0001-4000-8000-000000000006","version":"2.0","signedDate":179515440000\#
                0,"data":{"appAppleId":525463029,"bundleId":"com.example.rides","environment":"Pro\#
                duction","signedTransactionInfo":"<transaction>"}}
                """#,
            signature: #"""
                VuJ6nUDoPQijeWiN2Ep0AT4DcAXf77kGpdM26KYYWzR5fkspQJ39OYCISN853P9plg_oZ1lwdzGYaou7zG\#
                3fPw
                """#,
            transaction: #"""
                {"transactionId":"2000000000000106","originalTransactionId":"2000000000000106","bu\#
                ndleId":"com.example.rides","productId":"rides.pro.monthly","type":"Auto-Renewable\#
                 Subscription","purchaseDate":1792540800000,"quantity":1,"inAppOwnershipType":"PUR\#
                CHASED","signedDate":1795154400000,"environment":"Production","storefront":"USA","\#
                currency":"USD","price":9990,"transactionReason":"PURCHASE"}
                """#,
            transactionSignature: #"""
                ugrUZTHYJUuQdlRlLsCKQDBrG9AewupBogwRx5tJaB_Oar8XoxheP3tcH0jkGY4cUz8xY5I1XAAJaHoj3W\#
                D7HQ
                """#),
        // DID_CHANGE_RENEWAL_STATUS / AUTO_RENEW_DISABLED
        Notification(
            key: "2000000000000101", milliseconds: 1_795_159_080_000,
            payload: #"""
                {"notificationType":"DID_CHANGE_RENEWAL_STATUS","subtype":"AUTO_RENEW_DISABLED","n\#
                otificationUUID":"5f0d8a1e-0001-4000-8000-000000000007","version":"2.0","signedDat\#
                e":1795159080000,"data":{"appAppleId":525463029,"bundleId":"com.example.rides","en\#
                vironment":"Production","signedTransactionInfo":"<transaction>"}}
                """#,
            signature: #"""
                UJ1KQOIhJDmJ1wap4Nm9eSHmm-Xb2yEXZFtDOmN9RYtd7Dae_F0t1Td2H-mAYo1ix-Aax_yXzlLJ1Z-j8B\#
                HUhA
                """#,
            transaction: #"""
                {"transactionId":"2000000000000101","originalTransactionId":"2000000000000101","bu\#
                ndleId":"com.example.rides","productId":"rides.pro.monthly","type":"Auto-Renewable\#
                 Subscription","purchaseDate":1795137120000,"quantity":1,"inAppOwnershipType":"PUR\#
                CHASED","signedDate":1795159080000,"environment":"Production","storefront":"USA","\#
                currency":"USD","price":9990,"transactionReason":"PURCHASE"}
                """#,
            transactionSignature: #"""
                AZtI1Rs37yTgUYTXKGsbZQmfQZBW6gL-iAUHUSawNWC859GbKZlKJfiEtq40Xfhkb-kPiWAy7EZvARFSDN\#
                rszw
                """#),
        // EXPIRED / VOLUNTARY
        Notification(
            key: "2000000000000107", milliseconds: 1_795_161_600_000,
            payload: #"""
                {"notificationType":"EXPIRED","subtype":"VOLUNTARY","notificationUUID":"5f0d8a1e-0\#
                001-4000-8000-000000000008","version":"2.0","signedDate":1795161600000,"data":{"ap\#
                pAppleId":525463029,"bundleId":"com.example.rides","environment":"Production","sig\#
                nedTransactionInfo":"<transaction>"}}
                """#,
            signature: #"""
                MNzGVWZHbB89fN31liu3AGraWnwoQv3uxoqEChx2F-kdX0pLj-AGLtAK1FTanwCJ5HLRm94Z7kPKEMDBZ9\#
                r8mw
                """#,
            transaction: #"""
                {"transactionId":"2000000000000107","originalTransactionId":"2000000000000107","bu\#
                ndleId":"com.example.rides","productId":"rides.pro.monthly","type":"Auto-Renewable\#
                 Subscription","purchaseDate":1792454400000,"quantity":1,"inAppOwnershipType":"PUR\#
                CHASED","signedDate":1795161600000,"environment":"Production","storefront":"USA","\#
                currency":"USD","price":9990,"transactionReason":"PURCHASE"}
                """#,
            transactionSignature: #"""
                CkyBE648mgjuxumjQHt2WKA-ku9N5Lw0-yIEFKmH5K4_ByNlUVXFhrxFGKwW6JChZ1BTlE87RzSSWabNXZ\#
                Rpkg
                """#),
        // REFUND
        Notification(
            key: "2000000000000104", milliseconds: 1_795_167_360_000,
            payload: #"""
                {"notificationType":"REFUND","notificationUUID":"5f0d8a1e-0001-4000-8000-000000000\#
                009","version":"2.0","signedDate":1795167360000,"data":{"appAppleId":525463029,"bu\#
                ndleId":"com.example.rides","environment":"Production","signedTransactionInfo":"<t\#
                ransaction>"}}
                """#,
            signature: #"""
                CXgj1hO6H1U7E75yi9zsjGNy38nJ03VMGUouAy6_kU_9-Kurgs4xAo4hgfuBVhv3TpCIE5dmWV3ntnJeG3\#
                gMPA
                """#,
            transaction: #"""
                {"transactionId":"2000000000000114","originalTransactionId":"2000000000000104","bu\#
                ndleId":"com.example.rides","productId":"rides.pro.monthly","type":"Auto-Renewable\#
                 Subscription","purchaseDate":1795147200000,"quantity":1,"inAppOwnershipType":"PUR\#
                CHASED","signedDate":1795167360000,"environment":"Production","storefront":"USA","\#
                currency":"USD","price":9990,"transactionReason":"RENEWAL","revocationDate":179516\#
                7000000,"revocationReason":0,"revocationType":"REFUND_FULL","revocationPercentage"\#
                :100000}
                """#,
            transactionSignature: #"""
                lRooKkT4-RuK-xLJvmO4DZ83KHBhGc1dNDXRjZUXZlVruQRDhkxxJN2_k7TVsdVk6PC4PWP5RWKfg3BHh3\#
                NQcQ
                """#),
        // REFUND_REVERSED
        Notification(
            key: "2000000000000104", milliseconds: 1_795_187_520_000,
            payload: #"""
                {"notificationType":"REFUND_REVERSED","notificationUUID":"5f0d8a1e-0001-4000-8000-\#
                000000000010","version":"2.0","signedDate":1795187520000,"data":{"appAppleId":5254\#
                63029,"bundleId":"com.example.rides","environment":"Production","signedTransaction\#
                Info":"<transaction>"}}
                """#,
            signature: #"""
                CDunS100GcBTf6Yw91y12by1AH23Z5hgKwFQMQ39SbD1mcxqsOp9x-i1W54UfQPkMN2MZmVxBaOjUubJP4\#
                Mxyg
                """#,
            transaction: #"""
                {"transactionId":"2000000000000114","originalTransactionId":"2000000000000104","bu\#
                ndleId":"com.example.rides","productId":"rides.pro.monthly","type":"Auto-Renewable\#
                 Subscription","purchaseDate":1795147200000,"quantity":1,"inAppOwnershipType":"PUR\#
                CHASED","signedDate":1795187520000,"environment":"Production","storefront":"USA","\#
                currency":"USD","price":9990,"transactionReason":"RENEWAL"}
                """#,
            transactionSignature: #"""
                9hvqqXGbwb9z1R9stkCpJH3IWSp0EQG_oBVQz2IpUY7edxZdZFV9KJy6suVlRM_jvpfmfErQ6gbAnlLIs6\#
                Vrxw
                """#),
        // REFUND
        Notification(
            key: "2000000000000101", milliseconds: 1_795_190_400_000,
            payload: #"""
                {"notificationType":"REFUND","notificationUUID":"5f0d8a1e-0001-4000-8000-000000000\#
                011","version":"2.0","signedDate":1795190400000,"data":{"appAppleId":525463029,"bu\#
                ndleId":"com.example.rides","environment":"Production","signedTransactionInfo":"<t\#
                ransaction>"}}
                """#,
            signature: #"""
                M1NosxBCfg0cRqpqXtZwNySsgIKXihgbAeGVFV9UubFf7iQeIt3oW8fsmD3bbF4aOXGJQltekerlaXc2ME\#
                fIag
                """#,
            transaction: #"""
                {"transactionId":"2000000000000101","originalTransactionId":"2000000000000101","bu\#
                ndleId":"com.example.rides","productId":"rides.pro.monthly","type":"Auto-Renewable\#
                 Subscription","purchaseDate":1795137120000,"quantity":1,"inAppOwnershipType":"PUR\#
                CHASED","signedDate":1795190400000,"environment":"Production","storefront":"USA","\#
                currency":"USD","price":9990,"transactionReason":"PURCHASE","revocationDate":17951\#
                90040000,"revocationReason":1,"revocationType":"REFUND_PRORATED","revocationPercen\#
                tage":50000}
                """#,
            transactionSignature: #"""
                EB_MCrVkVnlmtKUKvqiNFw2oBdk7MT73kJX7o8tOf3QgOeFZDZQdh0lgcK9COc9rSzvKz50dzKJp5u_W0y\#
                qFGQ
                """#),
        // ONE_TIME_CHARGE
        Notification(
            key: "2000000000000108", milliseconds: 1_795_195_800_000,
            payload: #"""
                {"notificationType":"ONE_TIME_CHARGE","notificationUUID":"5f0d8a1e-0001-4000-8000-\#
                000000000012","version":"2.0","signedDate":1795195800000,"data":{"appAppleId":5254\#
                63029,"bundleId":"com.example.rides","environment":"Production","signedTransaction\#
                Info":"<transaction>"}}
                """#,
            signature: #"""
                5aHUV0EiXvdhAjNDZy4TSoBeN1y4cBR7bfyHCZb1y52CTrjt7kitNep77rWdYBNgyIJ8DoEYilAVtDtx2A\#
                RhvQ
                """#,
            transaction: #"""
                {"transactionId":"2000000000000108","originalTransactionId":"2000000000000108","bu\#
                ndleId":"com.example.rides","productId":"rides.credit.10","type":"Consumable","pur\#
                chaseDate":1795195800000,"quantity":1,"inAppOwnershipType":"PURCHASED","signedDate\#
                ":1795195800000,"environment":"Production","storefront":"USA","currency":"USD","pr\#
                ice":4990,"transactionReason":"PURCHASE"}
                """#,
            transactionSignature: #"""
                Rp3w_yCCRpvYPpEihYk6lLvXieVFwaFEuJdgICojxu4DyndwZdq6DhOPrlLoxMlNd4YMxR0oN8RQHHiWlD\#
                bfyw
                """#),
        // TEST
        Notification(
            key: "5f0d8a1e-0001-4000-8000-000000000013", milliseconds: 1_795_197_600_000,
            payload: #"""
                {"notificationType":"TEST","notificationUUID":"5f0d8a1e-0001-4000-8000-00000000001\#
                3","version":"2.0","signedDate":1795197600000,"data":{"appAppleId":525463029,"bund\#
                leId":"com.example.rides","environment":"Production"}}
                """#,
            signature: #"""
                0Mp7qCC7TbLkfC5_yvrP5wLztD_L2ieKhxZfFdJ2sRpUXDmouVVqQIHA9ujKd9hxs_QFwuqVqPjJiXNlZb\#
                5hhw
                """#),
    ]
}
