import ConfigurationFiles
import ConfigurationValues
import Deliveries
import EmbeddedLog
import Engine
import EventLog
import Foundation
import JSON
import Program
import Store
import Streams
import TestKit
import Testing

@testable import weir

@Suite("Partners and deliveries on the command line")
struct PartnerCommandTests {
    private let id = "2d0136c18b5007e0d205543c5bf2f427"

    private var document: String {
        """
        {"id":"\(id)","revision":1,"partner":"acme","postback":{"app_id":7},"conversion":{"value":63}}
        """
    }

    private func workspace() throws -> TemporaryDirectory {
        let workspace = try TemporaryDirectory()
        try workspace.write("commit_interval_ms: 5\n", to: "partner-postbacks.yaml")
        try workspace.write(
            """
            name: acme
            trust: [valid]
            delivery:
              url: "http://10.0.0.1/p?a={postback.app_id}"
              headers: {Authorization: "env:WEIR_TEST_NOT_SET", X-V: "{conversion.value}"}
              secret_file: not-there

            """, to: "partners/acme.yaml")
        return workspace
    }

    @Test("a preview shows what would be sent, without its secrets")
    func preview() throws {
        let workspace = try workspace()
        try workspace.write(document, to: "document.json")
        let partner = try #require(try PipelineDirectory(workspace.path).partners().first)
        let parser = try #require(JSONParser())
        let preview = try PartnerPreview(
            of: DeliveryDocument(Array(document.utf8), parser: parser), for: partner,
            timestampSeconds: 1_700_000_000)
        let request = try #require(preview.request)
        #expect(
            RequestReport(request: request).text(.table) == """
                POST http://10.0.0.1/p?a=7
                Authorization: ***
                X-V: 63
                Content-Type: application/json
                Idempotency-Key: \(id):1
                User-Agent: Weir
                webhook-id: \(id):1
                webhook-timestamp: 1700000000
                webhook-signature: v1,***

                \(document)

                """)
        #expect(
            RequestReport(request: request).text(.json).contains(#""url":"http://10.0.0.1/p?a=7""#))
    }

    @Test(
        "a preview for a partner without a url says that none is set", arguments: ["GET", "POST"])
    func previewOff(_ method: String) throws {
        let workspace = try workspace()
        try workspace.write(
            "name: acme\ntrust: [valid]\ndelivery: {method: \(method), preset: adjust}\n",
            to: "partners/acme.yaml")
        try workspace.write(document, to: "document.json")
        let up = try UpWorkspace()
        let arguments = [
            "partners", "preview", "acme", "--postback", "\(workspace.path)/document.json",
            "--pipelines", workspace.path,
        ]
        let shown = try up.weir(arguments)
        #expect(shown.status == 0, "\(shown.error)")
        #expect(shown.output.hasPrefix("\(method) (no url is set)"), "\(shown.output)")
        #expect(!shown.output.contains("invalid"))
        #expect(shown.error.contains("acme is off"))
        let json = try up.weir(arguments + ["--format", "json"]).output
        #expect(json.contains(#""url":null"#) && !json.contains("invalid"), "\(json)")
    }

    @Test("weir check says where a template names what is no macro")
    func check() throws {
        let workspace = try workspace()
        try workspace.write(
            "name: acme\ntrust: [valid]\ndelivery:\n  url: https://e/{postback.ap_id}\n",
            to: "partners/acme.yaml")
        var report = CheckReport()
        report.check(PipelineDirectory(workspace.path))
        #expect(report.wrongCount == 1)
        #expect(report.text.contains("partners/acme.yaml:4: delivery.url: names {postback.ap_id}"))
    }

    @Test("dead deliveries are listed with their reason, shown, and pending again after a retry")
    func deliveries() throws {
        let workspace = try workspace()
        try workspace.write(
            "name: acme\ntrust: [valid]\ndelivery: {url: \"http://10.0.0.1/\"}\n",
            to: "partners/acme.yaml")
        let log = try EmbeddedLog(path: workspace.path + "/log.sqlite", mode: .create)
        try log.createTopic("partner-postbacks", partitionCount: 4)
        try log.writer().append([
            OutgoingRecord(
                topic: "partner-postbacks", key: Array(id.utf8), headers: [],
                value: Array(document.utf8))
        ])
        try PartnerPostbacksWorker.work(
            WorkerOptions(
                log: .sqlite(path: workspace.path + "/log.sqlite"), data: workspace.path,
                pipelines: workspace.path, untilEnd: true), stop: StopSignal())
        let store = try DeliveryStore(existing: DeliveryStore.path(in: workspace.path))
        let listed = DeliveriesReport(deliveries: try store.deliveries(limit: 10)[...]).text(.table)
        #expect(listed.contains("dead") && listed.contains("address: 10.0.0.1, private"))
        let partners = try PartnersReport(PipelineDirectory(workspace.path).partners(), [store])
        #expect(partners.text(.json).contains(#""dead":1"#))
        let entry = try #require(try store.history(of: id).first)
        let shown = DeliveryReport(
            delivery: entry.delivery, attempts: entry.attempts, document: entry.document)
        #expect(shown.text(.table).contains("\n      1  "), "\(shown.text(.table))")
        #expect(shown.text(.table).hasSuffix("\n\(document)\n"))
        let up = try UpWorkspace()
        func list(_ partner: String) throws -> (status: Int32, output: String, error: String) {
            let said = try up.weir([
                "deliveries", "list", "--partner", partner, "--data", workspace.path, "--pipelines",
                workspace.path,
            ])
            return (said.status, said.output, said.error)
        }
        #expect(try list("acme").output.contains(id))
        let unknown = try list("nosuch")
        #expect(unknown.status == 1 && unknown.output.isEmpty)
        #expect(unknown.error.contains("no partner 'nosuch': there are acme"), "\(unknown.error)")
        // One whose file is gone is known by what is there for it, and one with a file by that.
        try FileManager.default.moveItem(
            atPath: workspace.path + "/partners/acme.yaml",
            toPath: workspace.path + "/partners/other.yaml")
        try workspace.write(
            "name: other\ntrust: [valid]\ndelivery: {}\n", to: "partners/other.yaml")
        #expect(try list("acme").output.contains(id))
        #expect(try list("other").output == "no deliveries\n")
        _ = try store.retry(.id(id), nowMilliseconds: 5)
        #expect(
            try store.deliveries(state: .pending, limit: 10).map(\.nextAttemptMilliseconds) == [5])
    }
}
