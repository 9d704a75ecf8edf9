import Streams
import Testing

@Suite("Refunds and reversals")
struct RefundTests {
    private func refund(
        _ uuid: String, date: Int64? = 1, price: Int64 = 9990, transaction: String = "30",
        with changes: KeyValuePairs<String, Document?> = [:]
    ) throws -> TestRecord {
        let payload = Notifications.payload("REFUND", uuid: uuid).with([
            "data.signedTransactionInfo.transactionId": .string(transaction),
            "data.signedTransactionInfo.revocationDate": date.map { .raw("\($0)") },
            "data.signedTransactionInfo.price": .raw("\(price)"),
        ])
        return TestRecord(try Notifications.body(payload.with(changes)))
    }

    private func reversal(_ uuid: String, transaction: String = "30") throws -> TestRecord {
        try v2(
            "REFUND_REVERSED", uuid: uuid,
            with: ["data.signedTransactionInfo.transactionId": .string(transaction)])
    }

    private func later(_ record: TestRecord) -> TestRecord {
        record.at(TestRecord.halfPastFive + 3_600_000)
    }

    @Test("a refund counts once for each transaction and date, in whichever version it comes")
    func idempotent() throws {
        let records = [
            try refund("1"), try refund("2"), try refund("3", date: 2),
            v1("REFUND", [cancelled("30", at: 1)]),
            v1("CANCEL", [cancelled("30", at: 3)]),
            Notifications.receipt(
                "10", [cancelled("30", at: 2), cancelled("30", at: 3)]),
        ]
        for batching in [Batching.together, .sizes([1])] {
            let result = try foldNotifications(records, batching)
            #expect(result.outcome(.accepted) == 6)
            #expect(result.measures == ["refunds": 3, "refunded_micros": 2 * 9_990_000])
        }
        // The other way round version 1 has counted it, without its price.
        let backwards = try foldNotifications(records.reversed())
        #expect(backwards.measures == ["refunds": 3])
    }

