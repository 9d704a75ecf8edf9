import EmbeddedLog
import EventLog
import Foundation
import KafkaLog
import TestKit

/// A log of each kind, with the same few things that a test needs of it.
final class TestLog {
    enum Kind: String, CaseIterable, Sendable {
        case embedded
        case mock
        /// The cluster that `WEIR_TEST_KAFKA` names.
        case real

        /// Those that can be had here.
        static var available: [Kind] {
            allCases.filter { $0 != .real || TestCluster.realBrokers != nil }
        }

        /// The real cluster where there is one, else the mock one.
        static var preferred: Kind { TestCluster.realBrokers == nil ? .mock : .real }
    }

    let kind: Kind
    let log: any LogBackend
    private let testCluster: TestCluster?
    var cluster: MockCluster? { testCluster?.mock }
    private let files: TemporaryDirectory?

    init(_ kind: Kind, settings: [String: String] = [:], member: String? = nil) throws {
        self.kind = kind
        switch kind {
        case .embedded:
            testCluster = nil
            let files = try TemporaryDirectory()
            self.files = files
            log = try EmbeddedLog(path: files.path + "/log.sqlite", mode: .create)
        case .mock, .real:
            files = nil
            let testCluster = try TestCluster(kind == .mock ? .mock : .real)
            self.testCluster = testCluster
            log = try Self.kafka(testCluster.brokers, settings, member)
        }
    }

    static func kafka(
        _ brokers: [String], _ settings: [String: String] = [:], _ member: String? = nil
    ) throws -> KafkaLog {
        try KafkaLog(
            KafkaSettings(brokers: brokers, written: settings, memberName: member), logger: .quiet)
    }

    /// Creates a topic of a name that no other test has, and names it.
    func makeTopic(_ partitionCount: Int32) throws -> String {
        let name = "test-\(UUID().uuidString.lowercased())"
        if let cluster {
            try cluster.createTopic(name, partitionCount: partitionCount)
        } else {
            testCluster?.own(name)
            try log.createTopic(name, partitionCount: partitionCount)
        }
        return name
    }

    /// A topic that the test makes itself is its own too.
    func own(_ topic: String) { testCluster?.own(topic) }

    func records(of topic: String) throws -> [ReadRecord] { try log.records(of: topic) }
}

func record(
    _ text: String, topic: String, partition: Int32? = nil, timestamp: Int64? = nil
) -> OutgoingRecord {
    OutgoingRecord(
        topic: topic, partition: partition, timestampMilliseconds: timestamp,
        key: Array("key-\(text)".utf8), value: Array(text.utf8))
}
