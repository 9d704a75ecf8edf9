import Foundation
import Streams
import Testing

@Suite("Envelopes")
struct EnvelopeTests {
    private let win: Document = ["auction_id": "a", "bid_id": "b"]

    private func reason(_ record: TestRecord, maxRecordBytes: Int = 1_048_576) throws -> String {
        let result = try foldBids([record], maxRecordBytes: maxRecordBytes)
        return result.refused.first?.reason ?? "accepted"
    }

    private func record(_ text: String?, _ headers: [(String, String)]) -> TestRecord {
        var record = TestRecord(text.map { Array($0.utf8) })
        record.headers = headers.map { .init($0.0, $0.1) }
        return record
    }

    @Test("a record without ce_type is of the topic's default type")
    func defaultType() throws {
        let records = [
            record(Auction.without("response").text, []),
            record(Auction.without("response").with(["request.id": "x"]).text, [("ce_id", "1")]),
        ]
        let result = try foldBids(records)
        #expect(
            result.rows("outcomes")
                == [["topic": "bids", "type": "openrtb.auction", "accepted": 2]])
    }

    @Test("only ce_type decides how a value is decoded")
    func typeDecides() throws {
        let headers = [
            ("ce_specversion", "0.3"), ("ce_source", ""), ("content-type", "text/plain"),
            ("ce_time", "never"), ("ce_type", "openrtb.win"),
        ]
        let result = try foldBids([record(win.text, headers)])
        #expect(
            result.rows("outcomes") == [["topic": "bids", "type": "openrtb.win", "accepted": 1]])
    }

    @Test(
        "an unknown type is refused, kept with what its header said, and counted as unknown",
        arguments: ["openrtb.Win", "openrtb", "", "skadnetwork.postback", "openrtb.win "])
    func unknownType(_ type: String) throws {
        let result = try foldBids([record(win.text, [("ce_type", type)])])
        #expect(result.reasons == ["unknown_type"])
        #expect(result.refused.map(\.type) == [type])
        #expect(result.rows("outcomes") == [["topic": "bids", "type": "unknown", "rejected": 1]])
    }

    @Test(
        "structured mode is an unknown type, whatever ce_type says",
        arguments: [
            "application/cloudevents+json", "application/cloudevents+json; charset=UTF-8",
            "Application/CloudEvents+JSON", "application/cloudevents",
        ])
    func structuredMode(_ contentType: String) throws {
        let headers = [("content-type", contentType), ("ce_type", "openrtb.win")]
        let result = try foldBids([record(win.text, headers)])
        #expect(result.reasons == ["unknown_type"])
        #expect(result.rows("outcomes") == [["topic": "bids", "type": "unknown", "rejected": 1]])
    }

    @Test("a null value is a tombstone; an empty one is malformed")
    func tombstone() throws {
        #expect(try reason(record(nil, [])) == "tombstone")
        #expect(try reason(record(nil, [("ce_type", "no.such")])) == "tombstone")
        #expect(try reason(record("", [])) == "malformed_json")
        #expect(try reason(record(" \n", [])) == "malformed_json")
        #expect(
            try reason(record("\u{FEFF}" + win.text, [("ce_type", "openrtb.win")]))
                == "malformed_json")
    }

    @Test("a value may be as long as allowed, and not a byte longer")
    func tooLarge() throws {
        let text = win.text
        let record = record(text, [("ce_type", "openrtb.win")])
        #expect(try reason(record, maxRecordBytes: text.utf8.count) == "accepted")
        #expect(try reason(record, maxRecordBytes: text.utf8.count - 1) == "too_large")
    }

    @Test("reasons come in the contract's order")
    func order() throws {
        let deep = String(repeating: "[", count: 65)
        let unknown = [("ce_type", "no.such")]
        var notUTF8 = TestRecord(Array(deep.utf8) + [0xFF])
        notUTF8.headers = [.init("ce_type", "no.such")]
        #expect(try reason(notUTF8, maxRecordBytes: 10) == "too_large")
        #expect(try reason(notUTF8) == "invalid_utf8")
        #expect(try reason(record(deep, unknown)) == "too_deep")
        #expect(try reason(record("{", unknown)) == "malformed_json")
        #expect(try reason(record("{ " + deep, unknown)) == "malformed_json")
        #expect(try reason(record("[]", unknown)) == "unknown_type")
        #expect(try reason(record("{}", unknown)) == "unknown_type")
        let structured = [("content-type", "application/cloudevents+json")]
        #expect(try reason(record("{", structured)) == "malformed_json")
    }

    @Test(
        "a document that is no object is of the wrong type",
        arguments: ["[]", "null", "5", "\"a\""])
    func noObject(_ text: String) throws { #expect(try reason(record(text, [])) == "wrong_type") }

    @Test("a record's timestamp counts whatever it is; -1 counts as 0")
    func timestamps() throws {
        let records = [-1, 0, 3_599_999, 3_600_000, 253_402_300_800_000].map {
            TestRecord(win.with(["bid_id": .string("\($0)")]), type: "openrtb.win", timestamp: $0)
        }
        let result = try foldBids(records)
        let hours = [
            "1970-01-01T00:00:00Z": 3, "1970-01-01T01:00:00Z": 1, "10000-01-01T00:00:00Z": 1,
        ]
        for (hour, count) in hours {
            #expect(result.sum("bids", "wins", where: ["hour": .text(hour)]) == Int64(count))
        }
        #expect(result.watermarks == [0: 253_402_300_800_000])
    }
}
