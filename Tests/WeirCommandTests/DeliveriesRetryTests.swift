import Deliveries
import EmbeddedLog
import Engine
import EventLog
import Foundation
import Program
import Store
import TestKit
import Testing

@testable import weir

@Suite("weir deliveries retry")
struct DeliveriesRetryTests {
    private let id = "2d0136c18b5007e0d205543c5bf2f427"

    /// A place with one document for acme, dead because of its address, and a partner without any.
    private func place() throws -> TemporaryDirectory {
        let place = try TemporaryDirectory()
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

    private func retry(_ arguments: [String], in place: TemporaryDirectory) throws -> String {
        let command = try DeliveriesRetryCommand.parse(
            arguments + ["--data", place.path, "--pipelines", place.path])
        return try command.text()
    }

    @Test("what is dead is to be sent now, and once more when it is pending already")
    func retried() throws {
        let place = try place()
        #expect(try retry([id], in: place) == "1 to be sent now, 0 unchanged\n")
        #expect(
            try retry(["--partner", "acme"], in: place) == "1 to be sent now, 0 unchanged\n")
        #expect(try retry(["--all-dead"], in: place) == "0 to be sent now, 0 unchanged\n")
    }

    @Test("a partner that has nothing is told so")
    func nothing() throws {
        let place = try place()
        #expect(
            try retry(["--partner", "globex"], in: place)
                == "globex has no pending, dead or held deliveries\n")
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

    private func state(in place: TemporaryDirectory) throws -> DeliveryState? {
        let store = try DeliveryStore(existing: DeliveryStore.path(in: place.path))
        return try store.deliveries(limit: 1).first?.state
    }

    @Test("what is for a partner without a file is left as it is, and the file is named")
    func withoutFile() throws {
        let place = try place()
        try FileManager.default.removeItem(atPath: place.path + "/partners/acme.yaml")
        for arguments in [["--partner", "acme"], [id]] {
            let error = #expect(throws: CommandError.self) { try retry(arguments, in: place) }
            let known = try #require(error)
            #expect(known.exitCode == 1)
            #expect(
                known.explanation?.contains("there is no file \(place.path)/partners/acme.yaml")
                    == true)
            #expect(try state(in: place) == .dead)
        }
        let said = try retry(["--all-dead"], in: place)
        #expect(
            said.hasPrefix("0 to be sent now, 1 unchanged\nskipped acme: there is no file"))
        #expect(try state(in: place) == .dead)
        // Put back, it is sent.
        try place.write(
            "name: acme\ntrust: [valid]\ndelivery: {url: \"http://10.0.0.1/\"}\n",
            to: "partners/acme.yaml")
        #expect(try retry(["--all-dead"], in: place) == "1 to be sent now, 0 unchanged\n")
    }

    @Test("all that is dead is not sent to a partner that answered 410, which is named")
    func disabled() throws {
        let place = try place()
        let partner = try ScriptedPartner { _, _ in .answer(410) }
        try place.write(
            "name: acme\ntrust: [valid]\ndelivery: {url: \"http://127.0.0.1:\(partner.port)/\", allow_private: true}\n",
            to: "partners/acme.yaml")
        #expect(try retry([id], in: place).hasPrefix("1 to be sent now"))
        try PartnerPostbacksWorker.work(
            WorkerOptions(
                log: .sqlite(path: place.path + "/log.sqlite"), data: place.path,
                pipelines: place.path, untilEnd: true), stop: StopSignal())
        #expect(try state(in: place) == .dead)
        #expect(
            try retry(["--all-dead"], in: place)
                == "0 to be sent now, 1 unchanged\nskipped acme: it is disabled, because it answered 410; see weir deliveries retry --partner acme\n"
        )
        #expect(try state(in: place) == .dead)
        #expect(
            try retry(["--partner", "acme"], in: place)
                == "1 to be sent now, 0 unchanged\nacme is enabled again\n")
    }
}
