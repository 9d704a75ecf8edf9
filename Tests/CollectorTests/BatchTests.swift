import Foundation
import Testing

@Suite("Batches of events in lines")
struct BatchTests {
    private let headers = ["Authorization": "Bearer \(CollectorWorkspace.producerKey)"]
    private let type = "application/x-ndjson"

    @Test("answer each line by its place, a bad one in the middle too")
    func middle() throws {
        let workspace = try CollectorWorkspace()
        let lines = [
            #"{"impression_id":"a"}"#, "", "{bad", #"{"impression_id":""}"#,
            #"{"impression_id":"b", "z":1}"#,
        ]
        let answer = try workspace.post(
            "/v1/events/impressions", lines.joined(separator: "\n") + "\n", type: type,
            headers: headers)
        #expect(answer.status == 207)
        #expect(answer["accepted"] as? Int == 2)
        #expect(answer["refused"] as? Int == 2)
        let said = try #require(answer["lines"] as? [[String: Any]])
        #expect(
            said.map { $0["error"] as? String } == [nil, "malformed_json", "missing_field", nil])
        let stored = try workspace.records("impressions")
        #expect(stored.count == 2)
        for (line, key) in [(0, "a"), (3, "b")] {
            let records = try #require(said[line]["records"] as? [[String: Int]])
            let record = try #require(stored.first { $0.key == key })
            #expect(
                records == [["partition": Int(record.partition), "offset": Int(record.offset)]])
        }
        #expect(stored.first { $0.key == "b" }?.text == lines[4])
    }

    @Test("are 200 when all lines are taken, 400 when none is or there is none")
    func statuses() throws {
        let workspace = try CollectorWorkspace()
        func status(_ body: String) throws -> Int {
            try workspace.post(
                "/v1/events/bids?type=openrtb.win", body, type: type, headers: headers
            )
            .status
        }
        #expect(try status(Self.win("a") + "\r\n" + Self.win("b")) == 200)
        #expect(try status("{}\n{}") == 400)
        #expect(try status("\n \n") == 400)
        #expect(
            try workspace.records("bids").map(\.key).sorted { $0 ?? "" < $1 ?? "" } == ["a", "b"])
    }

    @Test("split listings of several requests, and say where each part lies")
    func listings() throws {
        let workspace = try CollectorWorkspace()
        let line = """
            {"widget_id":"w","widget_index":0,"listings":[\
            {"request_id":"x","position":0,"time_elapsed_ms":1},\
            {"request_id":"y","position":0,"time_elapsed_ms":1}]}
            """
        let answer = try workspace.post(
            "/v1/events/impressions?ce_type=outbrain.listings_viewed", line, type: type,
            headers: headers)
        #expect(answer.status == 200)
        let said = try #require(answer["lines"] as? [[String: Any]])
        #expect((said[0]["records"] as? [Any])?.count == 2)
        #expect(try workspace.records("impressions").count == 2)
    }

    @Test("may be larger than one event, each of whose lines may not")
    func sizes() throws {
        let workspace = try CollectorWorkspace()
        let small = Self.win("a") + String(repeating: " ", count: 1000)
        let large = Self.win("b") + String(repeating: " ", count: 1 << 20)
        let body = Array(repeating: small, count: 1500) + [large]
        let answer = try workspace.post(
            "/v1/events/bids?type=openrtb.win", body.joined(separator: "\n"), type: type,
            headers: headers)
        #expect(answer.status == 207)
        #expect(answer["accepted"] as? Int == 1500)
        let said = try #require(answer["lines"] as? [[String: Any]])
        #expect(said.last?["error"] as? String == "too_large")
        let single = try workspace.post("/v1/events/bids?type=openrtb.win", large, headers: headers)
        #expect(single.status == 413)
    }

    @Test(
        "refuse the lines that the worker would reject, each with its reason, and take the others")
    func judged() throws {
        let workspace = try CollectorWorkspace()
        let lines = [
            #"{"auction_id":"a","bid_id":"b","price":1}"#, #"{"auction_id":"a","price":1}"#,
            #"{"auction_id":"a","bid_id":"b","price":1000001}"#,
            #"{"auction_id":"a","bid_id":"b","price":"1"}"#,
            #"{"auction_id":"c","bid_id":"b","price":0}"#,
        ]
        let answer = try workspace.post(
            "/v1/events/bids?type=openrtb.billing", lines.joined(separator: "\n"), type: type,
            headers: headers)
        #expect(answer.status == 207)
        let said = try #require(answer["lines"] as? [[String: Any]])
        #expect(
            said.map { $0["error"] as? String }
                == [nil, "missing_field", "out_of_range", "wrong_type", nil])
        #expect((said[1]["detail"] as? String)?.contains("bid_id") == true)
        #expect(Set(try workspace.records("bids").map(\.key)) == ["a", "c"])
    }

    private static func win(_ auction: String) -> String {
        #"{"auction_id":"\#(auction)","bid_id":"b"}"#
    }
}
