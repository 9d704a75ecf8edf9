import Streams
import Testing

@Suite("Pitfalls of version 1")
struct NotificationV1PitfallTests {
    private func measures(_ records: [TestRecord]) throws -> [String: Int64] {
        let result = try foldNotifications(records)
        #expect(result.refused == [])
        return result.measures
    }

    @Test("PROD and Production are one environment")
    func environmentNames() throws {
        let records = ["PROD", "Production", "Sandbox"].enumerated().map { number, name in
            v1(
                "DID_RENEW", [Notifications.listed.with(["transaction_id": .raw("\(number)")])],
                with: ["environment": .string(name)])
        }
        let result = try foldNotifications(records)
        #expect(result.count("renewals", where: ["environment": "Production"]) == 2)
        #expect(result.count("renewals", where: ["environment": "Sandbox"]) == 1)
        let unknown = v1("DID_RENEW", with: ["environment": "Prod"])
        #expect(try foldNotifications([unknown]).reasons == ["untrusted"])
        let absent = v1("DID_RENEW", with: ["environment": nil])
        #expect(
            try foldNotifications([absent]).count(
                "renewals", where: ["environment": "Production"]) == 1)
        let nowhere: [KeyValuePairs<String, Document?>] = [
            ["environment": nil, "unified_receipt.environment": nil], ["environment": ""],
        ]
        for changes in nowhere {
            let record = v1("DID_RENEW", with: changes)
            #expect(try foldNotifications([record]).reasons == ["missing_field"])
        }
    }

    @Test("an empty bundle id is a missing one: the withdrawn object's counts")
    func emptyBundle() throws {
        let record = v1(
            "DID_RENEW",
            with: ["bid": "", "latest_receipt_info": ["bid": .string(Notifications.bundle)]])
        #expect(try measures([record]) == ["renewals": 1])
    }

    @Test("a date of a status change is judged only where it is read")
    func foreignStatusChange() throws {
        let changes: KeyValuePairs<String, Document?> = [
            "auto_renew_status": "true", "auto_renew_status_change_date_ms": "soon",
        ]
        #expect(try measures([v1("DID_RENEW", with: changes)]) == ["renewals": 1])
        let change = v1("DID_CHANGE_RENEWAL_STATUS", with: changes)
        #expect(try foldNotifications([change]).reasons == ["wrong_type"])
    }

    @Test("bodies of 2019 name their bundle within the withdrawn object, which is no array")
    func bodiesOf2019() throws {
        for member in ["latest_receipt_info", "latest_expired_receipt_info"] {
            let body: Document = [
                "notification_type": "INTERACTIVE_RENEWAL", "environment": "PROD",
                "password": .string(Notifications.secret),
                member: Notifications.listed.with([
                    "bid": .string(Notifications.bundle), "bvrs": "3",
                    "expires_date": "1795843200000",
                    "expires_date_formatted": "2026-11-28 05:20:00 Etc/GMT",
                ]),
            ]
            let result = try foldNotifications([TestRecord(body, type: "appstore.notification.v1")])
            #expect(
                result.count(
                    "renewals", where: ["product_id": "monthly", "bundle_id": "com.example.puzzle"])
                    == 1)
        }
    }

    @Test("auto_renew_status is a word, not 0 or 1, and without it the switch counts as other")
    func autoRenewStatus() throws {
        func count(_ status: Document?) throws -> [String: Int64] {
            try measures([v1("DID_CHANGE_RENEWAL_STATUS", with: ["auto_renew_status": status])])
        }
        #expect(try count("true") == ["auto_renew_on": 1])
        #expect(try count("false") == ["auto_renew_off": 1])
        #expect(try count("0") == ["auto_renew_off": 1])
        #expect(try count(true) == ["auto_renew_on": 1])
        #expect(try count(0) == ["auto_renew_off": 1])
        #expect(try count(nil) == ["other": 1])
        let word = v1("DID_CHANGE_RENEWAL_STATUS", with: ["auto_renew_status": "maybe"])
        #expect(try foldNotifications([word]).reasons == ["out_of_range"])
    }

    @Test(
        "original_transaction_id is a number at the top and a string elsewhere: both mean the same")
    func numbersAndStrings() throws {
        let strings = cancelled("30", at: 7)
        let numbers: Document = [
            "transaction_id": 30, "original_transaction_id": 10, "product_id": "monthly",
            "purchase_date_ms": 1_795_238_400_000, "cancellation_date_ms": 7,
        ]
        let records = [
            v1("REFUND", [strings]), v1("REFUND", [numbers]),
            v1("REFUND", [strings], with: ["original_transaction_id": "10"]),
        ]
        let result = try foldNotifications(records)
        #expect(result.outcome(.duplicates) == 2)
        #expect(result.measures == ["refunds": 1])
    }

    @Test("expiration_intent may be a number or a string, and status the word OK")
    func loosePrimitives() throws {
        let record = v1(
            "DID_FAIL_TO_RENEW",
            with: [
                "expiration_intent": 2, "unified_receipt.status": "OK",
                "unified_receipt.pending_renewal_info": [["expiration_intent": "2"]],
            ])
        #expect(try measures([record]) == ["renewal_failures": 1])
    }

    @Test("unified_receipt may be absent, or hold only environment and latest_receipt")
    func partialReceipt() throws {
        for receipt: Document? in [nil, .null, ["environment": "Production"], [:]] {
            let body = v1("DID_RECOVER", with: ["unified_receipt": receipt])
            let result = try foldNotifications([body])
            #expect(result.rows("store-notifications").count == 1)
            #expect(result.count("recoveries", where: ["bundle_id": "com.example.puzzle"]) == 1)
        }
    }

    @Test("version 1 has no price, currency or storefront")
    func noPrices() throws {
        let row = try foldNotifications([
            v1("INITIAL_BUY", with: ["price": 9990, "currency": "USD"])
        ]).rows("store-notifications")
        #expect(
            row == [
                [
                    "environment": "Production", "bundle_id": "com.example.puzzle",
                    "product_id": "monthly", "ownership": "purchased", "initial_buys": 1,
                ]
            ])
    }

    @Test("CANCEL alone is no refund: is_upgraded of the cancelled transaction tells the two apart")
    func cancelOfUpgrade() throws {
        let upgraded = cancelled("30", at: 1, with: ["is_upgraded": "true"])
        #expect(try measures([v1("CANCEL", [upgraded])]) == ["upgrade_cancellations": 1])
        let refunded = cancelled("30", at: 1, with: ["is_upgraded": "false"])
        #expect(try measures([v1("CANCEL", [refunded])]) == ["refunds": 1])
    }

    @Test("one customer act, several notifications: a support refund is subtracted once")
    func oneAct() throws {
        let cancelled = [cancelled("30", at: 1)]
        let records = [
            v1("CANCEL", cancelled),
            v1(
                "DID_CHANGE_RENEWAL_STATUS", cancelled,
                with: ["auto_renew_status": "false", "auto_renew_status_change_date_ms": "1"]),
        ]
        #expect(try measures(records) == ["refunds": 1, "auto_renew_off": 1])
    }

    @Test("the array is history: old refunds in later bodies of any type change no number")
    func historyRepeats() throws {
        let first = cancelled("30", at: 1)
        let second = cancelled("31", at: 2)
        let records = [
            v1("REFUND", [first]), v1("DID_RENEW", [first]), v1("REFUND", [second, first]),
            v1("CANCEL", [first, second]),
            v1("REFUND", [first, second], with: ["unified_receipt.status": "OK"]),
        ]
        let result = try foldNotifications(records)
        #expect(result.measures == ["refunds": 2, "renewals": 1])
        #expect(result.outcome(.accepted) == 4)
        let replayed = try foldNotifications(records + records.reversed() + records)
        #expect(replayed.measures == result.measures)
        #expect(replayed.rows("store-notifications") == result.rows("store-notifications"))
    }

    @Test("a body has no id: it is its type, bundle, line, transaction and instant")
    func syntheticID() throws {
        let base = v1("DID_RENEW")
        func isAnother(_ record: TestRecord) throws -> Bool {
            try foldNotifications([base, record]).outcome(.accepted) == 2
        }
        // What changes from one attempt to the next is no part of it.
        #expect(
            try !isAnother(
                v1("DID_RENEW", with: ["unified_receipt.latest_receipt": "MIIV", "bvrs": "9"])))
        let older = Notifications.listed.with([
            "transaction_id": "29", "purchase_date_ms": "1795000000000",
        ])
        #expect(try !isAnother(v1("DID_RENEW", [older, Notifications.listed])))
        // A purchase of another line is not the newest of this one.
        let foreign = Notifications.listed.with([
            "original_transaction_id": "99", "purchase_date_ms": "1799000000000",
        ])
        #expect(try !isAnother(v1("DID_RENEW", [foreign, Notifications.listed])))
        #expect(try isAnother(v1("INTERACTIVE_RENEWAL")))
        for (member, value) in [("transaction_id", "31"), ("purchase_date_ms", "1795238400001")] {
            let listed = Notifications.listed.with([member: .string(value)])
            #expect(try isAnother(v1("DID_RENEW", [listed])), "\(member)")
        }
        let line = Notifications.listed.with(["original_transaction_id": "11"])
        #expect(try isAnother(v1("DID_RENEW", [line], with: ["original_transaction_id": "11"])))
    }

    @Test("ties go to the first in the list")
    func ties() throws {
        let first = Notifications.listed.with(["product_id": "first"])
        let second = Notifications.listed.with(["product_id": "second", "transaction_id": "31"])
        let result = try foldNotifications([v1("DID_RENEW", [first, second])])
        #expect(result.count("renewals", where: ["product_id": "first"]) == 1)
    }

    @Test("the row of a status change is that of the newest purchase, its instant the change's")
    func statusChange() throws {
        let older = Notifications.listed.with([
            "product_id": "weekly", "transaction_id": "29", "purchase_date_ms": "1",
            "cancellation_date_ms": "9",
        ])
        func change(_ instant: String) -> TestRecord {
            v1(
                "DID_CHANGE_RENEWAL_STATUS", [older, Notifications.listed],
                with: [
                    "auto_renew_status": "true",
                    "auto_renew_status_change_date_ms": .string(instant),
                ])
        }
        // Between two attempts a purchase may have been made.
        let newer = Notifications.listed.with([
            "transaction_id": "31", "purchase_date_ms": "1799000000000",
        ])
        let retry = v1(
            "DID_CHANGE_RENEWAL_STATUS", [Notifications.listed, newer],
            with: ["auto_renew_status": "true", "auto_renew_status_change_date_ms": "5"])
        let result = try foldNotifications([change("5"), change("5"), change("6"), retry])
        #expect(result.count("auto_renew_on", where: ["product_id": "monthly"]) == 2)
        #expect(result.outcome(.duplicates) == 2)
    }

    @Test("REVOKE counts in the row of the newest cancelled transaction")
    func revoke() throws {
        let records = [
            v1(
                "REVOKE",
                [
                    Notifications.listed, cancelled("29", at: 3, with: ["product_id": "old"]),
                    cancelled("28", at: 4, with: ["product_id": "family"]),
                ])
        ]
        let result = try foldNotifications(records)
        #expect(result.count("family_revocations", where: ["product_id": "family"]) == 1)
        #expect(result.measures == ["family_revocations": 1])
    }

    @Test(
        "a cancelled transaction that was upgraded is an upgrade's cancellation, once, in a REVOKE too"
    )
    func revokedUpgrade() throws {
        let upgraded = cancelled("29", at: 3, with: ["is_upgraded": "true"])
        let records = ["REVOKE", "CANCEL"].map { v1($0, [upgraded]) }
        #expect(try measures(records) == ["upgrade_cancellations": 1])
    }

    @Test("a cancelled transaction whose id is no id is refused for what is wrong with it")
    func malformedTransactionID() throws {
        for (id, reason) in [
            (Document.raw("1.5"), "out_of_range"), (-1, "out_of_range"),
            (.raw("9223372036854775808"), "out_of_range"), (true, "wrong_type"),
            ("", "missing_field"), (.raw("null"), "missing_field"),
        ] {
            let record = v1("CANCEL", [cancelled("29", at: 3, with: ["transaction_id": id])])
            #expect(try foldNotifications([record]).reasons == [reason])
        }
    }

    @Test(
        "what is about a cancellation and has none is accepted and adds nothing",
        arguments: ["REFUND", "CANCEL", "REVOKE"])
    func withoutCancellation(_ type: String) throws {
        for listed in [[Notifications.listed], []] {
            let result = try foldNotifications([v1(type, listed)])
            #expect(result.outcome(.accepted) == 1)
            #expect(result.rows("store-notifications").isEmpty)
        }
        // Its newest purchase tells it from another.
        let newer = Notifications.listed.with([
            "transaction_id": "31", "purchase_date_ms": "1799000000000",
        ])
        let result = try foldNotifications([
            v1(type), v1(type), v1(type, [Notifications.listed, newer]),
        ])
        #expect(result.outcome(.accepted) == 2)
        #expect(result.outcome(.duplicates) == 1)
    }

    @Test("a body that names no line, no transaction and no date has no id, whatever its type")
    func nothing() throws {
        let bare: KeyValuePairs<String, Document?> = ["original_transaction_id": nil]
        for type in ["CANCEL", "DID_RENEW", "DID_CHANGE_RENEWAL_STATUS", "NEW"] {
            for listed in [[], [["product_id": "monthly"]]] as [[Document]] {
                let record = v1(type, listed, with: bare)
                #expect(try foldNotifications([record]).reasons == ["missing_field"], "\(type)")
            }
            let dated: Document = ["purchase_date_ms": "5"]
            let record = v1(type, [dated], with: bare)
            #expect(try foldNotifications([record]).outcome(.accepted) == 1, "\(type)")
        }
        // The date of a change that the body's type is not about is none.
        let foreign = v1(
            "DID_RENEW", [],
            with: ["original_transaction_id": nil, "auto_renew_status_change_date_ms": "5"])
        #expect(try foldNotifications([foreign]).reasons == ["missing_field"])
    }

    @Test("a listed cancellation comes before the order that the top level names")
    func listedFirst() throws {
        let order: KeyValuePairs<String, Document?> = ["web_order_line_item_id": 70]
        let named: KeyValuePairs<String, Document?> = [
            "web_order_line_item_id": "70", "cancellation_date_ms": "9",
        ]
        let bought = Notifications.listed.with(order)
        let both = v1(
            "CANCEL", [bought, cancelled("29", at: 3, with: ["product_id": "old"])], with: named)
        let result = try foldNotifications([both, v1("CANCEL", [bought], with: named)])
        #expect(result.count("refunds", where: ["product_id": "old"]) == 1)
        #expect(result.count("refunds", where: ["product_id": "monthly"]) == 1)
        // Of two transactions of one order the first is meant; one of another line never is.
        let foreign = bought.with(["original_transaction_id": "99", "product_id": "foreign"])
        let second = bought.with(["transaction_id": "31", "product_id": "second"])
        let tie = v1("CANCEL", [foreign, bought, second], with: named)
        #expect(
            try foldNotifications([tie]).count("refunds", where: ["product_id": "monthly"]) == 1)
        // Where the top level is not read, it is not judged.
        let odd: KeyValuePairs<String, Document?> = [
            "web_order_line_item_id": [], "cancellation_date_ms": "soon",
        ]
        #expect(try measures([v1("CANCEL", [cancelled("30", at: 1)], with: odd)]) == ["refunds": 1])
        let judged = v1(
            "CANCEL", with: ["web_order_line_item_id": "70", "cancellation_date_ms": "soon"])
        #expect(try foldNotifications([judged]).reasons == ["wrong_type"])
    }

    @Test("web_order_line_item_id and expires_date are absent for one-time products")
    func oneTimeProducts() throws {
        let bare: Document = [
            "transaction_id": "5", "original_transaction_id": "5", "product_id": "coins",
            "cancellation_date_ms": "8",
        ]
        let result = try foldNotifications([
            v1("REFUND", [bare], with: ["original_transaction_id": 5])
        ])
        #expect(result.count("refunds", where: ["product_id": "coins"]) == 1)
    }

    @Test("offers of version 1 have names of their own")
    func offers() throws {
        let cases: [(KeyValuePairs<String, Document?>, Field)] = [
            (["is_trial_period": "true"], "introductory"),
            (["is_in_intro_offer_period": "true"], "introductory"),
            (["promotional_offer_id": "p", "is_trial_period": "true"], "promotional:p"),
            (["offer_code_ref_name": "c"], "code:c"),
        ]
        for (changes, offer) in cases {
            let listed = Notifications.listed.with(changes)
            let result = try foldNotifications([v1("INITIAL_BUY", [listed])])
            #expect(result.count("initial_buys", where: ["offer": offer]) == 1)
            let isTrial = changes.contains { $0.key == "is_trial_period" }
            #expect(result.count("trials") == (isTrial ? 1 : 0))
        }
    }

    @Test("an unknown type counts as other; a missing one, ids beyond 64 bits and no words reject")
    func faults() throws {
        #expect(try measures([v1("SOMETHING_NEW")]) == ["other": 1])
        func reason(_ changes: KeyValuePairs<String, Document?>) throws -> [String] {
            try foldNotifications([v1("DID_RENEW", with: changes)]).reasons
        }
        #expect(try reason(["notification_type": nil]) == ["missing_field"])
        #expect(try reason(["notification_type": 5]) == ["wrong_type"])
        #expect(
            try reason(["original_transaction_id": .raw("9223372036854775808")])
                == ["out_of_range"])
        #expect(try reason(["unified_receipt": "x"]) == ["wrong_type"])
        #expect(try reason(["unified_receipt.latest_receipt_info": 5]) == ["wrong_type"])
        let flag = "unified_receipt.latest_receipt_info.0.is_trial_period"
        #expect(try reason([flag: "yes"]) == ["out_of_range"])
        let nameless = cancelled("1", at: 2, with: ["transaction_id": nil])
        #expect(try foldNotifications([v1("REFUND", [nameless])]).reasons == ["missing_field"])
    }
}
