import JSON
import Reports
import TestKit
import Testing

@Suite("Formats of dumps")
struct DumpFormatTests {
    private let sample = SampleStores()

    private func text(_ format: DumpFormat, _ seats: String...) throws -> String {
        try sample.foldBids(
            seats.enumerated().map {
                .billing(0, Int64($0.offset), id: "\($0.offset)", seat: $0.element)
            })
        return try sample.stores("data").dump(
            ReportRequest(name: "bids", grouping: .columns(["seat", "app_id"]))
        ).text(as: format)
    }

    private func empty(_ format: DumpFormat) throws -> String {
        try sample.foldBids([.billing(0, 0, id: "a")])
        return try sample.stores("data").dump(ReportRequest(name: "bid-faults")).text(as: format)
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

    @Test(
        "a text that a spreadsheet would run has an apostrophe before it in csv, and none with raw",
        arguments: [
            ("=1+1", "=1+1"), ("+1", "+1"), ("-1", "-1"), ("@A1", "@A1"), ("\tx", #"\tx"#),
            ("  =1", "  =1"), ("\u{FEFF}=1", #"\u{FEFF}=1"#),
            ("\u{A0}\u{200B} -1", "\u{A0}\\u{200B} -1"),
        ])
    func formulas(_ text: String, _ escaped: String) {
        #expect(csv(text, isRaw: false) == "'\(escaped),-7,-0.50\r\n")
        #expect(csv(text, isRaw: true) == "\(text),-7,-0.50\r\n")
        #expect(csv("a\(text)", isRaw: false).hasPrefix("a"), "elsewhere it runs nothing")
    }

    @Test("raw csv has every text byte for byte, in quotes where RFC 4180 wants them")
    func raw() {
        for (text, field) in [
            ("a\nb", "\"a\nb\""), ("\rx", "\"\rx\""), (#"q\n"#, #"q\n"#),
            ("\u{202E}\u{1B}", "\u{202E}\u{1B}"),
            (#"a"b"#, #""a""b""#), (" x ", " x "),
        ] {
            #expect(csv(text, isRaw: true) == "\(field),-7,-0.50\r\n")
        }
    }

    @Test("no two texts look alike in tables and csv: a backslash is doubled")
    func backslashes() {
        for (text, escaped) in [
            (#"q\n"#, #"q\\n"#), ("q\n", #"q\n"#), (#"\u{202E}"#, #"\\u{202E}"#),
        ] {
            #expect(csv(text, isRaw: false).hasPrefix("\(escaped),"))
            #expect(
                TextTable(header: ["a"], isNumber: [false], rows: [[text]]).lines == ["a", escaped])
        }
    }

    @Test("JSON has no character that a terminal obeys, and the same values")
    func jsonForTerminals() throws {
        let text = "\u{9B}2J\u{7F}\u{202E}\u{200B}\u{FEFF}\u{E0041}é字\\n\n"
        for format in [DumpFormat.json, .ndjson] {
            let json = written(text, as: format)
            #expect(
                json.contains(#""\u009b2J\u007f\u202e\u200b\ufeff\udb40\udc41é字\\n\n""#), "\(json)")
            let parser = try #require(JSONParser())
            let read = try Array(json.utf8).withUnsafeBytes { bytes in
                let row = try parser.parse(bytes)
                return (row.elements.first { _ in true } ?? row).member("text")?.string.map {
                    String(decoding: $0, as: UTF8.self)
                }
            }
            #expect(read == text)
        }
    }

    @Test(
        "controls, bidirectional characters and those that nobody sees are escaped in csv and tables"
    )
    func controls() {
        for (text, escaped) in [
            ("a\u{202E}b", #"a\u{202E}b"#), ("\u{2066}x\u{2069}", #"\u{2066}x\u{2069}"#),
            ("\u{200F}\u{200E}\u{061C}", #"\u{200F}\u{200E}\u{061C}"#), ("a\nb", #"a\nb"#),
            ("\u{1B}[2J\u{7F}\u{9B}", #"\u{1B}[2J\u{7F}\u{009B}"#),
            ("a\u{200B}\u{FEFF}\u{AD}\u{2060}b", #"a\u{200B}\u{FEFF}\u{00AD}\u{2060}b"#),
            ("é \u{0639} – 字", "é \u{0639} – 字"),
        ] {
            #expect(csv(text, isRaw: false).hasPrefix("\(escaped),"))
            let table = TextTable(header: ["a"], isNumber: [false], rows: [[text]])
            #expect(table.lines == ["a", escaped])
        }
    }

    private func csv(_ text: String, isRaw: Bool) -> String {
        String(written(text, as: .csv, isRaw: isRaw).dropFirst("text,count,share\r\n".count))
    }

    private func written(_ text: String, as format: DumpFormat, isRaw: Bool = false) -> String {
        let table = ReportTable(
            columns: [
                .init("text"), .init("count", isNumber: true), .init("share", isNumber: true),
            ],
            rows: [[.text(text), .integer(-7), .decimal("-0.50")]])
        return table.text(as: format, isRaw: isRaw)
    }

    @Test("texts of a dump are no formulas in csv")
    func dumpedFormulas() throws {
        let lines = try text(.csv, "=cmd").split(separator: "\r\n")
        #expect(try #require(lines.last).hasPrefix("'=cmd,1,"))
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
