import EventLog
import Program
import TestKit
import Testing

@testable import weir

@Suite("Topics")
struct TopicDirectoryTests {
    private let small = """
        asyncapi: 3.0.0
        channels:
          x:
            address: t
            bindings: {kafka: {partitions: 3, replicas: 2, topicConfiguration: {retention.ms: 5, cleanup.policy: [delete, compact]}}}
            x-weir-topic-config: {message.timestamp.type: LogAppendTime}
        """

    @Test("the topics that are shipped are described, with four partitions each")
    func shipped() throws {
        let topics = try TopicDirectory(Repository.path("topics")).topics()
        #expect(topics.map(\.name).contains("bids"))
        #expect(topics.map(\.name).contains("postbacks.dlq"))
        #expect(topics.map(\.name) == topics.map(\.name).sorted())
        #expect(topics.allSatisfy { $0.partitionCount == 4 })
        #expect(topics.allSatisfy { $0.settings["message.timestamp.type"] == "LogAppendTime" })
    }

    @Test("name, partitions and settings come from the channel")
    func description() throws {
        let workspace = try TemporaryDirectory()
        let file = try workspace.write(small, to: "topics/t.yaml")
        #expect(
            try TopicDirectory("\(workspace.path)/topics").topics() == [
                DescribedTopic(
                    name: "t", partitionCount: 3, replicaCount: 2,
                    settings: [
                        "retention.ms": "5", "cleanup.policy": "delete,compact",
                        "message.timestamp.type": "LogAppendTime",
                    ],
                    file: file)
            ])
    }

    @Test("a file that describes no topic, or one described twice, is named")
    func faults() throws {
        let workspace = try TemporaryDirectory()
        let directory = TopicDirectory("\(workspace.path)/topics")
        #expect(throws: CommandError.self) { try directory.topics() }
        for text in ["a: b", "channels: {x: {}}", "channels: {x: {address: t}}", "a: [", ""] {
            try workspace.write(text, to: "topics/bad.yaml")
            #expect { try directory.topics() } throws: {
                ($0 as? CommandError)?.explanation?.contains("bad.yaml") == true
            }
        }
        try workspace.write(small, to: "topics/bad.yaml")
        try workspace.write(small, to: "topics/other.yaml")
        #expect { try directory.topics() } throws: {
            let words = ($0 as? CommandError)?.explanation ?? ""
            return words.contains("bad.yaml") && words.contains("other.yaml")
        }
    }

    @Test("applying creates what is not there, changes nothing, and tells what differs")
    func application() throws {
        let workspace = try TemporaryDirectory()
        let log = try workspace.log("kept", partitions: 2)
        let described = [("kept", 3), ("new", 5)].map {
            DescribedTopic(name: $0.0, partitionCount: Int32($0.1), settings: [:], file: "f.yaml")
        }
        let first = try TopicsApplication(described, to: log)
        #expect(first.differing == ["kept"])
        #expect(first.lines.map { $0.split(separator: " ")[0] } == ["differs", "created"])
        let second = try TopicsApplication(described, to: log)
        #expect(second.lines.map { $0.split(separator: " ")[0] } == ["differs", "exists"])
        #expect(try log.topics().map(\.partitionCount) == [2, 5])
    }

    @Test("the list shows what the log holds and who describes it")
    func list() throws {
        let workspace = try TemporaryDirectory()
        let log = try workspace.log("kept", partitions: 2)
        _ = try workspace.publish(Array("{\"value\":1}\n{\"value\":2}".utf8), to: "kept", in: log)
        let other = DescribedTopic(name: "kept", partitionCount: 3, settings: [:], file: "f.yaml")
        #expect(
            try TopicsReport(log, [other]).text(.table)
                == "topic  partitions  records  described  drift\n"
                + "kept            2        2  f.yaml     partitions 2, not 3\n")
        #expect(
            try TopicsReport(log, []).text(.json)
                == #"[{"topic":"kept","partitions":2,"records":2,"described_partitions":null,"#
                + "\"settings\":{},\"drift\":[]}]\n")
    }
}