    @Test("a REFUND or CANCEL counts every cancelled transaction of its line, each in its own row")
    func severalRows() throws {
        let listed = [
            cancelled("31", at: 5, with: ["product_id": "yearly"]),
            cancelled("32", at: 5, with: ["promotional_offer_id": "spring"]),
            cancelled("33", at: 6, with: ["is_upgraded": "true"]),
            cancelled("34", at: 7, with: ["original_transaction_id": "99"]), Notifications.listed,
        ]
        for type in ["REFUND", "CANCEL"] {
            let result = try foldNotifications([v1(type, listed)])
            let base: Row = [
                "environment": "Production", "bundle_id": "com.example.puzzle",
                "ownership": "purchased",
            ]
            #expect(
                result.rows("store-notifications") == [
                    base.merging(["product_id": "yearly", "refunds": 1]) { $1 },
                    base.merging([
                        "product_id": "monthly", "offer": "promotional:spring", "refunds": 1,
                    ]) { $1 },
                    base.merging(["product_id": "monthly", "upgrade_cancellations": 1]) { $1 },
                ])
        }
    }

    @Test("without a line at the top, the line is that of the newest cancelled transaction")
    func lineOfNewest() throws {
        let listed = [
            cancelled("31", at: 5), cancelled("41", at: 9, with: ["original_transaction_id": "40"]),
            cancelled("42", at: 3, with: ["original_transaction_id": 40]),
            cancelled("51", at: 9, with: ["original_transaction_id": "50"]),
        ]
        let body = v1("CANCEL", listed, with: ["original_transaction_id": nil])
        // Of two at one instant the first in the list is the newest.
        #expect(try foldNotifications([body]).measures == ["refunds": 2])
        let rest = v1("CANCEL", listed, with: ["original_transaction_id": "50"])
        #expect(try foldNotifications([body, rest]).measures == ["refunds": 3])
    }

    @Test("REFUND without any cancellation adds nothing, and is accepted")
    func nothingCancelled() throws {
        let result = try foldNotifications([
            v1("REFUND"), v1("CANCEL", []),
            v1("REFUND", [cancelled("9", at: 1)], with: ["original_transaction_id": 77]),
        ])
        #expect(result.outcome(.accepted) == 3)
        #expect(result.rows("store-notifications").isEmpty)
    }

    @Test("an upgrade's cancellation is no refund: a reversal has nothing to take back")
    func upgradeIsNoRefund() throws {
        let upgrade = cancelled("30", at: 1, with: ["is_upgraded": "true"])
        let result = try foldNotifications([
            v1("CANCEL", [upgrade]), try reversal("r"), try refund("1", date: 2),
        ])
        #expect(
            result.measures == ["upgrade_cancellations": 1, "refund_reversals": 1, "refunds": 1])
    }

    @Test(
        "revocationPercentage is in thousandths of a percent, and fractions of a micro are cut off",
        arguments: [
            (9990, 50_000, 4_995_000), (9990, 33_333, 3_329_966), (300_000, 100_000, 300_000_000),
            (1, 1, 0), (9990, 0, 0), (9_223_372_036_854_775, 100_000, 9_223_372_036_854_775_000),
        ] as [(Int64, Int64, Int64)])
    func percentages(price: Int64, percentage: Int64, micros: Int64) throws {
        let record = try refund(
            "1", price: price,
            with: ["data.signedTransactionInfo.revocationPercentage": .raw("\(percentage)")])
        let result = try foldNotifications([record])
        #expect(result.count("refunds") == 1)
        #expect(result.count("refunded_micros") == micros)
    }

    @Test("a percentage outside 0 to 100000 and a negative price are out of range")
    func outOfRange() throws {
        for (member, value) in [
            ("revocationPercentage", "100001"), ("revocationPercentage", "-1"), ("price", "-1"),
        ] {
            let record = try refund(
                "1", with: ["data.signedTransactionInfo.\(member)": .raw(value)])
            #expect(try foldNotifications([record]).reasons == ["out_of_range"])
        }
    }

    @Test("a reversal takes back in its own row what the refund put there, once a refund")
    func reversalAfterRefund() throws {
        let records = [try refund("1"), later(try reversal("2")), later(later(try reversal("3")))]
        for batching in [Batching.together, .sizes([1]), .sizes([2, 1])] {
            let result = try foldNotifications(records, batching)
            #expect(result.count("refunds") == 1)
            #expect(result.count("refund_reversals") == 2)
            #expect(result.count("refunded_micros") == 0)
            let hours = result.rows("store-notifications").map { row in
                (row["hour"], row["refunded_micros"])
            }
            #expect(hours.contains { $0 == (nil, 9_990_000) })
            #expect(hours.contains { $0 == ("2026-11-21T06:00:00Z", -9_990_000) })
        }
    }

    @Test("of several refunds the one folded last and not yet taken back is taken back")
    func lastRefundFirst() throws {
        let records = [
            try refund("1", date: 5, price: 1000), try refund("2", date: 3, price: 20),
            later(try reversal("3")), later(try reversal("4")),
        ]
        let after = { count in
            try foldNotifications(Array(records.prefix(count))).count("refunded_micros")
        }
        #expect(try after(2) == 1_020_000)
        #expect(try after(3) == 1_000_000)
        #expect(try after(4) == 0)
    }

    @Test("when a reversal arrives first, the refund that follows puts nothing there")
    func reversalFirst() throws {
        let records = [
            try reversal("1"), try refund("2"), try refund("3", date: 2),
            try refund("4", transaction: "31"),
        ]
        for batching in [Batching.together, .sizes([1])] {
            let result = try foldNotifications(records, batching)
            #expect(result.count("refunds") == 3)
            #expect(result.count("refunded_micros") == 2 * 9_990_000)
        }
        // Its repetition is not the refund that follows.
        let repeated = [records[1], try reversal("5"), records[1], try refund("6"), records[2]]
        #expect(try foldNotifications(repeated).count("refunded_micros") == 9_990_000)
    }

    @Test("what a refund of version 1 put there is nothing, and a reversal takes that back")
    func reversalOfVersion1() throws {
        let result = try foldNotifications([
            v1("REFUND", [cancelled("30", at: 1)]), try reversal("1"), try refund("2", date: 2),
        ])
        #expect(
            result.measures == ["refunds": 2, "refund_reversals": 1, "refunded_micros": 9_990_000])
    }

    @Test("a refund that names no transaction counts by its id alone")
    func withoutTransaction() throws {
        let result = try foldNotifications([
            try v2("REFUND", uuid: "1", with: ["data.signedTransactionInfo": nil]),
            try v2("REFUND", uuid: "2", with: ["data.signedTransactionInfo": nil]),
            try refund("3", date: nil), try refund("4", date: nil),
            try v2("REFUND_REVERSED", uuid: "5", with: ["data.signedTransactionInfo": nil]),
        ])
        #expect(result.count("refunds") == 3)
        #expect(result.count("refunded_micros") == 9_990_000)
        #expect(result.count("refund_reversals") == 1)
    }

    @Test("partitions have memories of their own")
    func partitions() throws {
        let result = try foldNotifications([
            try refund("1"), try refund("1").inPartition(1), try reversal("2").inPartition(2),
        ])
        #expect(result.count("refunds") == 2)
        #expect(result.count("refunded_micros") == 2 * 9_990_000)
    }

    @Test("a receipt counts the cancellations of the line that its key names, and nothing else")
    func receipts() throws {
        let listed = [
            cancelled("31", at: 5), Notifications.listed,
            cancelled("41", at: 9, with: ["original_transaction_id": "40"]),
        ]
        let inApp = [cancelled("31", at: 5), cancelled("32", at: 6)]
        let receipt = Notifications.receipt("10", listed, with: ["receipt.in_app": .array(inApp)])
        #expect(try foldNotifications([receipt]).measures == ["refunds": 2])
        let other = TestRecord(receipt.value, type: "appstore.receipt").keyed("40")
        let both = try foldNotifications([receipt, other, receipt, other])
        #expect(both.measures == ["refunds": 3])
        #expect(both.outcome(.duplicates) == 2)
        for key in ["x", "1000"] {
            let result = try foldNotifications([Notifications.receipt(key, listed)])
            #expect(result.outcome(.accepted) == 1)
            #expect(result.measures.isEmpty)
        }
        // Without a key it has no id, and names no line.
        for nameless in [receipt.keyed(nil), receipt.keyed("")] {
            #expect(try foldNotifications([nameless]).reasons == ["missing_field"])
        }
    }

    @Test("ids of transactions and lines may be other text than digits")
    func textIDs() throws {
        let line: KeyValuePairs<String, Document?> = ["original_transaction_id": "line a"]
        let listed = [
            cancelled("a", at: 5, with: line),
            cancelled("b", at: 5, with: line), cancelled("c", at: 5),
        ]
        let records = [
            v1("REFUND", listed, with: line), Notifications.receipt("line a", listed),
            try refund("1", date: 5, transaction: "a"), try refund("2", date: 5, transaction: "A"),
            try reversal("3", transaction: "A"),
        ]
        for batching in [Batching.together, .sizes([1])] {
            let result = try foldNotifications(records, batching)
            #expect(result.outcome(.accepted) == 5)
            #expect(result.measures == ["refunds": 3, "refund_reversals": 1])
        }
    }

    @Test("an id whose letters are the bytes of a number is another id")
    func textThatIsTheBytesOfANumber() throws {
        let number = "ABCDEFGH".utf8.reversed().reduce(Int64(0)) { $0 << 8 | Int64($1) }
        func renewal(_ transaction: String) -> TestRecord {
            let line: KeyValuePairs<String, Document?> = [
                "original_transaction_id": .string(transaction)
            ]
            return v1(
                "DID_RENEW",
                [Notifications.listed.with(["transaction_id": .string(transaction)]).with(line)],
                with: line)
        }
        let result = try foldNotifications([renewal("ABCDEFGH"), renewal("\(number)")])
        #expect(result.outcome(.accepted) == 2)
    }

    @Test("an unexpected subtype counts as other each time, its refund once")
    func strangeSubtype() throws {
        let records = [
            try refund("1", with: ["subtype": "NEW"]), try refund("2", with: ["subtype": "NEW"]),
            try refund("3"),
        ]
        for batching in [Batching.together, .sizes([1])] {
            let result = try foldNotifications(records, batching)
            #expect(result.measures == ["other": 2, "refunded_micros": 9_990_000])
        }
    }

    @Test("a refund of any size fits where nothing of it is put")
    func largeButReversed() throws {
        let large: Int64 = .max
        let counted = v1("REFUND", [cancelled("30", at: 1)])
        let result = try foldNotifications([
            counted, try refund("1", price: large), try reversal("2", transaction: "31"),
            try refund("3", price: large, transaction: "31"),
        ])
        #expect(result.outcome(.accepted) == 4)
        #expect(result.measures == ["refunds": 2, "refund_reversals": 1])
    }
}
