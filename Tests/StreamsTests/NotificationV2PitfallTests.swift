import Streams
import Testing

@Suite("Pitfalls of version 2")
struct NotificationV2PitfallTests {
    private func measures(
        _ type: String, _ subtype: String? = nil,
        with changes: KeyValuePairs<String, Document?> = [:]
    ) throws -> [String: Int64] {
        let result = try foldNotifications([try v2(type, subtype, with: changes)])
        #expect(result.refused == [])
        return result.measures
    }

    @Test("an unknown type or subtype is counted as other, not rejected")
    func unknownTypes() throws {
        let types =
            [
                ("METADATA_UPDATE", "X"), ("RENEWAL_EXTENSION", nil), ("PRICE_CHANGE", "X"),
                ("EXTERNAL_PURCHASE_TOKEN", "X"), ("EXPIRED", "SOMETHING"), ("REVOKE", "X"),
                ("PRICE_INCREASE", nil), ("DID_CHANGE_RENEWAL_STATUS", nil), ("did_renew", nil),
            ] as [(String, String?)]
        for (type, subtype) in types {
            #expect(try measures(type, subtype) == ["other": 1], "\(type)")
        }
    }

    @Test("a missing or unexpected subtype counts as other, its gross still by type")
    func grossByType() throws {
        let price: Int64 = 9_990_000
        #expect(try measures("SUBSCRIBED") == ["other": 1, "gross_micros": price])
        #expect(try measures("DID_RENEW", "NEW") == ["other": 1, "gross_micros": price])
        #expect(try measures("ONE_TIME_CHARGE", "NEW") == ["other": 1, "gross_micros": price])
        #expect(try measures("REFUND", "NEW") == ["other": 1, "refunded_micros": price])
        #expect(try measures("DID_CHANGE_RENEWAL_PREF", "NEW") == ["other": 1])
        #expect(try measures("SUBSCRIBED", "") == ["other": 1, "gross_micros": price])
    }

    @Test("EXPIRED without a subtype is an expiration of another kind")
    func expired() throws {
        #expect(try measures("EXPIRED") == ["expirations_other": 1])
        #expect(try measures("EXPIRED", "PRODUCT_NOT_FOR_SALE") == ["expirations_other": 1])
    }

    @Test("a retry has the same notificationUUID, and is a duplicate whatever else it says")
    func retries() throws {
        let result = try foldNotifications([
            try v2("DID_RENEW", uuid: "a"),
            try v2("EXPIRED", uuid: "a", with: ["signedDate": 1_795_238_499_000]),
            try v2("DID_RENEW", uuid: "b"),
        ])
        #expect(result.outcome(.duplicates) == 1)
        #expect(result.count("renewals") == 2)
    }

