import Foundation
import GRDB
import Store
import Streams
import TestKit
import Testing

@testable import Reports

@Suite("Dumps of any size")
struct DumpPiecesTests {
    private let sample = SampleStores()

    private func fold() throws {
        var records: [SampleStores.Record] = []
        for number in 0..<60 {
            var record = SampleStores.Record.billing(
                Int32(number % 3), Int64(number / 3), id: "b\(number)",
                seat: "s\(number % 7)\(number % 5 == 0 ? "é" : "")", appID: number % 11,
                price: "\(number % 4)")
            record.milliseconds += Int64(number % 5) * SampleStores.hour
            records.append(record)
        }
        records.append(.init(partition: 0, offset: 20, type: "nonsense", value: "{}"))
        records.append(.init(partition: 1, offset: 20, value: "[1"))
        try sample.foldBids(records)
    }

    @Test(
        "rows that do not fit into memory come as those that do, in the order of the dump",
        arguments: ["all", "total", "seat", "hour,seat", "app_id,currency", "day,app_id"])
    func spilled(_ by: String) throws {
        try fold()
        let stores = try sample.stores("data")
        for name in ["bids", "outcomes", "rejected"] {
            let columns = try DumpDescription.named(name).columns.map(\.name)
            guard by == "all" || by == "total" || name == "bids" else { continue }
            #expect(!columns.isEmpty)
            var query = ReportRequest(
                name: name, grouping: try by == "all" ? .all : ReportRequest.Grouping(by))
            for tellsApart in [false, true] {
                query.tellsCurrenciesApart = tellsApart
                let whole = try stores.dump(query)
                for format in [DumpFormat.csv, .json, .ndjson] {
                    var text = ""
                    try stores.write(query, as: format, memoryBytes: 1) {
                        text += String(decoding: $0, as: UTF8.self)
                    }
                    #expect(text == whole.text(as: format), "\(name) by \(by) as \(format)")
                }
            }
        }
    }

    @Test("amounts of several currencies are told apart, in the natural order of the columns")
    func currencies() throws {
        var records = (0..<6).map { number in
            SampleStores.Record.billing(0, Int64(number), id: "a\(number)", seat: "s\(number % 2)")
        }
        for number in records.indices where number.isMultiple(of: 3) {
            records[number].value = records[number].value?.replacing("\"USD\"", with: "\"EUR\"")
        }
        try sample.foldBids(records)
        var query = ReportRequest(name: "bids", grouping: .columns(["seat", "skan_version"]))
        query.tellsCurrenciesApart = true
        let stores = try sample.stores("data")
        var text = ""
        try stores.write(query, as: .csv, memoryBytes: 1) {
            text += String(decoding: $0, as: UTF8.self)
        }
        #expect(text == (try stores.dump(query)).text(as: .csv))
    }

    @Test("a bound keeps the rows with the largest values, or the first, and counts the others")
    func bound() throws {
        try fold()
        let stores = try sample.stores("data")
        let query = ReportRequest(name: "bids", grouping: .columns(["seat", "app_id"]))
        let all = try stores.dump(query).rows
        let index = try #require(
            try stores.dump(query).measures.firstIndex(of: "billed_price_micros"))
        let (first, count) = try stores.dump(query, keeping: RowBound(4))
        #expect(count == all.count && first.rows.map(\.columns) == all.prefix(4).map(\.columns))
        let (largest, _) = try stores.dump(
            query, keeping: RowBound(5, largest: "billed_price_micros"))
        let expected = all.indices.sorted {
            (all[$1].measures[index] ?? -1, $0) < (all[$0].measures[index] ?? -1, $1)
        }.prefix(5)
        #expect(largest.rows.map(\.columns) == expected.map { all[$0].columns })
    }

    @Test("a key gives its values back")
    func keys() {
        let values: [StoredValue] = [
            .text(""), .text("a\0b\0"), .integer(.min), .integer(-1), .integer(.max),
            .text("\u{1}é"),
        ]
        let key = RowKeyBytes(values)
        #expect(
            key.values(of: [.text, .hour, .integer, .boolean, .integer, .day]) == values)
    }

    @Test("a file that failed says so in its last line, and is no whole JSON")
    func trailers() throws {
        let json =
            "[{\"a\":1}"
            + String(decoding: DumpFormat.json.incompleteEnd("no \"disk\""), as: UTF8.self)
        #expect(json == "[{\"a\":1},\n {\"weir_error\":\"no \\\"disk\\\"\"}\n")
        #expect(throws: (any Error).self) {
            try JSONSerialization.jsonObject(with: Data(json.utf8))
        }
        #expect(
            String(decoding: DumpFormat.ndjson.incompleteEnd("x"), as: UTF8.self)
                == "{\"weir_error\":\"x\"}\n")
        #expect(
            String(decoding: DumpFormat.csv.incompleteEnd("x, y"), as: UTF8.self)
                == "\"weir_error: x, y\"\r\n")
    }

    @Test("what fails midway after rows were handed over is thrown, and ends nothing in silence")
    func failing() throws {
        try fold()
        struct Full: Error {}
        let stores = try sample.stores("data")
        #expect(throws: Full.self) {
            try stores.write(ReportRequest(name: "bids"), as: .csv, memoryBytes: 1) { _ in
                throw Full()
            }
        }
    }
}
