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
    private func workspace() throws -> TemporaryDirectory {
        let workspace = try TemporaryDirectory()
        try workspace.write("commit_interval_ms: 5\n", to: "partner-postbacks.yaml")
        for name in ["acme", "globex"] {
            try workspace.write(
                "name: \(name)\ntrust: [valid]\ndelivery: {url: \"http://10.0.0.1/\"}\n",
                to: "partners/\(name).yaml")
        }
        let log = try EmbeddedLog(path: workspace.path + "/log.sqlite", mode: .create)
        try log.createTopic("partner-postbacks", partitionCount: 4)
        let document = #"{"id":"\#(id)","revision":1,"partner":"acme","postback":{"app_id":7}}"#
        try log.writer().append([
            OutgoingRecord(
                topic: "partner-postbacks", key: Array(id.utf8), headers: [],
                value: Array(document.utf8))
        ])
        try PartnerPostbacksWorker.work(
            WorkerOptions(
                log: .sqlite(path: workspace.path + "/log.sqlite"), data: workspace.path,
                pipelines: workspace.path, untilEnd: true), stop: StopSignal())
        return workspace
    }

    private func retry(_ arguments: [String], in workspace: TemporaryDirectory) throws -> String {
        let command = try DeliveriesRetryCommand.parse(
            arguments + ["--data", workspace.path, "--pipelines", workspace.path])
        return try command.text()
    }

    @Test("what is dead is to be sent now, and once more when it is pending already")
    func retried() throws {
        let workspace = try workspace()
        #expect(try retry([id], in: workspace) == "1 to be sent now, 0 unchanged\n")
        #expect(
            try retry(["--partner", "acme"], in: workspace) == "1 to be sent now, 0 unchanged\n")
        #expect(try retry(["--all-dead"], in: workspace) == "0 to be sent now, 0 unchanged\n")
    }

    @Test("a partner that has nothing is told so")
    func nothing() throws {
        let workspace = try workspace()
        #expect(
            try retry(["--partner", "globex"], in: workspace)
                == "globex has no pending, dead or held deliveries\n")
    }

    @Test(
        "a partner or an id that is not known is an error that names those that are",
        arguments: [
            (["--partner", "nosuch"], "there are acme, globex"),
            (["abc"], "the last are 2d0136c18b5007e0d205543c5bf2f427"),
        ])
    func unknown(arguments: [String], words: String) throws {
        let workspace = try workspace()
        let error = #expect(throws: CommandError.self) { try retry(arguments, in: workspace) }
        #expect("\(try #require(error))".contains(words), "\(String(describing: error))")
    }

    private func state(in workspace: TemporaryDirectory) throws -> DeliveryState? {
        let store = try DeliveryStore(existing: DeliveryStore.path(in: workspace.path))
        return try store.deliveries(limit: 1).first?.state
    }

    @Test("what is for a partner without a file is left as it is, and the file is named")
    func withoutFile() throws {
        let workspace = try workspace()
        try FileManager.default.removeItem(atPath: workspace.path + "/partners/acme.yaml")
        for arguments in [["--partner", "acme"], [id]] {
            let error = #expect(throws: CommandError.self) { try retry(arguments, in: workspace) }
            let commandError = try #require(error)
            #expect(commandError.exitCode == 1)
            #expect(
                commandError.explanation?.contains(
                    "there is no file \(workspace.path)/partners/acme.yaml")
                    == true)
            #expect(try state(in: workspace) == .dead)
        }
        let said = try retry(["--all-dead"], in: workspace)
        #expect(
            said.hasPrefix("0 to be sent now, 1 unchanged\nskipped acme: there is no file"))
        #expect(try state(in: workspace) == .dead)
        // Put back, it is sent.
        try workspace.write(
            "name: acme\ntrust: [valid]\ndelivery: {url: \"http://10.0.0.1/\"}\n",
            to: "partners/acme.yaml")
        #expect(try retry(["--all-dead"], in: workspace) == "1 to be sent now, 0 unchanged\n")
    }

    @Test("all that is dead is not sent to a partner that answered 410, which is named")
    func disabled() throws {
        let workspace = try workspace()
        let partner = try ScriptedPartner { _, _ in .answer(410) }
        try workspace.write(
            "name: acme\ntrust: [valid]\ndelivery: {url: \"http://127.0.0.1:\(partner.port)/\", allow_private: true}\n",
            to: "partners/acme.yaml")
        #expect(try retry([id], in: workspace).hasPrefix("1 to be sent now"))
        try PartnerPostbacksWorker.work(
            WorkerOptions(
                log: .sqlite(path: workspace.path + "/log.sqlite"), data: workspace.path,
                pipelines: workspace.path, untilEnd: true), stop: StopSignal())
        #expect(try state(in: workspace) == .dead)
        #expect(
            try retry(["--all-dead"], in: workspace)
                == "0 to be sent now, 1 unchanged\nskipped acme: it is disabled, because it answered 410; see weir deliveries retry --partner acme\n"
        )
        #expect(try state(in: workspace) == .dead)
        #expect(
            try retry(["--partner", "acme"], in: workspace)
                == "1 to be sent now, 0 unchanged\nacme is enabled again\n")
    }
}
