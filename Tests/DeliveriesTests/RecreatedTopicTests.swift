import EventLog
import Foundation
import JSON
import Logging
import Program
import Store
import TestKit
import Testing

@testable import Deliveries
@testable import HTTPClient

@Suite(
    "Documents of a topic that is made anew, or that lost its end and was written on", .serialized)
struct RecreatedTopicTests {
    private let partner: ScriptedPartner
    private let workspace: SwitchedWorkspace

    init() throws {
        partner = try ScriptedPartner()
        workspace = try SwitchedWorkspace(url: partner.url)
        try workspace.publish(0..<20)
    }

    private func refusal(_ body: () throws -> Void) throws -> String {
        let error = #expect(throws: (any Error).self) { try body() }
        let words = "\(try #require(error))"
        #expect(!words.contains("\n"))
        return words
    }

    private var sent: [String] {
        partner.requests.compactMap { $0.headers["idempotency-key"] }.sorted()
    }

    private func keys(_ numbers: Range<Int>...) -> [String] {
        numbers.flatMap(\.self).map { "\(Documents.id($0)):1" }.sorted()
    }

    /// The new topic has the last of the old documents again.
    private func reset() throws {
        #expect(throws: StoreError.self) {
            let loop = try workspace.loop("one")
            try withExtendedLifetime(loop) { _ = try DeliveryStore.reset(workspace.path("one")) }
        }
        let kept = try DeliveryStore.reset(workspace.path("one"))
        #expect(kept.partitions == 2)
        workspace.topic.groupOffsets = [:]
        try workspace.deliver("one")
        // What was under way when an instance was killed is sent once more.
        #expect(Set(sent) == Set(keys(0..<20, 100..<180)))
        let count = sent.count
        try workspace.deliver("one")
        #expect(sent.count == count)
    }

    @Test("end the next start, however many there are, and come over once the store begins anew")
    func stopped() throws {
        try workspace.deliver("one")
        try workspace.recreate(with: 10..<20, 100..<180)
        workspace.topic.groupOffsets = [:]
        for _ in 0..<2 {
            #expect(
                try refusal { try workspace.deliver("one") }.contains(
                    "contains another document at"))
        }
        #expect(sent == keys(0..<20))
        try reset()
    }

    @Test("end an instance that runs at a sign of it, and nothing is lost")
    func running() throws {
        workspace.topic.isHeard = true
        let loop = try workspace.loop("one", untilEnd: false)
        let words = try refusal {
            try Wait.until {
                if sent.count == 20, workspace.topic.generation == 0 {
                    try workspace.recreate(with: 10..<20, 100..<180)
                }
                return try !loop.runOnce()
            }
        }
        #expect(words.contains("contains another document at"))
        #expect(sent == keys(0..<20))
        withExtendedLifetime(loop) {}
    }

    @Test("end another instance that goes by the offset of one that did not notice")
    func otherInstance() throws {
        try workspace.deliver("one")
        try workspace.recreate(with: 10..<20, 100..<180)
        let words = try refusal { try workspace.deliver("other") }
        #expect(words.contains("than the one read by the worker that committed the group's offset"))
        #expect(sent == keys(0..<20))
    }

    @Test("end an instance that took only the offset of another one over")
    func offsetOfOther() throws {
        try workspace.deliver("one")
        try workspace.deliver("other")
        try workspace.recreate(with: 10..<20, 100..<180)
        workspace.topic.groupOffsets = [:]
        #expect(
            try refusal { try workspace.deliver("other") }.contains("contains another document at"))
    }

    @Test("end an instance that has taken more over than there is")
    func fewer() throws {
        try workspace.deliver("one")
        try workspace.recreate(with: 10..<14)
        workspace.topic.groupOffsets = [:]
        #expect(
            try refusal { try workspace.deliver("one") }.contains("has ingested documents up to"))
    }

    @Test("leave what is no document of the topic before beside that of the new one")
    func unreadable() throws {
        try workspace.topic.publish([workspace.record("{", partition: 0)])
        try workspace.deliver("one")
        try workspace.recreate(with: 0..<20)
        try workspace.topic.publish([workspace.record("[", partition: 0)])
        workspace.topic.groupOffsets = [:]
        for _ in 0..<2 { _ = try DeliveryStore.reset(workspace.path("one")) }
        try workspace.deliver("one")
        let dead = try DeliveryStore(existing: workspace.path("one"))
            .deliveries(state: .dead, limit: 10).map(\.id).sorted()
        #expect(dead == ["partner-postbacks/0/10", "partner-postbacks/0/10#21"])
    }
}

/// Two partitions of a topic that is made anew under its readers, and instances by the names of their data directories.
private final class SwitchedWorkspace {
    let topic: SwitchedTopic
    private let files: PartnerFiles
    private let sender = HTTPSender(receiverCount: 1)

    init(url: String) throws {
        files = try PartnerFiles("url: \(url)/\nallow_private: true")
        topic = try SwitchedTopic("partner-postbacks", in: Workspace())
    }

    deinit { sender.stop() }

    func record(_ text: String, partition: Int32) -> OutgoingRecord {
        OutgoingRecord(
            topic: "partner-postbacks", partition: partition, key: nil, headers: [],
            value: Array(text.utf8))
    }

    private func records(_ numbers: [Int]) -> [OutgoingRecord] {
        numbers.enumerated().map { index, number in
            record(Documents.install(id: Documents.id(number)), partition: Int32(index % 2))
        }
    }

    func publish(_ numbers: Range<Int>) throws { try topic.publish(records(Array(numbers))) }

    func recreate(with numbers: Range<Int>...) throws {
        try topic.recreate(with: records(numbers.flatMap(\.self)))
    }

    func path(_ instance: String) -> String {
        DeliveryStore.path(in: "\(files.path)/\(instance)")
    }

    func deliver(_ instance: String) throws { try loop(instance).run() }

    func loop(_ instance: String, untilEnd: Bool = true) throws -> DeliveryLoop {
        let store = try DeliveryStore(
            path: path(instance), topic: topic.name, logIdentity: "the cluster's")
        let clock = ManualClock()
        let dispatcher = Dispatcher(
            store: store, routes: try files.routes(), sender: sender,
            clock: clock, parser: try #require(JSONParser()), attemptsOnce: untilEnd)
        try dispatcher.begin(isStart: true)
        return DeliveryLoop(
            store: store, reader: try topic.reader(), dispatcher: dispatcher,
            partners: ConfiguredPartners(try files.partners()), parser: try #require(JSONParser()),
            clock: clock,
            settings: .init(
                assignment: .all, untilEnd: untilEnd, batchRecords: 10, maxRecordBytes: 1 << 20,
                waitMilliseconds: 5, lookInterval: .seconds(3600)),
            stop: StopSignal(), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            openReader: topic.reader)
    }
}
