import Deliveries
import EmbeddedLog
import Engine
import EventLog
import Foundation
import Program
import Store
import TestKit
import Testing

@testable import Reports
@testable import weir

@Suite("What lag and check say of deliveries")
struct DeliveryCheckTests {
    private let workspace: TemporaryDirectory
    private let log: EmbeddedLog

    /// A log with a document for each of some partners, in partition 0.
    init() throws {
        workspace = try TemporaryDirectory()
        log = try workspace.log("partner-postbacks", partitions: 2)
        try publish(["away", "gone", "private", "unknown"])
    }

    private func publish(_ partners: [String]) throws {
        let writer = try log.writer()
        for partner in partners {
            let id = partner.utf8.map { String($0, radix: 16) }.joined()
            let document =
                #"{"id":"\#(id.padding(toLength: 32, withPad: "0", startingAt: 0))","revision":1,"#
                + #""partner":"\#(partner)","postback":{}}"#
            try writer.append([
                OutgoingRecord(
                    topic: "partner-postbacks", partition: 0, timestampMilliseconds: 1000,
                    key: nil, value: Array(document.utf8))
            ])
        }
    }

    private func addPartner(_ name: String, _ url: String, allowsPrivate: Bool) throws {
        try workspace.write(
            "name: \(name)\ntrust: [valid]\ndelivery: {url: \"\(url)\", allow_private: \(allowsPrivate)}\n",
            to: "partners/\(name).yaml")
    }

    /// Delivers what is in the log, one attempt each.
    private func deliver(into instance: String = "") throws {
        try workspace.write("commit_interval_ms: 5\n", to: "partner-postbacks.yaml")
        try PartnerPostbacksWorker.work(
            WorkerOptions(
                log: .sqlite(path: workspace.path + "/log.sqlite"), data: workspace.path + instance,
                pipelines: workspace.path, untilEnd: true), stop: StopSignal())
    }

    private func check(topic: String = "partner-postbacks") throws -> String {
        var report = CheckReport()
        try #require(DeliveryCheck(in: workspace.path)).run(log, topic: topic, into: &report)
        return report.text.replacing(workspace.path, with: "DIR")
    }

    @Test("lag says how far the topic is taken over, how much is pending, and for how long")
    func lag() throws {
        try addPartner("away", "http://127.0.0.1:1/", allowsPrivate: true)
        try deliver()
        try publish(["away-again", "later"])
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        let report = try LagReport(
            directories: [workspace.path], log: log, nowMilliseconds: now + 60_000)
        let stream = try #require(report.streams.first)
        #expect(stream.stream == "partner-postbacks")
        #expect(stream.partitions.map(\.nextOffset) == [4, 0])
        #expect(stream.partitions.map(\.lag) == [2, 0])
        #expect(stream.partitions.map(\.committedOffset) == [4, 0])
        #expect(stream.waiting?.count == 1)
        let seconds = try #require(stream.waiting?.seconds(at: now + 60_000))
        #expect((59...600).contains(seconds))
        #expect(report.text(.table).hasSuffix("; 1 pending, the oldest for \(seconds) s\n"))
        #expect(report.text(.json).contains(#""pending":1,"pending_seconds":\#(seconds),"#))
    }

    @Test("check names partners that are disabled, what is dead, and what waits for somebody")
    func check() throws {
        let partner = try ScriptedPartner { _, _ in .answer(410) }
        try addPartner("away", "http://127.0.0.1:1/", allowsPrivate: true)
        try addPartner("gone", "http://127.0.0.1:\(partner.port)/", allowsPrivate: true)
        try addPartner("private", "http://127.0.0.1:1/", allowsPrivate: false)
        try deliver()
        #expect(partner.requests.count == 1)
        let lines = try check().split(separator: "\n")
        #expect(lines.count == 4, "\(lines)")
        for (line, start) in zip(
            lines,
            [
                "wrong: DIR/deliveries.sqlite: partner gone is disabled, because it answered 410",
                "wrong: DIR/deliveries.sqlite: 1 deliveries for gone are dead",
                "wrong: DIR/deliveries.sqlite: 1 deliveries for private are dead",
                "warning: DIR/deliveries.sqlite: 1 deliveries for unknown are held",
            ])
        { #expect(line.hasPrefix(start), "\(line)") }
    }

    @Test("deliveries of another topic or log are wrong, and those that go on are right")
    func origin() throws {
        try addPartner("away", "http://127.0.0.1:1/", allowsPrivate: true)
        try addPartner("gone", "http://127.0.0.1:1/", allowsPrivate: true)
        try addPartner("private", "http://127.0.0.1:1/", allowsPrivate: true)
        try addPartner("unknown", "http://127.0.0.1:1/", allowsPrivate: true)
        try deliver()
        #expect(try check() == "ok: deliveries DIR/deliveries.sqlite: 0 delivered, 4 pending\n")
        #expect(try check(topic: "t").contains("no topic 't'"))
        let elsewhere = try TemporaryDirectory()
        let other = try elsewhere.log("partner-postbacks", partitions: 2)
        var report = CheckReport()
        try #require(DeliveryCheck(in: workspace.path)).run(other, topic: nil, into: &report)
        #expect(report.text.contains("was recreated or is in another cluster"))
        #expect(DeliveryCheck(in: workspace.path + "/none") == nil)
    }

    @Test(
        "documents that are gone before anybody took them over end each instance, until the group is set forward"
    )
    func documentsGone() throws {
        try addPartner("away", "http://127.0.0.1:1/", allowsPrivate: true)
        try deliver()
        try publish(["away-again", "later", "last"])
        try log.trim(topic: "partner-postbacks", partition: 0, before: 6)
        let partition = TopicPartition(topic: "partner-postbacks", partition: 0)
        let gone = LogChange.documentsGone(partition, nextOffset: 4, earliest: 6)
        for instance in ["", "/new"] {
            let fault = #expect(throws: LogChange.self) { try deliver(into: instance) }
            #expect(fault.map { "\($0)" } == "\(gone)")
        }
        #expect(try check().contains("wrong: \(gone)"))
        let group = try log.reader(
            topic: "partner-postbacks", group: PartnerPostbacksWorker.programName)
        try group.commit([0: 6])
        try deliver()
        #expect(
            try check().hasPrefix("warning: DIR/deliveries.sqlite: 1 deliveries for gone are held"))
    }

    @Test("a store is right where another instance is further, and what lies between is gone")
    func takenByOther() throws {
        try addPartner("away", "http://127.0.0.1:1/", allowsPrivate: true)
        try deliver()
        let before: String = try check()
        try publish(["away-again", "later"])
        try deliver(into: "/other")
        try log.trim(topic: "partner-postbacks", partition: 0, before: 6)
        #expect(try check() == before)
    }

    @Test("deliveries that were emptied are damaged, and nobody is told to begin them anew")
    func emptied() throws {
        try workspace.write("", to: "deliveries.sqlite")
        let emptied = StoreError.emptied(path: workspace.path + "/deliveries.sqlite")
        #expect(try check() == "wrong: \(emptied)\n".replacing(workspace.path, with: "DIR"))
    }
}
