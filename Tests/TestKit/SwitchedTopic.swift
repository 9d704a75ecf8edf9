import EmbeddedLog
import EventLog

/// A topic that is made anew under its readers, which are told nothing and read on where they were: as Kafka
/// does it. Used from one thread.
package final class SwitchedTopic {
    private let directory: Workspace
    package private(set) var log: EmbeddedLog
    package private(set) var generation = 0
    package let name: String
    package let partitionCount: Int32
    /// Those of the group that readers are in.
    package var groupOffsets: [Int32: GroupOffset] = [:]
    /// Whether readers hear that something is wrong with the topic.
    package var isHeard = false

    package init(_ name: String, partitionCount: Int32 = 2, in directory: Workspace) throws {
        self.name = name
        self.partitionCount = partitionCount
        self.directory = directory
        log = try Self.makeLog(0, name, partitionCount, in: directory)
    }

    private static func makeLog(
        _ generation: Int, _ name: String, _ partitionCount: Int32, in directory: Workspace
    ) throws -> EmbeddedLog {
        let log = try EmbeddedLog(path: directory.path + "/log-\(generation).sqlite", mode: .create)
        try log.createTopic(name, partitionCount: partitionCount)
        return log
    }

    package func publish(_ records: [OutgoingRecord]) throws { try log.writer().append(records) }

    /// Deletes the topic and creates it with other records.
    package func recreate(with records: [OutgoingRecord]) throws {
        let next = try Self.makeLog(generation + 1, name, partitionCount, in: directory)
        try next.writer().append(records)
        log = next
        generation += 1
    }

    package func reader() throws(LogError) -> any LogReader { try SwitchedReader(self) }
}

/// Reads whatever topic there is now.
private final class SwitchedReader: LogReader {
    private let source: SwitchedTopic
    private var inner: any LogReader
    private var generation: Int
    private var assignment: LogAssignment?
    private var isDoubtful = false

    init(_ source: SwitchedTopic) throws(LogError) {
        self.source = source
        generation = source.generation
        inner = try source.log.reader(topic: source.name)
    }

    var topic: String { source.name }
    func identity() throws(LogError) -> String { "the cluster's" }
    func partitionCount() throws(LogError) -> Int32 { source.partitionCount }
    func bounds(of partitions: [Int32]) throws(LogError) -> [PartitionBounds] {
        try source.log.reader(topic: topic).bounds(of: partitions)
    }
    func subscribe(_ assignment: LogAssignment) throws(LogError) {
        self.assignment = assignment
        try inner.subscribe(assignment)
    }
    func seek(partition: Int32, to offset: Int64) throws(LogError) {
        try inner.seek(partition: partition, to: offset)
    }
    func read(
        into batch: RecordBatch, maxRecords: Int, maxBytes: Int, waitMilliseconds: Int
    ) throws(LogError) -> LogReading {
        if generation != source.generation {
            generation = source.generation
            isDoubtful = source.isHeard
            let before = inner
            inner = try source.log.reader(topic: topic)
            if let assignment {
                try inner.subscribe(assignment)
                _ = try inner.read(into: batch, maxRecords: 1, maxBytes: 1, waitMilliseconds: 0)
                for partition in 0..<source.partitionCount {
                    guard let position = before.position(partition: partition) else { continue }
                    try inner.seek(partition: partition, to: position)
                }
            }
        }
        return try inner.read(
            into: batch, maxRecords: maxRecords, maxBytes: maxBytes,
            waitMilliseconds: waitMilliseconds)
    }
    func takeDoubt() -> Bool {
        defer { isDoubtful = false }
        return isDoubtful
    }
    var isCaughtUp: Bool { inner.isCaughtUp }
    func position(partition: Int32) -> Int64? { inner.position(partition: partition) }
    func pause(partition: Int32) throws(LogError) { try inner.pause(partition: partition) }
    func resume(partition: Int32) throws(LogError) { try inner.resume(partition: partition) }
    func offset(
        partition: Int32, atOrAfter timestampMilliseconds: Int64
    ) throws(LogError) -> Int64? {
        try inner.offset(partition: partition, atOrAfter: timestampMilliseconds)
    }
    func committedOffsets() throws(LogError) -> [Int32: GroupOffset] { source.groupOffsets }
    func commit(_ offsets: [Int32: GroupOffset]) throws(LogError) {
        source.groupOffsets.merge(offsets) { _, new in new }
    }
    var keepsMetadata: Bool { true }
    func close() { inner.close() }
}
