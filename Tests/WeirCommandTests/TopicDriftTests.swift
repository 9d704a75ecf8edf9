import ConfigurationValues
import Engine
import EventLog
import Foundation
import History
import Streams
import TestKit
import Testing

@testable import weir

@Suite("Drift of topics")
struct TopicDriftTests {
    private let log = FakeLog()
    private let described = DescribedTopic(
        name: "t", partitionCount: 4, replicaCount: 3,
        settings: [
            "cleanup.policy": "compact,delete", "retention.ms": "604800000",
            "message.timestamp.type": "LogAppendTime",
        ], file: "t.yaml")
    private let settings = [
        "cleanup.policy": "delete, compact", "retention.ms": "0604800000",
        "message.timestamp.type": "logappendtime", "segment.ms": "1",
    ]

    private func make(_ partitionCount: Int32, replicas: Int32? = 3) {
        log.described = [
            TopicDescription(
                name: "t", partitionCount: partitionCount, identity: "fake", replicaCount: replicas)
        ]
        log.settings["t"] = settings
    }

    @Test("a topic is created with all that is described, and not compared then")
    func creation() throws {
        let application = try TopicsApplication([described], to: log)
        #expect(application.lines == ["created  t (4 partitions)"])
        #expect(
            log.created["t"] == described.settings.merging(["replicas": "3"]) { left, _ in left })
    }

    @Test("equal numbers, words and lists are no drift, and settings not described are nobody's")
    func equal() throws {
        make(4)
        let application = try TopicsApplication([described], to: log)
        #expect(application.lines == ["exists   t (4 partitions)"])
        #expect(application.differing.isEmpty)
        #expect(application.unknown.isEmpty)
    }

    @Test("every difference has its line, which says what to do")
    func differences() throws {
        make(2, replicas: 1)
        log.settings["t"]?["cleanup.policy"] = "delete"
        log.settings["t"]?["retention.ms"] = "1"
        log.settings["t"]?["message.timestamp.type"] = nil
        let application = try TopicsApplication([described], to: log)
        #expect(application.differing == ["t"])
        let lines = application.lines
        try #require(lines.count == 5)
        #expect(lines[0].hasPrefix("differs  t: partitions 2, not 4: write 2 in t.yaml, or add"))
        #expect(
            lines[0].contains("--bootstrap-server broker:9092 --alter --topic t --partitions 4;"))
        #expect(lines[0].contains("--accept-partition-count 4"))
        #expect(lines[1].hasPrefix("differs  t: replicas 1, not 3: "))
        #expect(lines[2].contains("cleanup.policy delete, not compact,delete: "))
        #expect(lines[2].hasSuffix("--add-config cleanup.policy=[compact,delete]"))
        #expect(lines[3].contains("message.timestamp.type unknown, not LogAppendTime: "))
        #expect(lines[4].contains("retention.ms 1, not 604800000: "))
        #expect(
            lines[4].contains(
                "--entity-type topics --entity-name t --add-config retention.ms=604800000"))
        #expect(log.created.isEmpty)
    }

    @Test("too many partitions cannot be taken away")
    func tooMany() throws {
        make(9)
        let line = try TopicsApplication([described], to: log).lines[0]
        #expect(line.contains("partitions 9, not 4: write 9 in t.yaml, or recreate the topic"))
    }

    @Test("settings that cannot be asked for are said to be unknown")
    func unknown() throws {
        make(4)
        log.settings["t"] = nil
        let application = try TopicsApplication([described], to: log)
        #expect(application.unknown == ["t"])
        #expect(application.differing.isEmpty)
        #expect(application.lines.count == 1)
        #expect(application.lines[0].hasPrefix("unknown  t: cannot compare its settings: "))
        var report = CheckReport()
        let workspace = try TemporaryDirectory()
        try workspace.write(
            "channels: {x: {address: t, bindings: {kafka: {partitions: 4}}}}", to: "topics/t.yaml")
        try report.check(log, against: TopicDirectory("\(workspace.path)/topics"))
        #expect(report.wrongCount == 0)
        #expect(report.text.contains("warning: cannot compare the settings of topic t"))
    }

    @Test("a log that does not tell the settings of one topic is not asked for those of others")
    func asksOnce() throws {
        make(4)
        log.settings["t"] = nil
        log.described.append(
            TopicDescription(name: "u", partitionCount: 4, identity: "fake", replicaCount: 3))
        log.settings["u"] = settings
        var other = described
        other.name = "u"
        let application = try TopicsApplication([described, other], to: log)
        #expect(application.unknown == ["t", "u"])
        #expect(log.questions == ["t"])
        #expect(application.lines.count == 1)
        #expect(application.lines[0].hasPrefix("unknown  t, u: cannot compare their settings: "))
    }

    @Test("a cluster that describes no settings is listed all the same, with words beside it")
    func mockCluster() throws {
        let cluster = try MockCluster(brokerCount: 1)
        try cluster.createTopic("t", partitionCount: 2)
        let log = try PipelineDirectory(Repository.path("pipelines")).openLog(
            LogAddress(cluster.address), .existing)
        let report = try TopicsReport(log, [described])
        #expect(report.text(.table).contains("partitions 2, not 4; replicas 1, not 3"))
        #expect(
            report.text(.json).contains(
                #""drift":[{"setting":"partitions","found":"2","described":"4"},"#))
        #expect(report.notices.count == 1)
        #expect(report.notices[0].hasPrefix("cannot compare the settings of t: cannot ask for"))
    }
}

@Suite("Topics that workers create")
struct EmittedTopicTests {
    @Test("have the settings that the shipped topics describe, so that there is no drift")
    func settings() throws {
        let described = try TopicDirectory(Repository.path("topics")).topics()
        let emitted =
            [EmittedTopic.partnerPostbacks(named: "partner-postbacks")]
            + allStreams.map { .deadLetters(ofTopic: $0.streamName, stream: $0) }
        for topic in emitted {
            let found = try #require(described.first { $0.name == topic.name }, "\(topic.name)")
            #expect(found.creationSettings == topic.settings, "\(topic.name)")
        }
    }
}

/// A cluster of topics that a test describes: nothing can be read of it.
final class FakeLog: LogBackend {
    let address = "kafka://broker:9092"
    var described: [TopicDescription] = []
    /// By topic; nil where they cannot be asked for.
    var settings: [String: [String: String]] = [:]
    private(set) var created: [String: [String: String]] = [:]

    private(set) var questions: [String] = []

    func topics() throws(LogError) -> [TopicDescription] { described }

    func createTopic(
        _ name: String, partitionCount: Int32, settings: [String: String]
    ) throws(LogError) -> Bool {
        guard !described.contains(where: { $0.name == name }) else { return false }
        described.append(
            TopicDescription(
                name: name, partitionCount: partitionCount, identity: "fake", replicaCount: 3))
        created[name] = settings
        return true
    }

    func settings(ofTopic name: String) throws(LogError) -> [String: String]? {
        questions.append(name)
        guard let found = settings[name] else {
            throw .backend(operation: "ask for settings in", address: address, detail: "no answer")
        }
        return found
    }

    func reader(topic: String, group: String?) throws(LogError) -> any LogReader {
        throw .unknownTopic(topic, address: address)
    }

    func writer() throws(LogError) -> any LogWriter { throw .noLog(address: address) }
}
