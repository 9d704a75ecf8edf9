import ConfigurationFiles
import EventLog
import Foundation
import Logging
import Program
import Store
import Streams
import TestKit
import Testing

@testable import Engine

/// A topic that is made anew under its readers, which are told nothing and read on where they were: as Kafka
/// does it. Used from one thread.
final class SwitchedTopic {
    private let directory: Workplace
    private(set) var log: EmbeddedLog
    private(set) var generation = 0
    let name: String
    let partitionCount: Int32
    /// Those of the group that readers are in.
    var groupOffsets: [Int32: GroupOffset] = [:]
    /// Whether readers hear that something is wrong with the topic.
    var isHeard = false

    init(_ name: String, partitionCount: Int32 = 2, in directory: Workplace) throws {
        self.name = name
        self.partitionCount = partitionCount
        self.directory = directory
        log = try Self.makeLog(0, name, partitionCount, in: directory)
    }

    private static func makeLog(
        _ generation: Int, _ name: String, _ partitionCount: Int32, in directory: Workplace
    ) throws -> EmbeddedLog {
        let log = try EmbeddedLog(path: directory.path + "/log-\(generation).sqlite", mode: .create)
        try log.createTopic(name, partitionCount: partitionCount)
        return log
    }

    func publish(_ records: [OutgoingRecord]) throws { try log.writer().append(records) }

    /// Deletes the topic and creates it with other records.
    func makeAnew(with records: [OutgoingRecord]) throws {
        let next = try Self.makeLog(generation + 1, name, partitionCount, in: directory)
        try next.writer().append(records)
        log = next
        generation += 1
    }

    func reader() throws(LogError) -> any LogReader { try SwitchedReader(self) }
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
    func close() { inner.close() }
}

extension Workplace {
    /// Folds bids with a worker of this process until it fails or `isDone` says that it is enough, which is
    /// asked a few times a second between two batches.
    ///
    /// - Parameters:
    ///   - identity: of the log, for a store that is made.
    ///   - publishes: where dead letters would go; nil for a worker that tells its group nothing either.
    func foldBids(
        _ reader: any LogReader, identity: String = "the cluster's",
        every interval: Duration = .seconds(3600), untilEnd: Bool = false,
        publishes log: (any LogBackend)? = nil,
        openReader: @escaping LogWatch.OpenReader, isDone: @escaping () -> Bool = { false }
    ) throws {
        defer { reader.close() }
        let directory = PipelineDirectory(pipelines)
        let rules = try BidsFold.rules(in: directory)
        let partitionCount = try reader.partitionCount()
        let store = try AggregateStore(
            path: path + "/data/bids.sqlite", fold: BidsFold.self, topic: "bids",
            logIdentity: identity, partitionCount: partitionCount)
        var settings = WorkerSettings(
            try BidsFold.file(in: directory).settings, assignment: .all,
            partitionCount: partitionCount)
        settings.untilEnd = untilEnd
        settings.batchRecords = 500
        settings.commitIntervalMilliseconds = 20
        settings.showsProgress = false
        settings.lookInterval = interval
        let stop = StopSignal()
        let emitter = log.map { log in
            Emitter(
                store: store, log: log, topic: "bids",
                deadLetters: .deadLetters(ofTopic: "bids", stream: BidsFold.self),
                partitionCount: partitionCount, catalog: Catalog(), partnerTopic: nil,
                corrections: nil,
                patience: EmissionPatience(
                    address: log.address, stop: stop, logger: .quiet, metrics: nil))
        }
        try Worker(
            lanes: [BidsFold.make(rules, topic: "bids", memory: store, threadCount: 1)],
            store: store, reader: reader, emitter: emitter, settings: settings,
            configuration: rules.configuration, stop: stop, logger: .quiet,
            interruption: isDone, openReader: openReader
        ).run()
    }
}
