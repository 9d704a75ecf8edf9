import AggregateStore
import Inspection
import Streams
import Testing

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
            DumpQuery(name: "loss-reasons", grouping: .columns(["reason"])))
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
        let rejected = try sample.stores("data").dump(DumpQuery(name: "rejected"))
        #expect(rejected.withLossReasonNames().columns.map(\.name).contains("reason_name") == false)
    }

    @Test("a dump is limited to measures in its own order, and an unknown one is refused")
    func limited() throws {
        try sample.foldBids([.billing(0, 0, id: "a"), loss(1, reason: 102)])
        let dump = try sample.stores("data").dump(DumpQuery(name: "bids", grouping: .total))
        let some = try dump.limited(toMeasures: ["billed", "losses"])
        #expect(some.measures == ["losses", "billed"])
        #expect(some.rows.map(\.measures) == [[1, 1]])
        #expect(Set(dump.countedMeasures).isSuperset(of: ["losses", "billed"]))
        #expect(!dump.countedMeasures.contains("wins"))
        #expect(throws: InspectionError.unknownMeasure("clicks", known: dump.measures)) {
            try dump.limited(toMeasures: ["clicks"])
        }
    }
}
