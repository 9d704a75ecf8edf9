import EventLog
import Foundation
import Program
import Streams
import Testing
import Worker

@Suite("Two installations on one log")
struct SharedClusterTests {
    @Test("publish to topics of their own, and neither takes the other's documents for published")
    func documents() throws {
        let place = try Workplace()
        func configure(_ directory: String, _ postbacks: String) throws {
            try place.write("\(directory)postbacks.yaml", postbacks + Samples.trustedKeys)
            try place.write("\(directory)conversion-models/525463029.yaml", Samples.model)
            try place.write("\(directory)partners/acme.yaml", Samples.partner)
        }
        try configure("", "")
        try configure("second/", "group: second-postbacks\n")
        try place.write("second/partner-postbacks.yaml", "topic: second.partner-postbacks\n")
        try place.publish(
            "postbacks",
            try (0..<5).map {
                Samples.record("postbacks", try Samples.postback("t\($0)"), partition: 0)
            })
        try place.foldPostbacks()
        try PostbacksFold.work(
            WorkerOptions(
                log: place.logAddress, data: place.path + "/second",
                pipelines: place.pipelines + "/second", untilEnd: true), stop: StopSignal())
        let first = try place.records("partner-postbacks")
        let second = try place.records("second.partner-postbacks")
        #expect(first.count == 5)
        #expect(second.map(\.value) == first.map(\.value))
        let log = try place.openLog()
        for group in ["weir-postbacks", "second-postbacks"] {
            let reader = try log.reader(topic: "postbacks", group: group)
            #expect(try reader.committedOffsets()[0] == 5, "\(group)")
        }
    }

    @Test(
        "a name that is none is refused with its line",
        arguments: [
            ("group: \"\"\n", "postbacks.yaml:1: group: is no group"),
            ("batch_records: 1\ngroup: a b\n", "postbacks.yaml:2: group: is no group"),
            ("groups: a\n", "postbacks.yaml:1: groups: unknown key"),
        ])
    func badNames(_ text: String, _ words: String) throws {
        let place = try Workplace()
        try place.write("postbacks.yaml", text)
        try place.publish("postbacks", [])
        let error = #expect(throws: (any Error).self) { try place.foldPostbacks() }
        #expect("\(try #require(error))".contains(words), "\(String(describing: error))")
    }
}
