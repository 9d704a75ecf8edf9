import Streams
import TestKit
import Testing

/// Makes records of the topic `store-notifications`, good and bad ones, many of them duplicates, refunds
/// and reversals of few transactions.
struct RandomNotifications {
    var random: SeededGenerator
    private var time = TestRecord.halfPastFive

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    mutating func records(_ count: Int) throws -> [TestRecord] {
        try (0..<count).map { _ in
            time += Int64.random(in: -300_000...400_000, using: &random)
            return try record().at(time).inPartition(Int32.random(in: 0..<3, using: &random))
        }
    }

    private mutating func pick<Value>(_ values: [Value]) -> Value {
        values[Int.random(in: 0..<values.count, using: &random)]
    }

    private mutating func number(_ bound: Int) -> String {
        "\(Int.random(in: 0..<bound, using: &random))"
    }

    private mutating func record() throws -> TestRecord {
        switch Int.random(in: 0..<10, using: &random) {
        case 0: return TestRecord(pick(["{", "{}", #"{"signedPayload":"a.b.c"}"#, "[]"]))
        case 1: return TestRecord(nil as [UInt8]?, type: pick([nil, "appstore.receipt"]))
        case 2...4: return version1()
        case 5:
            return Notifications.receipt(
                "10", [cancelled(number(4), at: 1)],
                with: ["receipt.bundle_id": pick([.string(Notifications.bundle), "x"])])
        default: return try version2()
        }
    }

    private mutating func version1() -> TestRecord {
        let listed = (0..<3).map { _ in
            cancelled(
                number(4), at: Int64.random(in: 1...3, using: &random),
                with: [
                    "original_transaction_id": pick(["10", "11"]),
                    "is_upgraded": pick([nil, nil, "true"]), "product_id": pick(["a", "b"]),
                ])
        }
        return v1(
            pick(["REFUND", "CANCEL", "DID_RENEW", "REVOKE"]), listed,
            with: [
                "original_transaction_id": pick([nil, 10]),
                "password": pick([.string(Notifications.secret), "x"]),
            ])
    }

    private mutating func version2() throws -> TestRecord {
        let info = "data.signedTransactionInfo"
        return try v2(
            pick([
                "REFUND", "REFUND", "REFUND_REVERSED", "SUBSCRIBED", "DID_RENEW",
                "CONSUMPTION_REQUEST",
            ]),
            uuid: number(200),
            with: [
                "\(info).originalTransactionId": .string(number(3)),
                "\(info).originalPurchaseDate": pick([nil, "0", "-86400000"]).map { .raw($0) },
                "\(info).purchaseDate": .raw(number(400_000_000)),
                "\(info).offerDiscountType": pick([nil, "FREE_TRIAL"]),
                "\(info).transactionId": .string(number(40)),
                "\(info).revocationDate": .raw(number(4)), "\(info).price": .raw(number(9000)),
                "\(info).revocationPercentage": pick([nil, 33_333]),
                "data.bundleId": pick([
                    .string(Notifications.bundle), .string(Notifications.bundle), "x",
                ]),
            ])
    }
}

@Suite("The fold of store notifications is a function of the log")
struct StoreNotificationPropertyTests {
    @Test(
        "however the log is cut into batches, whatever the number of threads, the result is the same",
        arguments: 1...3 as ClosedRange<UInt64>)
    func batches(_ seed: UInt64) throws {
        var notifications = RandomNotifications(seed: seed)
        let records = try notifications.records(240)
        let whole = try foldNotifications(records)
        for outcome in [Outcome.accepted, .duplicates, .rejected, .untrusted] {
            #expect(whole.outcome(outcome) > 5, "\(outcome)")
        }
        #expect(Outcome.allCases.reduce(0) { $0 + whole.outcome($1) } == 240)
        for measure in ["refunds", "refund_reversals", "upgrade_cancellations"] {
            #expect(whole.count(measure) > 1)
        }
        for measure in ["renewals", "refunds", "gross_micros", "undated"] {
            #expect(whole.sum("cohorts", measure) > 0, "\(measure)")
        }
        for (sizes, threads) in [([1], 1), ([7, 1, 100], 3), ([17], 2)] {
            #expect(try foldNotifications(records, .sizes(sizes), threads: threads) == whole)
        }
    }

    @Test(
        "however partitions are interleaved, each gives the same",
        arguments: 4...5 as ClosedRange<UInt64>)
    func interleaving(_ seed: UInt64) throws {
        var notifications = RandomNotifications(seed: seed)
        let records = try notifications.records(200)
        let whole = try foldNotifications(records)
        for (partition, part) in Dictionary(grouping: records, by: \.partition) {
            let alone = try foldNotifications(part, .sizes([33]))
            #expect(
                alone.sums.mapValues { $0[partition] }
                    == whole.sums.mapValues { $0[partition] }.filter { $0.value != nil })
        }
    }

    @Test(
        "sales and consumption requests under other ids, in any order, change no sum: of each transaction one counts",
        arguments: 6...8 as ClosedRange<UInt64>)
    func repeatedSales(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let info = "data.signedTransactionInfo"
        func record(_ type: String, _ transaction: Int, _ uuid: String) throws -> TestRecord {
            try v2(
                type, uuid: uuid,
                with: [
                    "\(info).transactionId": .string("\(transaction)"),
                    "\(info).price": .raw("\(transaction + 1)"),
                    "\(info).originalPurchaseDate": 0, "\(info).purchaseDate": 0,
                ])
        }
        // Transactions 0 to 5 are renewed, 6 to 8 bought, and 0 to 3 asked about.
        let once: [(type: String, transaction: Int)] =
            (0..<6).map { ("DID_RENEW", $0) } + (6..<9).map { ("ONE_TIME_CHARGE", $0) }
            + (0..<4).map { ("CONSUMPTION_REQUEST", $0) }
        let first = try foldNotifications(
            once.map { try record($0.type, $0.transaction, "\($0.type) \($0.transaction)") })
        #expect(
            first.measures == [
                "renewals": 6, "one_time_purchases": 3, "consumption_requests": 4,
                "gross_micros": 45_000,
            ])
        let repeats = (0..<60).map { _ in once[Int.random(in: 0..<once.count, using: &random)] }
        let records = try (once + repeats).enumerated().map { number, event in
            try record(event.type, event.transaction, "\(number)")
        }
        for sizes in [[1], [7, 1, 100], [17]] {
            let result = try foldNotifications(records.shuffled(using: &random), .sizes(sizes))
            #expect(result.rows("store-notifications") == first.rows("store-notifications"))
            #expect(result.rows("cohorts") == first.rows("cohorts"))
            #expect(result.outcome(.accepted) == 13)
            #expect(result.outcome(.duplicates) == 60)
        }
    }

    @Test(
        "a transaction's refunds net to nothing once each is reversed, in whatever order they come")
    func reversalsCommute() throws {
        var random = SeededGenerator(seed: 9)
        let info = "data.signedTransactionInfo"
        let records = try (0..<4).flatMap { number in
            try ["REFUND", "REFUND_REVERSED"].map { type in
                try v2(
                    type, uuid: "\(type)\(number)",
                    with: [
                        "\(info).revocationDate": .raw("\(number)"),
                        "\(info).price": .raw("\(number * 100 + 1)"),
                    ])
            }
        }
        for _ in 0..<40 {
            let result = try foldNotifications(records.shuffled(using: &random))
            #expect(result.measures == ["refunds": 4, "refund_reversals": 4])
        }
    }
}
