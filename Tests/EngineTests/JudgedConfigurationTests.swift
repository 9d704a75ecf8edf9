import ConfigurationFiles
import ConfigurationValues
import Engine
import Program
import Store
import Streams
import TestKit
import Testing

@Suite("A configuration that is judged for every partition before anything is written")
struct JudgedConfigurationTests {
    private let place: Workplace
    private let model = Samples.modelFile
    /// In effect before what is folded.
    private let appended =
        Samples.model + """
              - id: second
                effective_from: 2026-11-01T00:00:00Z
                currency: USD
                fine: {fields: [{bits: [0, 0], kind: flags, flags: {"0": opened}}]}

            """

    init() throws {
        place = try Workplace()
        try place.write("postbacks.yaml", Samples.trustedKeys)
    }

    private func publish(_ transaction: String, app: Int = 525_463_029, partition: Int32) throws {
        try place.publish("postbacks", Samples.signed(transaction, app: app, partition: partition))
    }

    private var refusal: WorkerError? {
        get throws {
            try PostbacksFold.refusal(
                of: StoreReader(path: place.path + "/data/postbacks.sqlite"),
                pipelines: PipelineDirectory(place.pipelines))
        }
    }

    @Test("One that is refused leaves the store as it was, and taking it back works")
    func refusedOnOnePartition() throws {
        try place.write(model, Samples.model)
        // Partition 0 has no postback that the new version could say something of.
        try publish("t1", app: 1, partition: 0)
        try publish("t2", partition: 1)
        try place.foldPostbacks()
        let before = try place.contents("postbacks")
        try place.write(model, appended)
        for partitions in ["all", "0"] {
            let options = try place.options(["--until-end", "--partitions", partitions])
            let error = #expect(throws: WorkerError.self) {
                try PostbacksFold.work(options, stop: StopSignal())
            }
            #expect("\(try #require(error))".contains("version 'second' takes effect at"))
            #expect("\(try #require(error))".contains("partition 1 is already folded up to"))
        }
        #expect(try place.contents("postbacks") == before)
        #expect("\(try #require(try refusal))".contains("version 'second' takes effect at"))
        try place.write(model, Samples.model)
        #expect(try refusal == nil)
        try publish("t3", partition: 0)
        try place.foldPostbacks()
        #expect(place.folded("postbacks") == 3)
    }

    @Test("Taking back a change under which nothing was folded works, and leaves no trace")
    func takenBack() throws {
        try place.write(model, Samples.model)
        try publish("t1", partition: 0)
        try place.foldPostbacks()
        let before = try place.contents("postbacks")
        // What a worker of before has left.
        try place.execute(
            """
            INSERT OR REPLACE INTO epochs SELECT partition, next_offset, 'hash', '{"models":[{"app":525463029,
              "versions":[{"id":"second","effective_from_ms":0}]}]}', NULL FROM partitions
            """, stream: "postbacks")
        try place.foldPostbacks()
        #expect(try place.contents("postbacks") == before)
        // And what this one does: a version that is not in effect yet.
        try place.write(model, appended.replacingOccurrences(of: "2026-11-01", with: "2026-12-01"))
        try place.foldPostbacks()
        #expect(try place.contents("postbacks") != before)
        try place.write(model, Samples.model)
        try place.foldPostbacks()
        #expect(try place.contents("postbacks") == before)
    }

    @Test("A version under which no postback of its app was folded may be edited and removed")
    func nothingFoldedUnderIt() throws {
        try place.write(model, Samples.model)
        try publish("t1", app: 1, partition: 0)
        try place.foldPostbacks()
        try place.write(model, Samples.model.replacingOccurrences(of: "max: 100", with: "max: 200"))
        try place.foldPostbacks()
        try place.remove(model)
        try publish("t2", app: 1, partition: 0)
        try place.foldPostbacks()
        // From now on it is history.
        try place.write(model, Samples.model)
        try publish("t3", partition: 0)
        try place.foldPostbacks()
        try place.remove(model)
        let error = #expect(throws: WorkerError.self) { try place.foldPostbacks() }
        #expect("\(try #require(error))".contains("version 'first' was removed"))
    }

    @Test("A shorter window under which nothing was folded forgets no id")
    func windowTakenBack() throws {
        let window = "batch_records: 100\ndedupe_window_seconds: "
        try place.write("bids.yaml", window + "7200\n")
        try place.publish("bids", Samples.bids(1000, seed: 1))
        for data in ["data", "plain"] { try place.foldBids(data: data) }
        try place.write("bids.yaml", window + "60\n")
        try place.foldBids()
        try place.write("bids.yaml", window + "7200\n")
        try place.foldBids()
        try place.publish("bids", Samples.bids(1000, seed: 1))
        for data in ["data", "plain"] { try place.foldBids(data: data) }
        #expect(try place.contents("bids") == place.contents("bids", data: "plain"))
    }
}
