import Inspection
import JSONReader
import Testing

@Suite("Formats of dumps")
struct DumpFormatTests {
    private let sample = SampleStores()

    private func text(_ format: DumpFormat, _ seats: String...) throws -> String {
        try sample.foldBids(
            seats.enumerated().map {
                .billing(0, Int64($0.offset), id: "\($0.offset)", seat: $0.element)
            })
        var text = ""
        let bids = try sample.stores("data").dump(
            DumpQuery(name: "bids", grouping: .columns(["seat", "app_id"])))
        bids.write(as: format) { (piece) throws(Never) in
            text += String(decoding: piece, as: UTF8.self)
        }
        return text
    }

    private func empty(_ format: DumpFormat) throws -> String {
        try sample.foldBids([.billing(0, 0, id: "a")])
        var text = ""
        try sample.stores("data").dump(DumpQuery(name: "bid-faults"))
            .write(as: format) { (piece) throws(Never) in
                text += String(decoding: piece, as: UTF8.self)
            }
        return text
    }

    @Test("json is one array with a row a line")
    func json() throws {
        let lines = try text(.json, "a", "b").split(separator: "\n")
        try #require(lines.count == 2)
        #expect(lines[0].hasPrefix(#"[{"seat":"a","app_id":1,"auctions":0,"#))
        #expect(lines[0].hasSuffix("},"))
        #expect(lines[1].hasPrefix(#" {"seat":"b","#))
        #expect(lines[1].hasSuffix("}]"))
    }

    @Test("ndjson is an object a line, with texts escaped")
    func ndjson() throws {
        let lines = try text(.ndjson, #"a\"b\n"#).split(separator: "\n")
        try #require(lines.count == 1)
        #expect(lines[0].hasPrefix(#"{"seat":"a\"b\n","#))
    }

    @Test("csv quotes what needs quotes, and ends lines with CRLF")
    func csv() throws {
        let text = try text(.csv, #"a\"b,c"#, "plain")
        let lines = text.split(separator: "\r\n", omittingEmptySubsequences: false)
        try #require(lines.count == 4)
        #expect(lines[0].hasPrefix("seat,app_id,auctions,no_bids,"))
        #expect(lines[1].hasPrefix(#""a""b,c",1,0,"#))
        #expect(lines[2].hasPrefix("plain,1,"))
        #expect(lines[3].isEmpty)
    }

    @Test("a table is aligned, numbers to the right, and shows control characters as escapes")
    func table() throws {
        let lines = try text(.table, "long-seat", #"\u001b[2J"#).split(separator: "\n")
        try #require(lines.count == 3)
        #expect(lines[0].hasPrefix("seat       app_id  auctions"))
        #expect(lines[1].hasPrefix(#"\u{1B}[2J       1         0"#))
        #expect(lines[2].hasPrefix("long-seat       1         0"))
        #expect(lines.allSatisfy { $0.last != " " })
    }

    @Test(
        "a dump without rows says so, or is an empty array, nothing, or a header alone",
        arguments: [
            (DumpFormat.table, "no rows\n"), (.json, "[]\n"), (.ndjson, ""),
            (.csv, "hour,ad_network_id,campaign,app_id,source_app_id,fault,bids\r\n"),
        ])
    func noRows(_ format: DumpFormat, _ expected: String) throws {
        #expect(try empty(format) == expected)
    }
}
