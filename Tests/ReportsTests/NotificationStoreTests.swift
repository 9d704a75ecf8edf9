import Reports
import TestKit
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
        var query = ReportRequest(name: "store-notifications")
        query.grouping = try .init("bundle_id,product_id,currency")
        let line = try #require(try set.lines(query).first)
        #expect(
            line.hasPrefix(
                #"{"bundle_id":"com.example.puzzle","product_id":"monthly","currency":"","#))
        #expect(line.contains(#""refunds":2,"upgrade_cancellations":0"#))
        #expect(line.hasSuffix(#""gross_micros":0,"refunded_micros":0}"#))
        let untrusted = try set.lines(ReportRequest(name: "untrusted"))
        #expect(untrusted.count == 1)
        #expect(untrusted.first?.contains("password: is not a shared secret of the bundle") == true)
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
            "UPDATE refunds SET cohorts = x'00' WHERE transaction_id = 1",
            "INSERT INTO trial_lines VALUES (0, 1, 1)",
            "UPDATE trial_lines SET is_open = 0",
        ] {
            let before = try stores.stores("one").digest()
            try stores.change(change, stream: "store-notifications", in: "one")
            #expect(try stores.stores("one").digest() != before, "\(change)")
        }
    }

    /// A purchase of version 1.
    private func purchase(_ offset: Int64, first: String?) -> SampleStores.Record {
        let date = first.map { "\"original_purchase_date_ms\":\"\($0)\"," } ?? ""
        return SampleStores.Record(
            offset: offset, type: "appstore.notification.v1",
            value: """
                {"notification_type":"INITIAL_BUY","environment":"PROD","bid":"com.example.puzzle",\
                "password":"secret","unified_receipt":{"latest_receipt_info":[{"transaction_id":\
                "\(offset)","original_transaction_id":"1","product_id":"monthly",\(date)\
                "purchase_date_ms":"1795262400000"}]}}
                """)
    }

    @Test("cohorts are dumped by day, the empty and the most distant ones too, and selected by it")
    func cohorts() throws {
        let stores = SampleStores()
        let firsts: [String?] = [
            "1795132800000", "1795219200000", nil, "253402300800000", "0",
            "9223372036854775807", "1795219200001",
        ]
        let records = firsts.enumerated().map { purchase(Int64($0), first: $1) }
        try stores.foldNotifications(records)
        try stores.foldNotifications(records, into: "one", atOnce: 1)
        let set = try stores.stores("data")
        #expect(try set.digest() == stores.stores("one").digest())
        func cohorts(_ change: (inout ReportRequest) -> Void) throws -> [String] {
            var query = ReportRequest(name: "cohorts", grouping: .columns(["cohort"]))
            change(&query)
            return try set.dump(query).rows.map {
                "\($0.columns[0].explanation) \($0.measures[0] ?? -1) \($0.measures[8] ?? -1)"
            }
        }
        let days = ["2026-11-20 1 0", "2026-11-21 2 0"]
        #expect(
            try cohorts { _ in } == [
                " 0 1", "10000-01-01 1 0", "1970-01-01 1 0", days[0], days[1],
                "292278994-08-17 1 0",
            ])
        // Rows without a day belong to no period.
        #expect(
            try cohorts { $0.sinceMilliseconds = 1_795_219_200_000 }
                == ["10000-01-01 1 0", days[1], "292278994-08-17 1 0"])
        #expect(
            try cohorts { $0.untilMilliseconds = 1_795_219_200_000 }
                == ["1970-01-01 1 0", days[0]])
        for (value, found) in [
            ("2026-11-21", [days[1]]), ("", [" 0 1"]), ("10000-01-01", ["10000-01-01 1 0"]),
            ("2026-11-22", []),
        ] {
            #expect(
                try cohorts { $0.conditions = [.init(column: "cohort", value: value)] } == found)
        }
        #expect(throws: InspectionError.self) {
            try cohorts { $0.conditions = [.init(column: "cohort", value: "soon")] }
        }
        #expect(
            try set.lines(ReportRequest(name: "cohorts")).first?.hasPrefix(
                #"{"cohort":"","age":"","bundle_id":"com.example.puzzle","product_id":"monthly","storefront":"","currency":"","offer":"","buyers":0,"trials":0,"trial_conversions":0,"renewals":0,"expirations":0,"refunds":0,"gross_micros":0,"refunded_micros":0,"undated":1}"#
            ) == true)
        let view = try stores.texts(
            "SELECT cohort FROM cohorts WHERE buyers + undated > 0 ORDER BY cohort",
            stream: "store-notifications")
        #expect(
            view == [
                "", "10000-01-01", "1970-01-01", "2026-11-20", "2026-11-21", "292278994-08-17",
            ])
    }

    @Test("curves add ages up, and say which share of the cohorts has all of an age")
    func curves() throws {
        let stores = SampleStores()
        // The newest record is of 2026-11-21T12:00, the purchases of version 1 too: ages 0, 0, 3 and 20.
        let firsts = ["1795219200000", "1795219200000", "1794960000000", "1793534400000"]
        var records = firsts.enumerated().map { purchase(Int64($0), first: $1) }
        records.append(purchase(9, first: nil))
        try stores.foldNotifications(records)
        let set = try stores.stores("data")
        func curves(_ columns: [String]) throws -> [[String]] {
            var query = ReportRequest(name: "cohorts", grouping: .columns(columns))
            query.measures = ["buyers"]
            return try set.curves(query).rows.map { $0.map(\.plainText) }
        }
        let old = try curves(["cohort"]).filter { $0[0] == "2026-11-01" }
        #expect(
            old == [
                ["2026-11-01", "0", "0", "1.000000"], ["2026-11-01", "1", "0", "1.000000"],
                ["2026-11-01", "3", "0", "1.000000"], ["2026-11-01", "7", "0", "1.000000"],
                ["2026-11-01", "14", "0", "1.000000"], ["2026-11-01", "30", "1", "0.000000"],
                ["2026-11-01", "60", "1", "0.000000"], ["2026-11-01", "90", "1", "0.000000"],
                ["2026-11-01", "180", "1", "0.000000"], ["2026-11-01", "365", "1", "0.000000"],
                ["2026-11-01", "+", "1", ""],
            ])
        // A day is not complete while new buyers of it can come. Days weigh by their buyers.
        let all = try curves([])
        #expect(all.map { $0[1] } == ["2", "2", "3", "3", "3", "4", "4", "4", "4", "4", "4"])
        #expect(
            all.map { $0[2] }.prefix(4) == ["0.500000", "0.500000", "0.250000", "0.250000"])
        #expect(try curves(["age", "cohort"]) == curves(["cohort"]))
        #expect(throws: InspectionError.self) {
            try set.curves(ReportRequest(name: "store-notifications"))
        }
        // A step selects the rows that add up to it: buyers of a day, and all of them.
        for (day, step, buyers) in [("2026-11-01", "14", "0"), ("2026-11-01", "30", "1")] {
            let rows = ReportRequest(
                name: "cohorts", grouping: .total,
                conditions: [
                    .init(column: "cohort", value: day), .init(column: "through_age", value: step),
                ])
            let found = try set.dump(rows).limited(toMeasures: ["buyers"]).withoutZeroRows.rows
            #expect(
                found.map { "\($0.measures[0] ?? -1)" } == (buyers == "0" ? [] : [buyers]))
        }
        for column in ["through_age", "through_window"] {
            let wrong = ReportRequest(
                name: "cohorts", conditions: [.init(column: column, value: "8")])
            #expect(throws: InspectionError.self) { try set.dump(wrong) }
        }
        #expect(throws: InspectionError.curveColumn("through_age")) {
            try set.curves(
                ReportRequest(
                    name: "cohorts", conditions: [.init(column: "through_age", value: "7")]))
        }
        // A single age has no curve.
        #expect(throws: InspectionError.curveColumn("age")) {
            try set.curves(
                ReportRequest(name: "cohorts", conditions: [.init(column: "age", value: "7")]))
        }
        #expect(throws: InspectionError.self) {
            var query = ReportRequest(name: "cohorts")
            query.measures = ["clicks"]
            _ = try set.curves(query)
        }
    }

    @Test("ids of transactions can be any text, and are remembered whole")
    func textIDs() throws {
        let stores = SampleStores()
        let ids = ["a\\u0000b", "a\\u0000c", "a", "A", "-5", " 5", "5", "x61", "é"]
        let records = (ids + ids).enumerated().map { offset, id in
            cancellation(Int64(offset), transaction: id, date: 7)
        }
        for (name, size) in [("one", 1), ("all", 100)] {
            try stores.foldNotifications(records, into: name, atOnce: size)
            var query = ReportRequest(name: "store-notifications")
            query.grouping = try .init("total")
            let line = try #require(try stores.stores(name).lines(query).first)
            #expect(line.contains(#""refunds":\#(ids.count),"#), "\(line)")
        }
        #expect(try stores.stores("one").digest() == stores.stores("all").digest())
    }
}
