import Store
import Streams
import TestKit
import Testing

@testable import Reports

@Suite("Dumps")
struct DumpTests {
    private let sample = SampleStores()

    private func query(
        _ name: String, by: String? = nil, since: Int64? = nil, until: Int64? = nil,
        _ conditions: (String, String)...
    ) throws -> ReportRequest {
        ReportRequest(
            name: name, grouping: try by.map { try ReportRequest.Grouping($0) } ?? .all,
            sinceMilliseconds: since, untilMilliseconds: until,
            conditions: conditions.map { .init(column: $0.0, value: $0.1) })
    }

    @Test("a row is the sum over all partitions, with every column and measure")
    func sums() throws {
        try sample.foldBids([
            .billing(0, 0, id: "a"), .billing(1, 0, id: "b"), .billing(1, 1, id: "c", price: "2"),
        ])
        #expect(
            try sample.stores("data").lines(query("bids")) == [
                """
                {"hour":"2026-11-21T12:00:00Z","seat":"s","ad_network_id":"net","campaign":"",\
                "app_id":1,"source_app_id":0,"skan_version":"","currency":"USD","auctions":0,\
                "no_bids":0,"bids":0,"price_micros":0,"unpriced":0,"overlay_signalled":0,\
                "overlay_requested":0,"skadn_invalid":0,"overlay_eligible":0,\
                "overlay_click_tracked":0,"wins":0,"losses":0,"billed":3,\
                "billed_price_micros":5000000,"inapp_bids":0,"inapp_wins":0}
                """
            ])
    }

    @Test("columns and rows come in the contract's order: integers by value, texts by bytes")
    func order() throws {
        try sample.foldBids([
            .billing(0, 0, id: "a", seat: "é", appID: 9),
            .billing(0, 1, id: "b", seat: "z", appID: 10),
            .billing(0, 2, id: "c", seat: "Z", appID: 10),
            .billing(0, 3, id: "d", seat: "z", appID: 9),
        ])
        let dump = try sample.stores("data").dump(query("bids", by: "app_id,seat"))
        #expect(dump.columns.map(\.name) == ["seat", "app_id"])
        #expect(
            dump.rows.map(\.columns) == [
                [.text("Z"), .integer(10)], [.text("z"), .integer(9)], [.text("z"), .integer(10)],
                [.text("é"), .integer(9)],
            ])
    }

    @Test("true and false are written as such, and false comes first")
    func booleans() throws {
        try sample.foldPostbacks([.postback(0), .losingPostback(1)])
        let stores = try sample.stores("data")
        #expect(
            try stores.lines(query("postbacks", by: "did_win")) == [
                #"{"did_win":false,"postbacks":1,"null_values":0}"#,
                #"{"did_win":true,"postbacks":1,"null_values":0}"#,
            ])
        #expect(try stores.lines(query("postbacks", by: "total", ("did_win", "true"))).count == 1)
    }

    @Test("of several copies of a partition only the one that is folded furthest counts")
    func copies() throws {
        try sample.foldBids([.billing(0, 0, id: "a"), .billing(1, 0, id: "b")], into: "one")
        try sample.foldBids(
            [.billing(0, 0, id: "a"), .billing(0, 1, id: "c"), .billing(2, 0, id: "d")],
            into: "two")
        let expected = [#"{"accepted":4,"duplicates":0,"conflicts":0,"untrusted":0,"rejected":0}"#]
        for names in [["one", "two"], ["two", "one"], ["one", "two", "one"]] {
            let stores = try OpenStores(directories: names.map(sample.directory))
            #expect(try stores.lines(query("outcomes", by: "total")) == expected)
        }
    }

    @Test("sums beyond 64 bits stay exact")
    func largeSums() throws {
        try sample.foldBids([.billing(0, 0, id: "a"), .billing(1, 0, id: "b")])
        try sample.change(
            "UPDATE bids_sums SET billed_price_micros = 9223372036854775807", stream: "bids")
        let dump = try sample.stores("data").dump(query("bids", by: "currency"))
        #expect(dump.rows.first?.measures.contains(18_446_744_073_709_551_614) == true)
        #expect(
            try sample.stores("data").lines(query("bids", by: "currency")).first?
                .contains(#""billed_price_micros":18446744073709551614,"#) == true)
    }

    @Test("rows without their hour are the sums of the rows of each hour", arguments: 0..<5)
    func daysOfHours(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        try sample.foldBids(
            (0..<200).map { index in
                .billing(
                    Int32.random(in: 0..<4, using: &random), Int64(index), id: "\(index)",
                    seat: ["s", "t", "é"].randomElement(using: &random) ?? "",
                    price: "\(Int.random(in: 0...9, using: &random))",
                    milliseconds: SampleStores.noon
                        + Int64.random(in: 0..<60, using: &random) * SampleStores.hour)
            }, atOnce: 7)
        let stores = try sample.stores("data")
        let rows = try stores.dump(query("bids", by: "hour,day,seat")).rows
        for (columns, indices) in [("day,seat", [1, 2]), ("seat", [2]), ("total", [])] {
            var sums: [[StoredValue]: [Int128]] = [:]
            for row in rows {
                let known = sums[indices.map { row.columns[$0] }]
                sums[indices.map { row.columns[$0] }] =
                    zip(known ?? row.measures.map { _ in 0 }, row.measures).map { $0 + ($1 ?? 0) }
            }
            let dump = try stores.dump(query("bids", by: columns))
            #expect(dump.rows.count == sums.count)
            for row in dump.rows { #expect(sums[row.columns] == row.measures.map { $0 ?? -1 }) }
        }
    }

    @Test("a condition selects the same rows, however few have the value", arguments: 0..<3)
    func conditions(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        // One seat in forty is looked up by its key; one app in two is picked out of all rows.
        try sample.foldBids(
            (0..<300).map { index in
                .billing(
                    Int32.random(in: 0..<4, using: &random), Int64(index), id: "\(index)",
                    seat: "s\(Int.random(in: 0..<40, using: &random))",
                    appID: Int.random(in: 1...2, using: &random),
                    milliseconds: SampleStores.noon
                        + Int64.random(in: 0..<30, using: &random) * SampleStores.hour)
            })
        let stores = try sample.stores("data")
        for columns in ["hour,day,seat,app_id", "day,seat,app_id", "seat,app_id"] {
            let all = try stores.dump(query("bids", by: columns)).rows
            let seatIndex = columns.split(separator: ",").firstIndex(of: "seat") ?? 0
            for seat in ["s3", "s39", "none"] {
                let wanted = all.filter { $0.columns[seatIndex] == .text(seat) }
                #expect(
                    try stores.dump(query("bids", by: columns, ("seat", seat))).rows.map(\.measures)
                        == wanted.map(\.measures))
            }
            let wanted = all.filter { $0.columns.last == .integer(2) }
            #expect(
                try stores.dump(query("bids", by: columns, ("app_id", "2"))).rows.map(\.columns)
                    == wanted.map(\.columns))
        }
    }

    @Test("what has no day is counted, also where nothing else is")
    func withoutDay() throws {
        try sample.foldBids([.billing(0, 0, id: "a"), .billing(1, 0, id: "b")])
        try sample.change("UPDATE slots SET hour = '' WHERE partition = 0", stream: "bids")
        let stores = try sample.stores("data")
        let days = try stores.dump(query("bids", by: "day"))
        #expect(days.rows.map(\.columns) == [[.text("")], [.text("2026-11-21")]])
        #expect(try stores.dump(query("bids", by: "total", ("day", ""))).rows.count == 1)
        try sample.change("DELETE FROM slots WHERE partition = 1", stream: "bids")
        #expect(try stores.dump(query("bids", by: "total")).rows.count == 1)
    }

    @Test("rows of zeros are left out")
    func zeros() throws {
        try sample.foldBids([.billing(0, 0, id: "a")])
        try sample.change(
            "UPDATE bids_sums SET billed = 0, billed_price_micros = 0", stream: "bids")
        #expect(try sample.stores("data").dump(query("bids")).rows.isEmpty)
        #expect(try sample.stores("data").dump(query("bids", by: "total")).rows.isEmpty)
    }

    @Test("since takes its hour along, until does not")
    func times() throws {
        let noon = SampleStores.noon
        let hour = SampleStores.hour
        try sample.foldBids([
            .billing(0, 0, id: "a", milliseconds: noon - 1), .billing(0, 1, id: "b"),
            .billing(0, 2, id: "c", milliseconds: noon + hour),
        ])
        let stores = try sample.stores("data")
        func hours(_ since: Int64?, _ until: Int64?) throws -> [String] {
            try stores.dump(query("bids", by: "hour", since: since, until: until)).rows.map {
                guard case .text(let hour) = $0.columns[0] else { return "" }
                return String(hour.dropFirst(11).prefix(2))
            }
        }
        #expect(try hours(noon, noon + hour) == ["12"])
        #expect(try hours(noon, nil) == ["12", "13"])
        #expect(try hours(nil, noon) == ["11"])
        #expect(try hours(noon + 1, noon + hour + 1) == ["13"])
    }

    @Test("hours are put together to days and to totals")
    func days() throws {
        try sample.foldBids([
            .billing(0, 0, id: "a"), .billing(0, 1, id: "b", milliseconds: SampleStores.noon + 1),
            .billing(0, 2, id: "c", milliseconds: SampleStores.noon + 12 * SampleStores.hour),
        ])
        let stores = try sample.stores("data")
        let byDay = try stores.dump(query("outcomes", by: "day"))
        #expect(byDay.rows.map(\.columns) == [[.text("2026-11-21")], [.text("2026-11-22")]])
        #expect(byDay.rows.map(\.measures[0]) == [2, 1])
        let total = try stores.dump(query("outcomes", by: "total"))
        #expect(total.columns.isEmpty)
        #expect(total.rows.map(\.measures[0]) == [3])
    }

    @Test("all conditions have to hold")
    func conditions() throws {
        try sample.foldBids([
            .billing(0, 0, id: "a", seat: "x", appID: 1),
            .billing(0, 1, id: "b", seat: "x", appID: 2),
            .billing(0, 2, id: "c", seat: "y", appID: 2),
        ])
        let stores = try sample.stores("data")
        let both = try stores.dump(query("bids", by: "seat,app_id", ("seat", "x"), ("app_id", "2")))
        #expect(both.rows.map(\.columns) == [[.text("x"), .integer(2)]])
        let hour = ("hour", "2026-11-21T13:00:00+01:00")
        #expect(try stores.dump(query("bids", by: "seat", hour)).rows.count == 2)
        #expect(try stores.dump(query("bids", by: "seat", ("day", "2026-11-20"))).rows.isEmpty)
    }

    @Test("what cannot be asked is refused with what can")
    func faults() throws {
        try sample.foldBids([.billing(0, 0, id: "a")])
        let stores = try sample.stores("data")
        func fault(_ query: ReportRequest) -> InspectionError? {
            do throws(InspectionError) {
                _ = try stores.dump(query)
                return nil
            } catch {
                return error
            }
        }
        let faults = [
            fault(try query("funnels")), fault(try query("bids", by: "seats")),
            fault(try query("bids", ("seats", "x"))), fault(try query("bids", ("app_id", "x"))),
            fault(try query("bids", ("hour", "2026-11-21T12:30:00Z"))),
            fault(try query("bids", ("day", "2026-13-45"))),
            fault(try query("bids", ("day", "20261120"))),
        ]
        #expect(faults.allSatisfy { $0?.isUsage == true })
        #expect(faults[1]?.description.contains("source_app_id") == true)
        #expect(throws: InspectionError.badColumns("total,seat")) {
            try ReportRequest.Grouping("total,seat")
        }
        #expect(throws: InspectionError.badColumns("seat,")) { try ReportRequest.Grouping("seat,") }
    }

    @Test("one of several data directories that is missing is an error, not a smaller sum")
    func missingDirectory() throws {
        try sample.foldBids([.billing(0, 0, id: "a")])
        #expect { try sample.stores("data", "other") } throws: { error in
            "\(error)".contains("other: No such file or directory")
        }
    }

    @Test("a store that no data directory has is named")
    func missingStores() throws {
        try sample.foldBids([.billing(0, 0, id: "a")])
        let stores = try sample.stores("data")
        #expect { try stores.dump(query("postbacks")) } throws: { error in
            "\(error)".contains("postbacks.sqlite") && (error as? InspectionError)?.isUsage == false
        }
        #expect(try stores.dump(query("outcomes")).rows.count == 1)
        #expect(try stores.dump(query("rejected")).rows.isEmpty)
        #expect(throws: InspectionError.self) { try sample.stores("none").dump(query("outcomes")) }
    }
}

