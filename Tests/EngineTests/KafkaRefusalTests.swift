import Engine
import EventLog
import Foundation
import KafkaLog
import Program
import Streams
import TestKit
import Testing

@Suite("Another log than the one that was folded")
struct KafkaRefusalTests {
    private let place: ClusterPlace
    /// A second cluster; its topic has the same name.
    private let other: ClusterPlace

    init() throws {
        place = try ClusterPlace(.mock)
        other = try ClusterPlace(.mock)
        try place.makeTopic("bids")
        try place.configure("bids")
        try place.publish(Samples.bids(80, seed: 31))
        try fold(place)
    }

    @Test("A store of another cluster is not folded on, and the words say so")
    func otherCluster() async throws {
        try await refuses("is in another cluster") {
            try other.makeTopic("bids")
            try other.publish(Samples.bids(80, seed: 31))
        }
    }

    @Test("A topic that was created anew with other records is noticed by the last record folded")
    func otherRecords() async throws {
        try await refuses("contains another record at offset") {
            try other.makeTopic("bids")
            try other.publish(Samples.bids(400, seed: 32))
            try takeForTheSameCluster()
        }
    }

    @Test("A log that ends before what was folded is not folded on")
    func truncated() async throws {
        try await refuses("the log was truncated or is another log") {
            try other.makeTopic("bids")
            try other.publish(Array(Samples.bids(80, seed: 31)[..<20]))
            try takeForTheSameCluster()
        }
    }

    @Test("A log whose first records are gone is not folded on")
    func startsLater() async throws {
        try await refuses("the records between were deleted") {
            try other.makeTopic("bids")
            // The mock cluster keeps 5 MiB of a partition; these bytes do not get smaller.
            var generator = SystemRandomNumberGenerator()
            let writer = try other.log.writer()
            for _ in 0..<100 {
                let value = (0..<100_000).map { _ in UInt8.random(in: 0...255, using: &generator) }
                try writer.append(
                    (0..<4).map {
                        OutgoingRecord(topic: "bids", partition: $0, key: nil, value: value)
                    })
            }
            try takeForTheSameCluster()
        }
    }

    @Test(
        "A topic with another number of partitions is folded on only when it is said, and then all of it"
    )
    func partitionCount() async throws {
        try await refuses("--accept-partition-count 6") {
            try other.makeTopic("bids", partitionCount: 6)
            try other.publish(Samples.bids(80, seed: 31))
            try takeForTheSameCluster()
        }
        try other.publish(([4, 5] as [Int32]).map { Samples.bid("new\($0)", partition: $0) })
        #expect(throws: (any Error).self) { try fold(other, ["--accept-partition-count", "5"]) }
        try fold(other, ["--accept-partition-count", "6"])
        #expect(place.place.folded("bids") == 82)
        // From now on without saying it.
        try fold(other)
    }

    /// Folding the other cluster into the store fails in one line with these words, and changes nothing.
    private func refuses(_ words: String, _ prepare: () throws -> Void) async throws {
        try prepare()
        let before = try place.contents("bids", data: "data")
        for arguments in [[], ["--partitions", "0,1,2,3"]] {
            let failure = #expect(throws: (any Error).self) { try fold(other, arguments) }
            let text = String(describing: try #require(failure))
            #expect(text.contains(words) && !text.contains("\n"), "\(text)")
        }
        #expect(try place.contents("bids", data: "data") == before)
    }

    /// Folds a cluster's topic into the first place's store.
    private func fold(_ source: ClusterPlace, _ arguments: [String] = []) throws {
        let options = try WorkerOptions.parse(
            place.place.commandLine(log: source.address) + ["--until-end"] + arguments)
        try BidsFold.work(options, stop: StopSignal())
    }

    /// Mock clusters have an id each, where a real one keeps its own: the store is told the other's.
    private func takeForTheSameCluster() throws {
        let identity = try other.log.reader(topic: "bids").identity()
        try place.place.execute("UPDATE store SET log_identity = '\(identity)'", stream: "bids")
    }
}