    @Test("price is in thousandths of the unit for every currency, and absent for family members")
    func prices() throws {
        let info = "data.signedTransactionInfo"
        #expect(
            try measures("DID_RENEW", with: ["\(info).price": 300_000, "\(info).currency": "JPY"])
                == ["renewals": 1, "gross_micros": 300_000_000])
        #expect(
            try measures(
                "DID_RENEW",
                with: ["\(info).price": nil, "\(info).inAppOwnershipType": "FAMILY_SHARED"])
                == ["renewals": 1, "unpriced_sales": 1])
        let half = try v2("DID_RENEW", with: ["\(info).price": 0.5])
        #expect(try foldNotifications([half]).reasons == ["wrong_type"])
    }

    @Test("only a free trial is a trial")
    func trials() throws {
        let info = "data.signedTransactionInfo"
        for (discount, trials) in [("FREE_TRIAL", 1), ("PAY_AS_YOU_GO", 0)] as [(String, Int64)] {
            let result = try foldNotifications([
                try v2(
                    "SUBSCRIBED", "INITIAL_BUY",
                    with: [
                        "\(info).offerType": 1, "\(info).price": 0,
                        "\(info).offerDiscountType": .string(discount),
                    ])
            ])
            #expect(result.count("trials", where: ["offer": "introductory"]) == trials)
            #expect(result.count("initial_buys", where: ["offer": "introductory"]) == 1)
        }
        #expect(
            try measures(
                "SUBSCRIBED", "RESUBSCRIBE", with: ["\(info).offerDiscountType": "FREE_TRIAL"])
                == ["resubscribes": 1, "gross_micros": 9_990_000])
    }

    @Test("offers of version 2 carry their kind and id")
    func offers() throws {
        let info = "data.signedTransactionInfo"
        let kinds: [(Int64, Field)] = [
            (1, "introductory"), (2, "promotional:o"), (3, "code:o"), (4, "win_back:o"),
            (5, "retention:o"), (9, ""),
        ]
        for (kind, offer) in kinds {
            let result = try foldNotifications([
                try v2(
                    "DID_RENEW",
                    with: ["\(info).offerType": .raw("\(kind)"), "\(info).offerIdentifier": "o"])
            ])
            let row = result.rows("store-notifications").first
            #expect(row?["offer"] ?? "" == offer)
        }
    }

    @Test("identity lies in data, summary, appData or externalPurchaseToken")
    func identities() throws {
        let holder: Document = [
            "bundleId": .string(Notifications.bundle), "environment": "Sandbox",
            "appAppleId": 525_463_029,
        ]
        func environment(_ name: String, _ value: Document) throws -> Field? {
            let result = try foldNotifications([
                try v2("NEW_TYPE", with: ["data": nil, "\(name)": value])
            ])
            #expect(result.count("other", where: ["bundle_id": "com.example.puzzle"]) == 1)
            return result.rows("store-notifications").first?["environment"]
        }
        #expect(try environment("summary", holder) == "Sandbox")
        #expect(try environment("appData", holder) == "Sandbox")
        let token = holder.with(["environment": nil])
        #expect(
            try environment(
                "externalPurchaseToken", token.with(["externalPurchaseId": "SANDBOX_1"]))
                == "Sandbox")
        #expect(
            try environment("externalPurchaseToken", token.with(["externalPurchaseId": "1"]))
                == "Production")
        let product = try foldNotifications([
            try v2(
                "RENEWAL_EXTENSION", "SUMMARY",
                with: ["data": nil, "summary": holder.with(["productId": "monthly"])])
        ])
        #expect(
            product.rows("store-notifications") == [
                [
                    "environment": "Sandbox", "bundle_id": "com.example.puzzle",
                    "product_id": "monthly", "renewal_extension_summaries": 1,
                ]
            ])
    }

    @Test("an app transaction is judged at its creation, for it has no signedDate; nothing else is")
    func appTransaction() throws {
        func result(_ created: Int64) throws -> FoldResult {
            try foldNotifications([
                try v2(
                    "RESCIND_CONSENT",
                    with: [
                        "data": nil,
                        "appData": [
                            "bundleId": .string(Notifications.bundle), "environment": "Sandbox",
                            "signedAppTransactionInfo": [
                                "bundleId": .string(Notifications.bundle),
                                "receiptType": "Sandbox",
                                "receiptCreationDate": .raw("\(created)"),
                            ],
                        ],
                    ])
            ])
        }
        #expect(try result(1_795_238_412_000).measures == ["consents_rescinded": 1])
        #expect(try result(1_600_000_000_000).outcome(.untrusted) == 1)
        let other = try v2(
            "TEST", with: ["signedDate": nil, "receiptCreationDate": 1_795_238_412_000])
        #expect(try foldNotifications([other]).outcome(.untrusted) == 1)
    }

    @Test("without a transaction the product is that of the renewal")
    func renewalOnly() throws {
        let result = try foldNotifications([
            try v2("EXPIRED", "VOLUNTARY", with: ["data.signedTransactionInfo": nil])
        ])
        let row = try #require(result.rows("store-notifications").first)
        #expect(row["product_id"] == "monthly")
        #expect(row["expirations_voluntary"] == 1)
        // Nobody says whose it is.
        #expect(row["ownership"] == nil)
    }

    @Test("a missing id or type, and members of other types, reject what is trusted")
    func faults() throws {
        let cases: [(String, Document?, String)] = [
            ("notificationUUID", nil, "missing_field"), ("notificationUUID", "", "missing_field"),
            ("notificationUUID", 5, "wrong_type"), ("notificationType", .null, "missing_field"),
            ("subtype", 5, "wrong_type"), ("data.signedTransactionInfo.productId", 5, "wrong_type"),
            ("data.signedTransactionInfo.price", "9990", "wrong_type"),
        ]
        for (path, value, reason) in cases {
            let record = try v2("DID_RENEW", with: [path: value])
            #expect(try foldNotifications([record]).reasons == [reason], "\(path)")
        }
    }

    @Test("a transaction id of another type is refused by what came, as any text would do")
    func typesOfTransactionIDs() throws {
        for (value, words) in [
            ("true", "is true or false"), ("{}", "is an object"), ("[]", "is an array"),
        ] {
            let renewal = try v2(
                "DID_RENEW", with: ["data.signedTransactionInfo.transactionId": .raw(value)])
            let refused = try foldNotifications([renewal]).refused
            #expect(refused.map(\.reason) == ["wrong_type"])
            #expect(
                refused.first?.detail == "transactionId \(words), and not a number or a string",
                "\(refused)")
        }
    }

    @Test("members of a transaction that a type does not count by are not judged")
    func unreadMembers() throws {
        let info = "data.signedTransactionInfo"
        let changes: KeyValuePairs<String, Document?> = [
            "\(info).transactionId": .raw("9223372036854775808"),
            "\(info).revocationDate": "x", "\(info).revocationPercentage": -1,
        ]
        let failure = try v2("DID_FAIL_TO_RENEW", with: changes)
        #expect(try foldNotifications([failure]).measures == ["renewal_failures": 1])
        for type in ["DID_RENEW", "CONSUMPTION_REQUEST"] {
            #expect(
                try foldNotifications([try v2(type, with: changes)]).reasons == ["out_of_range"])
        }
        let refund = try v2("REFUND", with: changes)
        #expect(try foldNotifications([refund]).reasons == ["wrong_type"])
        let price: KeyValuePairs<String, Document?> = ["\(info).price": -1]
        let expired = try v2("EXPIRED", "VOLUNTARY", with: price)
        #expect(try foldNotifications([expired]).measures == ["expirations_voluntary": 1])
        let reversed = try v2("REFUND_REVERSED", with: price)
        #expect(try foldNotifications([reversed]).measures == ["refund_reversals": 1])
    }
}
