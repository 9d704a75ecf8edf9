import EventLog
import Foundation
import PartnerPostbacks
import Testing
import Worker

@testable import weir

@Suite("weir deliveries retry")
struct DeliveriesRetryTests {
    private let id = "2d0136c18b5007e0d205543c5bf2f427"

    /// A place with one document for acme, dead because of its address, and a partner without any.
    private func place() throws -> TemporaryPlace {
        let place = try TemporaryPlace()
        try place.write("commit_interval_ms: 5\n", to: "partner-postbacks.yaml")
        for name in ["acme", "globex"] {
            try place.write(
                "name: \(name)\ntrust: [valid]\ndelivery: {url: \"http://10.0.0.1/\"}\n",
                to: "partners/\(name).yaml")
        }
        let log = try EmbeddedLog(path: place.path + "/log.sqlite", mode: .create)
        try log.createTopic("partner-postbacks", partitionCount: 4)
        let document = #"{"id":"\#(id)","revision":1,"partner":"acme","postback":{"app_id":7}}"#
        try log.writer().append([
            OutgoingRecord(
                topic: "partner-postbacks", key: Array(id.utf8), headers: [],
                value: Array(document.utf8))
        ])
        try PartnerPostbacksWorker.work(
            WorkerOptions(
                log: .sqlite(path: place.path + "/log.sqlite"), data: place.path,
                pipelines: place.path, untilEnd: true), stop: StopSignal())
        return place
    }

    private func retry(_ arguments: [String], in place: TemporaryPlace) throws -> String {
        let command = try DeliveriesRetryCommand.parse(
            arguments + ["--data", place.path, "--pipelines", place.path])
        return try command.text()
    }

    @Test("what is dead is to be sent now, and once more when it is pending already")
    func retried() throws {
        let place = try place()
        #expect(try retry([id], in: place) == "1 to be sent now, 0 left as they are\n")
        #expect(
            try retry(["--partner", "acme"], in: place) == "1 to be sent now, 0 left as they are\n")
        #expect(try retry(["--all-dead"], in: place) == "0 to be sent now, 0 left as they are\n")
    }

    @Test("a partner that has nothing is told so")
    func nothing() throws {
        let place = try place()
        #expect(
            try retry(["--partner", "globex"], in: place)
                == "nothing for globex is pending, dead or held\n")
    }

    @Test(
        "a partner or an id that is not known is an error that names those that are",
        arguments: [
            (["--partner", "nosuch"], "there are acme, globex"),
            (["abc"], "the last are 2d0136c18b5007e0d205543c5bf2f427"),
        ])
    func unknown(arguments: [String], words: String) throws {
        let place = try place()
        let error = #expect(throws: CommandError.self) { try retry(arguments, in: place) }
        #expect("\(try #require(error))".contains(words), "\(String(describing: error))")
    }
}
