import Foundation
import JSON
import Streams
import TestKit
import Testing

@Suite("Symbols")
struct SymbolTableTests {
    @Test("equal texts have equal symbols, other texts others; bytes decide")
    func symbols() {
        var table = SymbolTable()
        var interned: [[UInt8]: Symbol] = [:]
        var random = SeededGenerator(seed: 5)
        for _ in 0..<5_000 {
            let text = (0..<Int.random(in: 0...12, using: &random)).map { _ in
                UInt8.random(in: 0x61...0x63, using: &random)
            }
            let symbol = text.withUnsafeBytes { table.intern($0) }
            if let seen = interned[text] { #expect(seen == symbol) }
            interned[text] = symbol
        }
        #expect(Set(interned.values).count == interned.count)
        for (text, symbol) in interned {
            #expect(table.withBytes(of: symbol) { Array($0) } == text)
        }
        #expect(table.intern("\u{E9}") != table.intern("e\u{301}"))
        #expect(table.intern("") == .empty)
        let number = table.intern(decimal: .min)
        #expect(table.text(number) == "-9223372036854775808")
    }

    @Test("lower case is ASCII's only")
    func lowercase() {
        var table = SymbolTable()
        func lower(_ text: String) -> String {
            var text = text
            let symbol = text.withUTF8 { table.internLowercased(UnsafeRawBufferPointer($0)) }
            return table.text(symbol)
        }
        #expect(lower("Abc.SKAdNetwork") == "abc.skadnetwork")
        #expect(lower("ÉÀ\u{212A}@[`{") == "ÉÀ\u{212A}@[`{")
        #expect(lower("") == "")
    }

    @Test("an emptied table knows the empty text only")
    func emptied() {
        var table = SymbolTable()
        _ = table.intern("a" as StaticString)
        table.removeAll()
        let symbol = table.intern("b" as StaticString)
        #expect(table.text(symbol) == "b")
        #expect(table.text(.empty) == "")
    }
}

@Suite("Times")
struct TimeTests {
    @Test("instants are written and read as RFC 3339, on every day of centuries")
    func everyDay() {
        let formatter = ISO8601DateFormatter()
        for day in stride(from: Int64(-800_000), to: 800_000, by: 37) {
            let seconds = day * 86_400 + (day * 7_919) % 86_400
            let text = UTC.text(milliseconds: seconds * 1_000)
            guard seconds > -12_219_292_800 else { continue }
            #expect(text == formatter.string(from: Date(timeIntervalSince1970: Double(seconds))))
            #expect(UTC.milliseconds(text: text) == seconds * 1_000)
        }
    }

    @Test("milliseconds are written when there are any")
    func milliseconds() {
        #expect(UTC.text(milliseconds: 0) == "1970-01-01T00:00:00Z")
        #expect(UTC.text(milliseconds: 1) == "1970-01-01T00:00:00.001Z")
        #expect(UTC.text(milliseconds: -1) == "1969-12-31T23:59:59.999Z")
        #expect(UTC.text(milliseconds: 951_782_400_250) == "2000-02-29T00:00:00.250Z")
    }

    @Test("zones, days and fractions are read; what is no time is not")
    func reading() {
        #expect(
            UTC.milliseconds(text: "2026-11-21T06:30:00.25+01:00") == TestRecord.halfPastFive + 250)
        #expect(UTC.milliseconds(text: "2026-11-21") == 1_795_219_200_000)
        for text in [
            "", "2026-02-29", "2026-13-01", "2026-00-10", "2026-11-31", "2026-11-21T24:00:00Z",
            "2026-11-21T05:60:00Z", "2026-11-21T05:00:00", "2026-11-21 05:00:00Z",
            "2026-11-21T05:00Z",
            "2026-11-21T05:00:00+24:00", "x2026-11-21", "2026-1-1",
        ] {
            #expect(UTC.milliseconds(text: text) == nil, "\(text)")
        }
    }

    @Test(
        "an hour is read back from its text, in every year that a record can have",
        arguments: [0, 1, 951_782_400_000, 253_402_300_799_999, 253_402_905_599_998, .max])
    func hourTexts(milliseconds: Int64) {
        let hour = Hour(containing: milliseconds)
        #expect(Hour(text: hour.text) == hour)
        #expect(Hour(text: hour.day) == hour.startOfDay)
        #expect(Hour(text: hour.text + "+") == nil && Hour(text: "+" + hour.text) == nil)
    }

    @Test("an hour holds its instants, before 1970 too")
    func hours() {
        for (milliseconds, hour) in [
            (0, 0), (3_599_999, 0), (3_600_000, 1), (-1, -1), (-3_600_000, -1), (-3_600_001, -2),
        ] as [(Int64, Int64)] {
            #expect(Hour(containing: milliseconds) == Hour(hoursSince1970: hour))
        }
        #expect(Hour(containing: TestRecord.halfPastFive).text == "2026-11-21T05:00:00Z")
        #expect(Hour(hoursSince1970: 1) < Hour(hoursSince1970: 2))
    }
}

@Suite("Writing JSON")
struct JSONTextTests {
    @Test("what is written is read as the same by others")
    func foundation() throws {
        let text = "\u{0}\u{1F}\"\\/\n\r\t\u{7F}é\u{2028}\u{1F600}e\u{301}"
        var json = JSONText()
        json.object { json in
            json.name(text)
            json.array { json in
                json.string(text)
                json.string(nil)
                json.raw(Int64.min)
                json.raw(true)
                json.array { _ in }
                json.object { _ in }
            }
            json.name("x")
            json.raw(UInt64.max)
        }
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(json.text.utf8)) as? [String: Any])
        #expect(Set(object.keys) == [text, "x"])
        let list = try #require(object[text] as? [Any])
        #expect(list.count == 6)
        #expect((list[0] as? String)?.unicodeScalars.elementsEqual(text.unicodeScalars) == true)
        #expect(list[1] is NSNull)
        #expect((list[2] as? NSNumber)?.int64Value == .min)
    }

    @Test("a parsed value is written again: order, duplicates and numbers are kept")
    func again() throws {
        let text =
            #"{"b":[1,-0.5,18446744073709551615,1e+300,true,null,"é\n"],"a":{},"b":{"c":[[]]}}"#
        let written = try Document(text: text).text
        #expect(written == text.replacing(#"é\n"#, with: "é\\n"))
        var json = JSONText()
        let parser = try #require(JSONParser())
        try Array(text.utf8).withUnsafeBytes { json.value(try parser.parse($0)) }
        #expect(json.text == text)
    }
}
