import Reports
import TestKit
import Testing
import Wording

@Suite("Dumps of refused records")
struct RefusedRecordTests {
    private let sample = SampleStores()

    private func foldSome() throws {
        try sample.foldBids([
            .billing(0, 0, id: "a"),
            .init(partition: 1, offset: 0, milliseconds: 7, type: "openrtb.win", value: nil),
            .init(partition: 0, offset: 1, milliseconds: 5, type: "other", value: "{}"),
            .init(partition: 0, offset: 2, milliseconds: 6, value: "{"),
        ])
        try sample.foldPostbacks([.postback(0), .postback(1, value: 21), .postback(2)])
    }

    @Test("rejected records of all streams are listed with their reasons")
    func rejected() throws {
        try foldSome()
        let dump = try sample.stores("data").dump(ReportRequest(name: "rejected"))
        #expect(
            dump.columns.map(\.name) == [
                "topic", "partition", "offset", "timestamp", "type", "reason", "detail",
            ])
        #expect(dump.measures.isEmpty)
        #expect(
            dump.rows.map { Array($0.columns.dropLast()) } == [
                [
                    .text("bids"), .integer(0), .integer(1), .integer(5), .text("other"),
                    .text("unknown_type"),
                ],
                [
                    .text("bids"), .integer(0), .integer(2), .integer(6), .text(""),
                    .text("malformed_json"),
                ],
                [
                    .text("bids"), .integer(1), .integer(0), .integer(7), .text("openrtb.win"),
                    .text("tombstone"),
                ],
            ])
    }

    @Test("tables show their times as people read them, other formats as the contract has them")
    func timesOfTables() throws {
        try foldSome()
        let dump = try sample.stores("data").dump(
            ReportRequest(name: "rejected", grouping: .columns(["offset", "timestamp"])))
        #expect(
            dump.text(as: .table) == """
                offset  timestamp                 records
                     0  1970-01-01T00:00:00.007Z        1
                     1  1970-01-01T00:00:00.005Z        1
                     2  1970-01-01T00:00:00.006Z        1

                """)
        #expect(dump.text(as: .ndjson).hasPrefix(#"{"offset":0,"timestamp":7,"records":1}"#))
        #expect(dump.text(as: .csv).hasPrefix("offset,timestamp,records\r\n0,7,1\r\n"))
    }

    @Test("conflicts are a list of their own, and nothing is untrusted")
    func conflicts() throws {
        try foldSome()
        let stores = try sample.stores("data")
        let conflicts = try stores.dump(ReportRequest(name: "conflicts"))
        #expect(conflicts.rows.map { $0.columns[2] } == [.integer(1)])
        #expect(conflicts.rows.map { $0.columns[5] } == [.text("conflict")])
        #expect(try stores.dump(ReportRequest(name: "untrusted")).rows.isEmpty)
    }

    @Test("grouped, they are counted")
    func counted() throws {
        try foldSome()
        let stores = try sample.stores("data")
        #expect(
            try stores.lines(ReportRequest(name: "rejected", grouping: .columns(["partition"])))
                == [
                    #"{"partition":0,"records":2}"#, #"{"partition":1,"records":1}"#,
                ])
        #expect(
            try stores.lines(ReportRequest(name: "rejected", grouping: .columns(["day", "hour"])))
                == [
                    #"{"hour":"1970-01-01T00:00:00Z","day":"1970-01-01","records":3}"#
                ])
        #expect(
            try stores.lines(ReportRequest(name: "conflicts", grouping: .total)) == [
                #"{"records":1}"#
            ])
    }

    @Test("times select by the record's timestamp")
    func times() throws {
        try foldSome()
        let query = ReportRequest(
            name: "rejected", grouping: .total, sinceMilliseconds: 5, untilMilliseconds: 7)
        #expect(try sample.stores("data").lines(query) == [#"{"records":2}"#])
    }
}
