import Streams
import TestKit
import Testing

@Suite("Cohorts of customers")
struct CohortTests {
    private static let day: Int64 = 86_400_000
    /// 2026-11-01T12:00:00Z.
    private static let first: Int64 = 1_793_534_400_000
    private static let info = "data.signedTransactionInfo"

    /// A notification of version 2 about a purchase of the customer of 2026-11-01, days later.
    private func notify(
        _ type: String, _ subtype: String? = nil, uuid: String, days: Int64 = 0,
        with changes: KeyValuePairs<String, Document?> = [:]
    ) throws -> TestRecord {
        let payload = Notifications.payload(type, subtype, uuid: uuid).with([
            "\(Self.info).originalPurchaseDate": .raw("\(Self.first)"),
            "\(Self.info).purchaseDate": .raw("\(Self.first + days * Self.day)"),
        ])
        return TestRecord(try Notifications.body(payload.with(changes)))
    }

    private func refund(
        _ uuid: String, days: Int64, subtype: String? = nil,
        with changes: KeyValuePairs<String, Document?> = [:]
    ) throws -> TestRecord {
        let payload = Notifications.payload("REFUND", subtype, uuid: uuid).with([
            "\(Self.info).originalPurchaseDate": .raw("\(Self.first)"),
            "\(Self.info).revocationDate": .raw("\(Self.first + days * Self.day)"),
        ])
        return TestRecord(try Notifications.body(payload.with(changes)))
    }

    private func row(_ age: String, _ measures: Row) -> Row {
        let row: Row = [
            "cohort": "2026-11-01", "age": .text(age), "bundle_id": "com.example.puzzle",
            "product_id": "monthly", "storefront": "USA", "currency": "USD",
        ]
        return row.merging(measures) { $1 }
    }

    private func cohorts(_ records: [TestRecord]) throws -> Set<Row> {
        let result = try foldNotifications(records)
        #expect(result.refused.isEmpty, "\(result.refused)")
        // Batches of one ask memory for what this one batch knows.
        let alone = try foldNotifications(records, .sizes([1]))
        #expect(alone == result)
        return result.rows("cohorts")
    }