@Suite("Some measures, and names of codes")
struct MeasureTests {
    private let sample = SampleStores()

    private func loss(_ offset: Int64, reason: Int) -> SampleStores.Record {
        SampleStores.Record(
            partition: 0, offset: offset, milliseconds: SampleStores.noon, type: "openrtb.loss",
            value: """
                {"auction_id":"\(offset)","bid_id":"b","seat":"s","loss_reason":\(reason)}
                """)
    }

    @Test("loss reasons have OpenRTB's names, an exchange's own are said to be that")
    func lossReasons() throws {
        try sample.foldBids([
            loss(0, reason: 102), loss(1, reason: 214), loss(2, reason: 1000), loss(3, reason: 50),
        ])
        let dump = try sample.stores("data").dump(
            ReportRequest(name: "loss-reasons", grouping: .columns(["reason"])))
        #expect(dump.columns.map(\.name) == ["reason"])
        let named = dump.withLossReasonNames()
        #expect(named.columns.map(\.name) == ["reason", "reason_name"])
        #expect(
            named.rows.map(\.columns) == [
                [.integer(50), .text("")], [.integer(102), .text("lost to higher bid")],
                [.integer(214), .text("creative filtered: invalid SKAdNetwork")],
                [.integer(1000), .text("exchange's own")],
            ])
        #expect(named.rows.map(\.measures) == [[1], [1], [1], [1]])
        let rejected = try sample.stores("data").dump(ReportRequest(name: "rejected"))
        #expect(rejected.withLossReasonNames().columns.map(\.name).contains("reason_name") == false)
    }

    @Test("a dump is limited to measures in its own order, and an unknown one is refused")
    func limited() throws {
        try sample.foldBids([.billing(0, 0, id: "a"), loss(1, reason: 102)])
        let dump = try sample.stores("data").dump(ReportRequest(name: "bids", grouping: .total))
        let some = try dump.limited(toMeasures: ["billed", "losses"])
        #expect(some.measures == ["losses", "billed"])
        #expect(some.rows.map(\.measures) == [[1, 1]])
        #expect(Set(dump.countedMeasures).isSuperset(of: ["losses", "billed"]))
        #expect(!dump.countedMeasures.contains("wins"))
        #expect(throws: InspectionError.unknownMeasure("clicks", valid: dump.measures)) {
            try dump.limited(toMeasures: ["clicks"])
        }
    }
}

@Suite("Keys of rows")
struct RowKeyBytesTests {
    private func key(_ values: [StoredValue]) -> RowKeyBytes {
        var key = RowKeyBytes()
        for value in values { key.append(value) }
        return key
    }

    @Test("their bytes order as the values do")
    func order() {
        let texts = ["", "\u{0}", "\u{0}\u{1}", "\u{1}", "a", "a\u{0}", "a\u{0}b", "ab", "é", "z"]
        let numbers: [Int64] = [.min, -256, -1, 0, 1, 255, 256, .max]
        let rows = texts.flatMap { text in
            numbers.flatMap { number in
                ["", "b"].map { [StoredValue.text(text), .integer(number), .text($0)] }
            }
        }
        for left in rows {
            for right in rows {
                #expect(
                    (key(left) < key(right)) == left.lexicographicallyPrecedes(right),
                    "\(left) \(right)")
                #expect((key(left) == key(right)) == (left == right))
            }
        }
    }
}
