import Streams
import TestKit
import Testing

@Suite("Refunds and missing dates in cohorts")
struct CohortRefundTests {
    private static let info = "data.signedTransactionInfo"
    private static let day: Int64 = 86_400_000

    private func notify(
        _ type: String, _ subtype: String? = nil, uuid: String, day: Int64? = nil,
        with changes: KeyValuePairs<String, Document?> = [:]
    ) throws -> TestRecord {
        let payload = Notifications.payload(type, subtype, uuid: uuid).with([
            "\(Self.info).originalPurchaseDate": .raw("0"), "\(Self.info).purchaseDate": .raw("0"),
            "\(Self.info).revocationDate": day.map { .raw("\($0 * Self.day)") },
        ])
        return TestRecord(try Notifications.body(payload.with(changes)))
    }

    private func row(_ age: String, _ measures: Row) -> Row {
        let row: Row = [
            "cohort": "1970-01-01", "age": .text(age), "bundle_id": "com.example.puzzle",
            "product_id": "monthly", "storefront": "USA", "currency": "USD",
        ]
        return row.merging(measures) { $1 }
    }

    private func result(_ records: [TestRecord]) throws -> FoldResult {
        let result = try foldNotifications(records)
        #expect(result.refused.isEmpty, "\(result.refused)")
        #expect(try foldNotifications(records, .sizes([1])) == result)
        #expect(try foldNotifications(records, .sizes([2, 1])) == result)
        return result
    }

    private func cohorts(_ records: [TestRecord]) throws -> Set<Row> {
        try result(records).rows("cohorts")
    }