    @Test(
        "an age is the whole days since the first purchase; a bin has those above the one before",
        arguments: [
            (0, "0"), (1, "1"), (2, "3"), (3, "3"), (4, "7"), (7, "7"), (8, "14"), (14, "14"),
            (15, "30"), (30, "30"), (31, "60"), (60, "60"), (61, "90"), (90, "90"), (91, "180"),
            (180, "180"), (181, "365"), (365, "365"), (366, "+"), (40_000, "+"),
        ] as [(Int64, String)])
    func ages(days: Int64, age: String) throws {
        // The last millisecond of a day is that day's.
        for rest in [0, Self.day - 1] {
            let record = try notify(
                "DID_RENEW", uuid: "1",
                with: ["\(Self.info).purchaseDate": .raw("\(Self.first + days * Self.day + rest)")])
            #expect(
                try cohorts([record]) == [row(age, ["renewals": 1, "gross_micros": 9_990_000])])
        }
    }

    @Test("what was bought before the first purchase has the age 0, however long before")
    func negativeAges() throws {
        for instant in ["\(Self.first - 1)", "\(Self.first - 400 * Self.day)", "0", "-1"] {
            let record = try notify(
                "DID_RENEW", uuid: "1", with: ["\(Self.info).purchaseDate": .raw(instant)])
            #expect(
                try cohorts([record]) == [row("0", ["renewals": 1, "gross_micros": 9_990_000])])
        }
    }

    @Test(
        "a cohort is the day of the first purchase in UTC, whatever the instant",
        arguments: [
            ("0", "1970-01-01", "+"), ("-1", "1969-12-31", "+"),
            ("86399999", "1970-01-01", "+"), ("86400000", "1970-01-02", "+"),
            ("-62135596800000", "0001-01-01", "+"), ("-62167219200001", "-0001-12-31", "+"),
            ("253402300800000", "10000-01-01", "0"),
            ("9223372036854775807", "292278994-08-17", "0"),
            ("-9223372036854775808", "-292275055-05-16", "+"),
        ])
    func days(first: String, cohort: String, age: String) throws {
        let record = try notify(
            "EXPIRED", "VOLUNTARY", uuid: "1",
            with: ["\(Self.info).originalPurchaseDate": .raw(first)])
        let wanted: Row = ["cohort": .text(cohort), "expirations": 1]
        #expect(try cohorts([record]) == [row(age, wanted)])
    }

    @Test("each type counts in its measure, and the others in none")
    func measures() throws {
        let sale: Row = ["gross_micros": 9_990_000]
        let kinds: [(String, String?, Row)] = [
            ("SUBSCRIBED", "INITIAL_BUY", sale.merging(["buyers": 1]) { $1 }),
            ("ONE_TIME_CHARGE", nil, sale.merging(["buyers": 1]) { $1 }),
            ("SUBSCRIBED", "RESUBSCRIBE", sale), ("SUBSCRIBED", nil, sale),
            ("DID_RENEW", nil, sale.merging(["renewals": 1]) { $1 }),
            ("DID_RENEW", "BILLING_RECOVERY", sale.merging(["renewals": 1]) { $1 }),
            ("DID_RENEW", "LATER", sale), ("DID_CHANGE_RENEWAL_PREF", "UPGRADE", sale),
            ("OFFER_REDEEMED", "UPGRADE", sale), ("EXPIRED", "VOLUNTARY", ["expirations": 1]),
            ("EXPIRED", "BILLING_RETRY", ["expirations": 1]),
            ("EXPIRED", "PRICE_INCREASE", ["expirations": 1]),
            ("EXPIRED", "PRODUCT_NOT_FOR_SALE", ["expirations": 1]),
            ("EXPIRED", nil, ["expirations": 1]), ("EXPIRED", "LATER", [:]),
            ("DID_CHANGE_RENEWAL_PREF", "DOWNGRADE", [:]), ("OFFER_REDEEMED", nil, [:]),
            ("DID_FAIL_TO_RENEW", nil, [:]), ("GRACE_PERIOD_EXPIRED", nil, [:]),
            ("REVOKE", nil, [:]), ("REFUND_DECLINED", nil, [:]), ("REFUND_REVERSED", nil, [:]),
            ("PRICE_INCREASE", "ACCEPTED", [:]), ("RENEWAL_EXTENDED", nil, [:]), ("NEW", nil, [:]),
        ]
        for (type, subtype, measures) in kinds {
            let rows = try cohorts([try notify(type, subtype, uuid: "1", days: 5)])
            #expect(rows == (measures.isEmpty ? [] : [row("7", measures)]), "\(type)")
        }
    }

    @Test("a row has product, storefront, currency and offer of the transaction")
    func columns() throws {
        let record = try notify(
            "SUBSCRIBED", "INITIAL_BUY", uuid: "1",
            with: [
                "\(Self.info).productId": "yearly", "\(Self.info).storefront": "DEU",
                "\(Self.info).currency": "EUR", "\(Self.info).offerType": 2,
                "\(Self.info).offerIdentifier": "spring",
            ])
        let wanted: Row = [
            "product_id": "yearly", "storefront": "DEU", "currency": "EUR",
            "offer": "promotional:spring", "buyers": 1, "gross_micros": 9_990_000,
        ]
        #expect(try cohorts([record]) == [row("0", wanted)])
    }

    @Test("nothing counts of a sandbox, of what somebody was given, and without a transaction")
    func scope() throws {
        let changes: [KeyValuePairs<String, Document?>] = [
            [
                "data.environment": "Sandbox", "\(Self.info).environment": "Sandbox",
                "data.signedRenewalInfo.environment": "Sandbox",
            ],
            ["\(Self.info).inAppOwnershipType": "FAMILY_SHARED"],
            ["\(Self.info).inAppOwnershipType": "ASSIGNED"],
            ["\(Self.info).inAppOwnershipType": "LEASED"],
            ["data.signedTransactionInfo": nil],
        ]
        let trial: KeyValuePairs<String, Document?> = [
            "\(Self.info).offerDiscountType": "FREE_TRIAL"
        ]
        for change in changes {
            let others = [
                try notify("SUBSCRIBED", "INITIAL_BUY", uuid: "1", with: change),
                try refund("2", days: 1, with: change),
            ]
            #expect(try cohorts(others) == [])
            // It opens no trial, and closes none.
            var payload = Notifications.payload("SUBSCRIBED", "INITIAL_BUY", uuid: "3")
            payload = payload.with([
                "\(Self.info).originalPurchaseDate": .raw("\(Self.first)"),
                "\(Self.info).purchaseDate": .raw("\(Self.first)"),
                "\(Self.info).offerDiscountType": "FREE_TRIAL",
            ]).with(change)
            let given = TestRecord(try Notifications.body(payload))
            let renewal = try notify("DID_RENEW", uuid: "5", days: 7)
            let paid = try cohorts([given, renewal])
            #expect(paid == [row("7", ["renewals": 1, "gross_micros": 9_990_000])])
            let bought = try notify("SUBSCRIBED", "INITIAL_BUY", uuid: "6", with: trial)
            let kept = try cohorts([bought, others[0], renewal])
            #expect(
                kept.contains(
                    row("7", ["renewals": 1, "trial_conversions": 1, "gross_micros": 9_990_000])))
        }
        #expect(
            try cohorts([
                try notify(
                    "ONE_TIME_CHARGE", uuid: "1", with: ["\(Self.info).inAppOwnershipType": nil])
            ]).count == 1)
    }
}

