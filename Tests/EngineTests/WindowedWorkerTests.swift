import Engine
import Program
import Streams
import TestKit
import Testing

@Suite("Workers of streams with a window")
struct WindowedWorkerTests {
    @Test(
        "Every record read has one outcome, and the next offset is behind the last one",
        arguments: WindowedStream.allCases)
    func outcomesAddUp(_ stream: WindowedStream) throws {
        let workspace = try Workspace()
        try workspace.publish(stream.rawValue, stream.records(1500, seed: 1))
        try workspace.fold(stream)
        let outcomes = try Outcome.allCases.map { try workspace.outcome($0, stream.rawValue) }
        #expect(outcomes.reduce(0, +) == 1500)
        #expect(workspace.folded(stream.rawValue) == 1500)
        #expect(outcomes[Outcome.duplicates.rawValue] > 100)
        #expect(
            try Int64(workspace.refused(stream.rawValue).count)
                == outcomes[Outcome.rejected.rawValue])
    }

    @Test("A sum that overflows in one lane rejects its one record, and the other lanes' are kept")
    func overflowInOneLane() throws {
        var contents: [[String]] = []
        for lanes in [1, 2] {
            let workspace = try Workspace()
            try workspace.write("bids.yaml", "batch_records: 1000\n")
            try workspace.publish("bids", Samples.bids(40, seed: 9))
            func fold() throws {
                try workspace.fold("bids", workspace.options(data: "data"), lanes: lanes)
            }
            try fold()
            try workspace.execute(
                "UPDATE bids_sums SET auctions = 9223372036854775806", stream: "bids")
            try workspace.publish("bids", Samples.bids(60, seed: 10))
            try fold()
            #expect(try !workspace.refused(for: "overflow", "bids").isEmpty)
            contents.append(try workspace.contents("bids", ofOneLog: false))
        }
        #expect(contents[0] == contents[1])
    }

    @Test("The store is the same when partitions are folded one after the other, in any order")
    func interleavingChangesNothing() throws {
        let stream = WindowedStream.bids
        let workspace = try Workspace()
        try workspace.publish(stream.rawValue, stream.records(800, seed: 3))
        try workspace.fold(stream, data: "together")
        for partition in [2, 0, 3, 1] {
            try workspace.fold(
                stream.rawValue,
                workspace.options(data: "apart", ["--until-end", "--partitions", "\(partition)"]))
        }
        #expect(
            try workspace.contents(stream.rawValue, data: "together")
                == workspace.contents(stream.rawValue, data: "apart"))
    }

    @Test("A record of listings whose sum would overflow leaves none of its ids behind")
    func overflowOfListings() throws {
        var contents: [[String]] = []
        for size in [1, 2, 1000] {
            let workspace = try Workspace()
            func listings(_ positions: [Int]) -> String {
                let listings = positions.map {
                    "{\"request_id\":\"r\",\"position\":\($0),\"time_elapsed_ms\":1}"
                }
                return """
                    {"widget_id":"w","widget_index":0,"listings":[\(listings.joined(separator: ","))]}
                    """
            }
            func publish(_ positions: [Int]...) throws {
                try workspace.publish(
                    "impressions",
                    positions.map {
                        Samples.record(
                            "impressions", listings($0), type: "outbrain.listings_viewed",
                            partition: 0)
                    })
                try workspace.fold(.impressions)
            }
            try workspace.write("impressions.yaml", "batch_records: \(size)\n")
            try publish([0])
            try workspace.execute(
                "UPDATE impressions_sums SET viewed = 9223372036854775807 - 2",
                stream: "impressions")
            try publish([0, 1, 2, 3], [1, 2], [2, 1], [3])
            #expect(
                try workspace.sum("viewed", of: "impressions", stream: "impressions") == Int64.max)
            #expect(try workspace.refused(for: "overflow", "impressions") == [1, 4])
            #expect(try workspace.outcome(.duplicates, "impressions") == 1)
            contents.append(try workspace.contents("impressions", ofOneLog: false))
        }
        #expect(Set(contents).count == 1)
    }
}
