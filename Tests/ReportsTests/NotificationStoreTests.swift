import Reports
import Testing

@Suite("Stores of notifications")
struct NotificationStoreTests {
    /// A cancellation of version 1.
    private func cancellation(
        _ offset: Int64, transaction: String, date: Int64 = 1, password: String = "secret"
    ) -> SampleStores.Record {
        SampleStores.Record(
            offset: offset, type: "appstore.notification.v1",
            value: """
                {"notification_type":"CANCEL","environment":"PROD","bid":"com.example.puzzle",\
                "password":"\(password)","unified_receipt":{"latest_receipt_info":[{"transaction_id":\
                "\(transaction)","original_transaction_id":"1","product_id":"monthly",\
                "cancellation_date_ms":"\(date)"}]}}
                """)
    }

    @Test("the dump shows rows and refused records, with the reason in words")
    func dumps() throws {
        let stores = SampleStores()
        try stores.foldNotifications([
            cancellation(0, transaction: "5"), cancellation(1, transaction: "6", password: "x"),
            cancellation(2, transaction: "5", date: 2),
        ])
        let set = try stores.stores("data")
        var query = DumpQuery(name: "store-notifications")
        query.grouping = try .init("bundle_id,product_id,currency")
        let line = try #require(try set.lines(query).first)
        #expect(
            line.hasPrefix(
                #"{"bundle_id":"com.example.puzzle","product_id":"monthly","currency":"","#))
        #expect(line.contains(#""refunds":2,"upgrade_cancellations":0"#))
        #expect(line.hasSuffix(#""gross_micros":0,"refunded_micros":0}"#))
        let untrusted = try set.lines(DumpQuery(name: "untrusted"))
        #expect(untrusted.count == 1)
        #expect(untrusted.first?.contains("password: is no shared secret of the bundle") == true)
    }

    @Test("the digest is that of the log, whatever the batches, and covers ids and refunds")
    func digest() throws {
        let stores = SampleStores()
        let records = (0..<9).map { cancellation($0, transaction: "\($0 % 4)", date: $0 % 2) }
        for (name, size) in [("one", 1), ("four", 4), ("all", 100)] {
            try stores.foldNotifications(records, into: name, atOnce: size)
        }
        let digest = try stores.stores("all").digest()
        #expect(try stores.stores("one").digest() == digest)
        #expect(try stores.stores("four").digest() == digest)
        for change in [
            "DELETE FROM notification_ids WHERE id = (SELECT min(id) FROM notification_ids)",
            "UPDATE refunds SET early_reversals = 1 WHERE transaction_id = 0",
            "UPDATE refunds SET cancellations = '' WHERE transaction_id = 1",
        ] {
            let before = try stores.stores("one").digest()
            try stores.change(change, stream: "store-notifications", in: "one")
            #expect(try stores.stores("one").digest() != before, "\(change)")
        }
    }

    @Test("ids of transactions that are no numbers are remembered whole, whatever is in them")
    func textIDs() throws {
        let stores = SampleStores()
        let ids = ["a\\u0000b", "a\\u0000c", "a", "A", "-5", " 5", "5", "x61", "é"]
        let records = (ids + ids).enumerated().map { offset, id in
            cancellation(Int64(offset), transaction: id, date: 7)
        }
        for (name, size) in [("one", 1), ("all", 100)] {
            try stores.foldNotifications(records, into: name, atOnce: size)
            var query = DumpQuery(name: "store-notifications")
            query.grouping = try .init("total")
            let line = try #require(try stores.stores(name).lines(query).first)
            #expect(line.contains(#""refunds":\#(ids.count),"#), "\(line)")
        }
        #expect(try stores.stores("one").digest() == stores.stores("all").digest())
    }
}