@Suite("Free trials and what becomes of them")
struct TrialConversionTests {
    private static let info = "data.signedTransactionInfo"
    private static let day: Int64 = 86_400_000

    private func notify(
        _ type: String, _ subtype: String? = nil, price: Int64? = 9990, isTrial: Bool = false,
        line: String = "10", day: Int64? = 0
    ) throws -> TestRecord {
        // Each has an id of its own.
        let uuid = "\(type) \(subtype ?? "") \(price ?? -1) \(isTrial) \(line) \(day ?? -1)"
        return try v2(
            type, subtype, uuid: uuid,
            with: [
                "\(Self.info).originalTransactionId": .string(line),
                "\(Self.info).originalPurchaseDate": .raw("0"),
                "\(Self.info).purchaseDate": day.map { .raw("\($0 * Self.day)") },
                "\(Self.info).price": price.map { .raw("\($0)") },
                "\(Self.info).offerDiscountType": isTrial ? "FREE_TRIAL" : "PAY_AS_YOU_GO",
            ])
    }

    private func bodyV1(
        _ type: String, isTrial: Bool, day: Int64, line: String = "10"
    ) -> TestRecord {
        v1(
            type,
            [
                Notifications.listed.with([
                    "transaction_id": .string("3\(day)"), "original_transaction_id": .string(line),
                    "original_purchase_date_ms": "0",
                    "purchase_date_ms": .string("\(day * Self.day)"),
                    "is_trial_period": isTrial ? "true" : "false",
                ])
            ], with: ["original_transaction_id": .string(line)])
    }

    /// The ages at which trials were converted.
    private func conversions(_ records: [TestRecord]) throws -> [String: Int64] {
        var found: [[String: Int64]] = []
        for batching in [Batching.together, .sizes([1]), .sizes([2, 1])] {
            let result = try foldNotifications(records, batching)
            #expect(result.refused.isEmpty, "\(result.refused)")
            var ages: [String: Int64] = [:]
            for row in result.rows("cohorts") {
                guard case .integer(let count)? = row["trial_conversions"],
                    case .text(let age)? = row["age"]
                else { continue }
                ages[age, default: 0] += count
            }
            found.append(ages)
        }
        #expect(Set(found).count == 1)
        return found[0]
    }

