import ConfigurationFiles
import ConfigurationValues
import Engine
import EventLog
import Foundation
import Streams
import TestKit
import Testing

@testable import Reports
@testable import weir

@Suite("What weir check runs of each program")
struct ProgramCheckTests {
    /// What is shipped, to be changed.
    private func workspace() throws -> TemporaryDirectory {
        let workspace = try TemporaryDirectory()
        try FileManager.default.copyItem(
            atPath: Repository.path("pipelines"), toPath: workspace.path + "/pipelines")
        return workspace
    }

    private func check(_ workspace: TemporaryDirectory, log: LogAddress? = nil) -> CheckReport {
        let directory = PipelineDirectory(workspace.path + "/pipelines")
        var report = CheckReport()
        report.checkServices(directory, TopicDirectory(Repository.path("topics")), log: log)
        report.checkPartners(directory)
        return report
    }

    private func wrong(_ report: CheckReport) -> [String] {
        report.findings.compactMap { if case .wrong(let words) = $0 { words } else { nil } }
    }

    @Test("nothing is wrong with what is shipped, and the sample partner is said to be off")
    func shipped() throws {
        let report = check(try workspace())
        #expect(wrong(report) == [])
        #expect(report.text.contains("warning: "))
        #expect(report.text.contains("partner example-network is off"))
        #expect(report.text.contains("ok: collector: "))
    }

    @Test("where warnings are sent nothing is wrong before the first one is open")
    func webhook() throws {
        let workspace = try workspace()
        let path = workspace.path + "/pipelines/watch.yaml"
        let shipped = try String(contentsOfFile: path, encoding: .utf8)
        try workspace.write(
            "\(shipped)\nwebhook: {url: 'http://127.0.0.1:1/'}\n", to: "pipelines/watch.yaml")
        let found = wrong(check(workspace))
        #expect(found.contains { $0.contains("webhook.url: cannot be used: 127.0.0.1, loopback") })
    }

    @Test("what keeps a program from working is wrong, each with file, line and key, each once")
    func faults() throws {
        let workspace = try workspace()
        try workspace.write(
            "name: private\ntrust: [valid]\ndelivery:\n  url: http://127.0.0.1:9000/\n",
            to: "pipelines/partners/private.yaml")
        try workspace.write(
            "name: secret\ntrust: [valid]\ndelivery:\n  url: http://8.8.8.8/\n  headers:\n    A: file:nowhere\n",
            to: "pipelines/partners/secret.yaml")
        try workspace.write(
            "tls: {certificate: chain.pem, key: chain.pem}\n", to: "pipelines/collector.yaml")
        try workspace.write("no certificate\n", to: "pipelines/chain.pem")
        try workspace.write(
            "kafka: {sasl.password: \"env:WEIR_TEST_NOT_SET\"}\n", to: "pipelines/bids.yaml")
        let found = wrong(check(workspace, log: .kafka(["127.0.0.1:1"])))
        for words in [
            "bids.yaml:1: kafka.sasl.password", "chain.pem cannot be used for TLS",
            "partners/private.yaml:4: delivery.url: cannot be used: 127.0.0.1, loopback",
            "partners/secret.yaml:6: delivery.headers.A: names the file",
        ] {
            #expect(found.count { $0.contains(words) } == 1, "\(words) in \(found)")
        }
        #expect(found.count == 4, "\(found)")
    }

    @Test("the topic for partners has the configured name wherever topics are described")
    func partnerTopic() throws {
        let workspace = try workspace()
        try workspace.write("topic: b.partner-postbacks\n", to: "pipelines/partner-postbacks.yaml")
        let command = try #require(
            try WeirCommand.parseAsRoot([
                "topics", "apply", "--topics", Repository.path("topics"), "--pipelines",
                workspace.path + "/pipelines",
            ]) as? TopicsApplyCommand)
        let names = try command.topics.directory(
            command.pipelines.directory(of: command.data)
        ).topics().map(\.name)
        #expect(names.contains("b.partner-postbacks") && !names.contains("partner-postbacks"))
        #expect(names.contains("postbacks.dlq"))
    }

    @Test("lag asks the group that the configuration names")
    func lagGroup() throws {
        let workspace = try workspace()
        try workspace.write("group: second\n", to: "pipelines/partner-postbacks.yaml")
        let groups = try PipelineDirectory(workspace.path + "/pipelines").groups()
        #expect(groups["partner-postbacks"] == "second")
        #expect(groups["bids"] == "weir-bids")
        let log = try workspace.log("partner-postbacks", partitions: 1)
        try log.reader(topic: "partner-postbacks", group: "second").commit([0: 7])
        let stream = try StreamLag(
            stream: "partner-postbacks", topic: "partner-postbacks",
            group: groups["partner-postbacks"], stores: [], log: log, nowMilliseconds: nil)
        #expect(stream.partitions.map(\.committedOffset) == [7])
    }
}