    @Test("a refund is as old as its revocation, and counts once")
    func age() throws {
        let rows = try cohorts([
            try notify("REFUND", uuid: "1", day: 31), try notify("REFUND", uuid: "2", day: 31),
            try notify(
                "REFUND", uuid: "3", day: 400, with: ["\(Self.info).revocationPercentage": 50_000]),
        ])
        #expect(
            rows == [
                row("60", ["refunds": 1, "refunded_micros": 9_990_000]),
                row("+", ["refunds": 1, "refunded_micros": 4_995_000]),
            ])
        // Under a strange subtype only its money is known.
        #expect(
            try cohorts([try notify("REFUND", "LATER", uuid: "1", day: 2)])
                == [row("3", ["refunded_micros": 9_990_000])])
        #expect(
            try cohorts([
                try notify("REFUND", "LATER", uuid: "1", day: 2, with: ["\(Self.info).price": 0])
            ]) == [])
    }

    @Test("a reversal takes back where the refund put it, whatever it says itself")
    func reversal() throws {
        let refunds = [
            try notify("REFUND", uuid: "1", day: 5),
            try notify("REFUND", uuid: "2", day: 100, with: ["\(Self.info).price": 1000]),
        ]
        let others: [KeyValuePairs<String, Document?>] = [
            [:],
            [
                "\(Self.info).productId": "yearly", "\(Self.info).currency": "EUR",
                "\(Self.info).originalPurchaseDate": nil, "\(Self.info).purchaseDate": "soon",
            ],
            ["\(Self.info).inAppOwnershipType": "FAMILY_SHARED"],
        ]
        for change in others {
            let first = try notify("REFUND_REVERSED", uuid: "3", with: change)
            let second = try notify("REFUND_REVERSED", uuid: "4", with: change)
            #expect(
                try cohorts(refunds + [first]) == [
                    row("7", ["refunds": 1, "refunded_micros": 9_990_000]),
                    row("180", ["refunds": 1, "refunded_micros": 0]),
                ])
            #expect(
                try cohorts(refunds + [first, second]) == [
                    row("7", ["refunds": 1, "refunded_micros": 0]),
                    row("180", ["refunds": 1, "refunded_micros": 0]),
                ])
            // When it comes first, the refund that follows puts nothing there.
            #expect(
                try cohorts([first, refunds[0]]) == [row("7", ["refunds": 1])])
        }
    }

    @Test("a reversal of a refund that is in no cohort takes nothing from one")
    func reversalElsewhere() throws {
        let reversal = try notify("REFUND_REVERSED", uuid: "3")
        let refunds = [
            try notify(
                "REFUND", uuid: "1", day: 5, with: ["\(Self.info).inAppOwnershipType": "ASSIGNED"]),
            try notify("REFUND", uuid: "1"),
        ]
        for refund in refunds {
            let rows = try cohorts([refund, reversal])
            #expect(rows.allSatisfy { $0["refunded_micros"] == nil }, "\(rows)")
        }
    }

    @Test("texts of any kind survive between a refund and its reversal")
    func texts() throws {
        let odd = "a=1,b|\u{0}é\u{301}\"\\"
        let record = try notify(
            "REFUND", uuid: "1", day: 5,
            with: [
                "\(Self.info).productId": .string(odd), "\(Self.info).currency": "",
                "\(Self.info).offerType": 3, "\(Self.info).offerIdentifier": .string(odd),
            ])
        let rows = try cohorts([record, try notify("REFUND_REVERSED", uuid: "2")])
        #expect(rows.count == 1)
        #expect(rows.first?["product_id"] == .text(odd))
        #expect(rows.first?["refunded_micros"] == 0)
    }

    @Test("of version 1 each cancelled transaction counts in its own cohort, at its cancellation")
    func version1() throws {
        func listed(_ id: String, _ first: Int64?, _ cancelledAt: Int64) -> Document {
            cancelled(
                id, at: cancelledAt * Self.day,
                with: ["original_purchase_date_ms": first.map { .string("\($0 * Self.day)") }])
        }
        let records = [
            v1(
                "REFUND",
                [
                    listed("1", 0, 2), listed("2", 1, 40), listed("3", nil, 3),
                    listed("4", nil, 3).with(["is_upgraded": "true"]),
                    listed("5", 0, 3).with(["in_app_ownership_type": "FAMILY_SHARED"]),
                ])
        ]
        let base: Row = ["bundle_id": "com.example.puzzle", "product_id": "monthly"]
        let wanted: Set<Row> = [
            base.merging(["cohort": "1970-01-01", "age": "3", "refunds": 1]) { $1 },
            base.merging(["cohort": "1970-01-02", "age": "60", "refunds": 1]) { $1 },
            base.merging(["undated": 1]) { $1 },
        ]
        #expect(try cohorts(records) == wanted)
        // What is listed again was counted, with and without its date.
        let again = v1("CANCEL", [listed("1", 0, 2), listed("3", 1, 3)])
        #expect(try cohorts(records + [again]) == wanted)
        let receipt = Notifications.receipt("10", [listed("1", 0, 2), listed("6", 0, 2)])
        #expect(
            try result(records + [receipt]).sum("cohorts", "refunds") == 3)
    }

    @Test("what would have added something and lacks a date is counted as that, without a cohort")
    func undated() throws {
        func undated(_ count: Int64) -> Set<Row> {
            let row: Row = [
                "bundle_id": "com.example.puzzle", "product_id": "monthly", "storefront": "USA",
                "currency": "USD", "undated": .integer(count),
            ]
            return [row]
        }
        for dates in [
            ["originalPurchaseDate"], ["purchaseDate"], ["originalPurchaseDate", "purchaseDate"],
        ] {
            func notify(_ type: String, _ subtype: String?, price: Int64) throws -> TestRecord {
                var payload = Notifications.payload(type, subtype, uuid: "\(type)\(subtype ?? "")")
                payload = payload.with([
                    "\(Self.info).originalPurchaseDate": .raw("0"),
                    "\(Self.info).purchaseDate": .raw("0"),
                    "\(Self.info).price": .raw("\(price)"),
                ])
                for date in dates { payload["\(Self.info).\(date)"] = .null }
                return TestRecord(try Notifications.body(payload))
            }
            #expect(
                try cohorts([
                    try notify("SUBSCRIBED", "INITIAL_BUY", price: 0),
                    try notify("SUBSCRIBED", "RESUBSCRIBE", price: 1),
                    try notify("DID_RENEW", nil, price: 0),
                    try notify("EXPIRED", "VOLUNTARY", price: 5),
                ]) == undated(4))
            // These would have added nothing.
            #expect(
                try cohorts([
                    try notify("SUBSCRIBED", "RESUBSCRIBE", price: 0),
                    try notify("DID_RENEW", "LATER", price: 0),
                    try notify("TEST", nil, price: 5),
                ]) == [])
        }
        #expect(try cohorts([try notify("REFUND", uuid: "1")]) == undated(1))
        #expect(
            try cohorts([
                try notify(
                    "REFUND", uuid: "1", day: 1, with: ["\(Self.info).originalPurchaseDate": nil])
            ]) == undated(1))
        #expect(
            try cohorts([
                try notify("REFUND", "LATER", uuid: "1", with: ["\(Self.info).price": 0])
            ]) == [])
    }

    @Test("dates are judged where they count, and nowhere else")
    func judged() throws {
        for (member, value, reason) in [
            ("originalPurchaseDate", "\"2026-11-01\"", "wrong_type"),
            ("purchaseDate", "true", "wrong_type"), ("purchaseDate", "1.5", "wrong_type"),
            ("originalTransactionId", "[]", "wrong_type"),
            ("originalPurchaseDate", "9223372036854775808", "out_of_range"),
        ] {
            let change = ["\(Self.info).\(member)": Document.raw(value)]
            for type in ["SUBSCRIBED", "TEST"] {
                var payload = Notifications.payload(type, uuid: "1")
                for (path, value) in change { payload[path] = value }
                let result = try foldNotifications([
                    TestRecord(try Notifications.body(payload))
                ])
                #expect(result.reasons == (type == "TEST" ? [] : [reason]), "\(type) \(member)")
            }
        }
    }
}
