import EventLog
import Foundation
import KafkaLog
import Logging
import MockKafka

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
    private let place: TestCluster?
    var cluster: MockCluster? { place?.mock }
    private var directory: String?

    init(_ kind: Kind, settings: [String: String] = [:], member: String? = nil) throws {
        self.kind = kind
        switch kind {
        case .embedded:
            place = nil
            let directory = NSTemporaryDirectory() + "weir-log-\(UUID().uuidString)"
            self.directory = directory
            log = try EmbeddedLog(path: directory + "/log.sqlite", mode: .create)
        case .mock, .real:
            let place = try TestCluster(kind == .mock ? .mock : .real)
            self.place = place
            log = try Self.kafka(place.brokers, settings, member)
        }
    }

    deinit {
        if let directory { try? FileManager.default.removeItem(atPath: directory) }
    }

    static func kafka(
        _ brokers: [String], _ settings: [String: String] = [:], _ member: String? = nil
    ) throws -> KafkaLog {
        try KafkaLog(
            KafkaSettings(brokers: brokers, written: settings, memberName: member),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    /// Creates a topic of a name that no other test has, and names it.
    func makeTopic(_ partitionCount: Int32) throws -> String {
        let name = "test-\(UUID().uuidString.lowercased())"
        if let cluster {
            try cluster.createTopic(name, partitionCount: partitionCount)
        } else {
            place?.own(name)
            try log.createTopic(name, partitionCount: partitionCount)
        }
        return name
    }

    /// A topic that the test makes itself is its own too.
    func own(_ topic: String) { place?.own(topic) }

    /// Every record of a topic there is now, partition by partition.
    func records(of topic: String) throws -> [CopiedRecord] {
        let reader = try log.reader(topic: topic)
        defer { reader.close() }
        return try reader.readToEnd()
    }
}

/// A record that was read, its bytes copied.
struct CopiedRecord: Equatable {
    var partition: Int32
    var offset: Int64
    var timestampMilliseconds: Int64
    var key: [UInt8]?
    var headers: [OutgoingRecord.Header] = []
    var value: [UInt8]?

    init(_ record: RecordView) {
        partition = record.partition
        offset = record.offset
        timestampMilliseconds = record.timestampMilliseconds
        key = record.key.map { Array($0) }
        value = record.value.map { Array($0) }
        record.headers.forEach { name, value in
            headers.append(
                .init(name: String(decoding: name, as: UTF8.self), value: value.map { Array($0) }))
            return true
        }
    }

    var text: String { String(decoding: value ?? [], as: UTF8.self) }
}

extension LogReader {
    /// Reads every partition to the end that it has now. Gives up after a minute.
    func readToEnd() throws -> [CopiedRecord] {
        let ends = try bounds()
        try subscribe(.all)
        let batch = RecordBatch()
        var records: [CopiedRecord] = []
        let deadline = ContinuousClock.now + .seconds(60)
        repeat {
            _ = try read(into: batch, maxRecords: 1000, maxBytes: 1 << 24, waitMilliseconds: 50)
            for index in 0..<batch.count { records.append(CopiedRecord(batch[index])) }
        } while ends.contains { (position(partition: $0.partition) ?? 0) < $0.endOffset }
            && ContinuousClock.now < deadline
        return records.sorted { ($0.partition, $0.offset) < ($1.partition, $1.offset) }
    }

    /// Reads until something other than nothing comes. Gives up after a minute.
    func readOn(into batch: RecordBatch, maxRecords: Int = 1000) throws -> LogReading {
        let deadline = ContinuousClock.now + .seconds(60)
        while ContinuousClock.now < deadline {
            let reading = try read(
                into: batch, maxRecords: maxRecords, maxBytes: 1 << 24, waitMilliseconds: 50)
            if reading != .idle { return reading }
        }
        return .idle
    }
}

/// A record of a text.
func record(
    _ text: String, topic: String, partition: Int32? = nil, timestamp: Int64? = nil
) -> OutgoingRecord {
    OutgoingRecord(
        topic: topic, partition: partition, timestampMilliseconds: timestamp,
        key: Array("key-\(text)".utf8), value: Array(text.utf8))
}