    @Test("the first renewal or recovery at a price converts a trial, and no later one")
    func first() throws {
        let trial = try notify("SUBSCRIBED", "INITIAL_BUY", price: 0, isTrial: true)
        for subtype in [nil, "BILLING_RECOVERY"] {
            #expect(
                try conversions([
                    trial, try notify("DID_RENEW", subtype, day: 7),
                    try notify("DID_RENEW", subtype, day: 14), try notify("DID_RENEW", day: 30),
                ]) == ["7": 1])
        }
        // A price of nothing, and none, wait for one.
        #expect(
            try conversions([
                trial, try notify("DID_RENEW", price: 0, day: 7),
                try notify("DID_RENEW", price: nil, day: 8),
                try notify("DID_RENEW", price: 1, day: 14),
            ]) == ["14": 1])
    }

    @Test("a renewal converts only a trial of its own line, and only one that was opened")
    func line() throws {
        let trial = try notify("SUBSCRIBED", "INITIAL_BUY", price: 0, isTrial: true)
        #expect(try conversions([trial, try notify("DID_RENEW", line: "11", day: 7)]).isEmpty)
        #expect(try conversions([try notify("DID_RENEW", day: 7), trial]).isEmpty)
        #expect(try conversions([try notify("DID_RENEW", isTrial: true, day: 7)]).isEmpty)
        let named = try notify("SUBSCRIBED", "INITIAL_BUY", price: 0, isTrial: true, line: "a/b")
        #expect(
            try conversions([named, trial, try notify("DID_RENEW", line: "a/b", day: 7)])
                == ["7": 1])
    }

    @Test("the latest SUBSCRIBED decides, whatever its subtype")
    func latest() throws {
        let trial = try notify("SUBSCRIBED", "INITIAL_BUY", price: 0, isTrial: true)
        let renewal = try notify("DID_RENEW", day: 30)
        for subtype in ["INITIAL_BUY", "RESUBSCRIBE", nil, "LATER"] {
            let bought = try notify("SUBSCRIBED", subtype, day: 3)
            #expect(try conversions([trial, bought, renewal]).isEmpty)
            let again = try notify("SUBSCRIBED", subtype, price: 0, isTrial: true, day: 3)
            #expect(try conversions([bought, again, renewal]) == ["30": 1])
            // A second trial of the line is converted once more.
            #expect(
                try conversions([trial, try notify("DID_RENEW", day: 7), again, renewal])
                    == ["7": 1, "30": 1])
        }
        // Nothing else opens or closes one.
        for (type, subtype) in [
            ("DID_CHANGE_RENEWAL_PREF", "UPGRADE"), ("ONE_TIME_CHARGE", nil),
            ("EXPIRED", "VOLUNTARY"), ("DID_RENEW", "LATER"), ("OFFER_REDEEMED", "UPGRADE"),
        ] {
            let other = try notify(type, subtype, day: 3)
            #expect(try conversions([trial, other, renewal]) == ["30": 1], "\(type)")
            let free = try notify(type, subtype, price: 0, isTrial: true, day: 3)
            #expect(try conversions([free, renewal]).isEmpty, "\(type)")
        }
    }

    @Test("in version 1 it is the first renewal or recovery that is no trial itself")
    func version1() throws {
        let trial = bodyV1("INITIAL_BUY", isTrial: true, day: 0)
        for type in ["DID_RENEW", "INTERACTIVE_RENEWAL", "DID_RECOVER", "RENEWAL"] {
            #expect(
                try conversions([
                    trial, bodyV1(type, isTrial: true, day: 3),
                    bodyV1(type, isTrial: false, day: 7),
                    bodyV1(type, isTrial: false, day: 14),
                ]) == ["7": 1], "\(type)")
        }
        let bought = bodyV1("INITIAL_BUY", isTrial: false, day: 0)
        #expect(try conversions([bought, bodyV1("DID_RENEW", isTrial: false, day: 7)]).isEmpty)
        #expect(
            try conversions([trial, bodyV1("DID_RENEW", isTrial: false, day: 7, line: "11")])
                .isEmpty)
        // One line is one, in whichever version it is spoken of.
        #expect(try conversions([trial, try notify("DID_RENEW", day: 7)]) == ["7": 1])
    }

    @Test("what lacks a date opens no trial, closes none and converts none")
    func undated() throws {
        let trial = try notify("SUBSCRIBED", "INITIAL_BUY", price: 0, isTrial: true)
        let renewal = try notify("DID_RENEW", day: 7)
        let undatedTrial = try notify(
            "SUBSCRIBED", "INITIAL_BUY", price: 0, isTrial: true, day: nil)
        #expect(try conversions([undatedTrial, renewal]).isEmpty)
        #expect(
            try conversions([trial, try notify("SUBSCRIBED", "RESUBSCRIBE", day: nil), renewal])
                == ["7": 1])
        #expect(
            try conversions([trial, try notify("DID_RENEW", day: nil), renewal]) == ["7": 1])
    }
}
