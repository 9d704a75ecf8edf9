import ConfigurationValues
import EventLog
import Foundation
import JSON
import Logging
import Program
import Store
import Streams

/// Publishes data of a store: outbox rows to `partner-postbacks`, rejected records to the topic's dead letters. In
/// order, each with a stable id. After a crash it continues at the offsets in the store, so that a row may be
/// published twice but none is lost.
package final class Emitter {
    /// Rejected records come with their bytes, so this number limits how many are in memory.
    private static let rowsAtOnce = 100

    private let store: AggregateStore
    private let log: any LogBackend
    private let topic: String
    private let deadLetters: EmittedTopic
    /// Nil for a stream without documents for partners.
    private let partnerTopic: EmittedTopic?
    private let partitionCount: Int32
    /// The source of names.
    var catalog: Catalog
    private var corrections: CorrectionStore?
    /// The partitions with corrections whose own revision is unknown; nil before it was looked up.
    private var uncounted: Set<Int32>?
    private let patience: EmissionPatience
    private lazy var parser = JSONParser()
    private var writer: (any LogWriter)?

    init(
        store: AggregateStore, log: any LogBackend, topic: String, deadLetters: EmittedTopic,
        partitionCount: Int32, catalog: Catalog, partnerTopic: EmittedTopic?,
        corrections: CorrectionStore?,
        patience: EmissionPatience
    ) {
        self.store = store
        self.log = log
        self.topic = topic
        self.deadLetters = deadLetters
        self.partitionCount = partitionCount
        self.catalog = catalog
        self.partnerTopic = partnerTopic
        self.corrections = corrections
        self.patience = patience
    }

    /// Publishes everything unpublished of these partitions, and waits for an unreachable log. If a stop was
    /// requested, returns the partitions with a remainder.
    func emit(_ partitions: Set<Int32>) throws(WorkerError) -> Set<Int32> {
        var left: Set<Int32> = []
        do {
            for state in try store.partitionStates() where partitions.contains(state.partition) {
                if try !emit(state) { left.insert(state.partition) }
            }
            return left
        } catch {
            throw WorkerError(error)
        }
    }

    /// False if it gave up before everything was published.
    private func emit(_ state: PartitionState) throws -> Bool {
        try countOwnRevisions(state)
        var deadLettersNext = state.deadLettersNext
        var outboxEmitted = state.outboxEmitted
        while true {
            let refused = try store.refused(
                partition: state.partition, from: deadLettersNext, limit: Self.rowsAtOnce)
            let outbox = try store.outbox(
                partition: state.partition, from: outboxEmitted, limit: Self.rowsAtOnce)
            guard !refused.isEmpty || !outbox.isEmpty else { return true }
            let records =
                refused.filter(\.isRejected).map {
                    DeadLetter($0, of: topic, to: deadLetters.name).record
                }
                + (try outbox.filter { $0.postback.originOffset >= state.emitFrom }.compactMap {
                    try partnerRecord($0.postback)
                })
            if !records.isEmpty, try !append(records) { return false }
            deadLettersNext = refused.last.map { $0.offset + 1 } ?? deadLettersNext
            outboxEmitted = outbox.last.map { $0.sequence + 1 } ?? outboxEmitted
            try store.markEmitted(
                partition: state.partition, deadLettersNext: deadLettersNext,
                outboxEmitted: outboxEmitted)
        }
    }

    private func append(_ records: [OutgoingRecord]) throws(LogError) -> Bool {
        try patience.keepTrying { (isWanted) throws(LogError) in
            _ = try openWriter().append(records, while: isWanted)
        }
    }

    private func openWriter() throws(LogError) -> any LogWriter {
        if let writer { return writer }
        try create(deadLetters)
        if let partnerTopic { try create(partnerTopic) }
        let writer = try log.writer()
        self.writer = writer
        return writer
    }

    private func create(_ topic: EmittedTopic) throws(LogError) {
        try log.createTopic(
            topic.name, partitionCount: partitionCount, settings: topic.settings)
    }

    /// After a correction the store's own revisions continue with other numbers than those in the store. Nil for a
    /// record with a document in the topic, from another store of the group.
    private func partnerRecord(_ postback: PartnerPostback) throws -> OutgoingRecord? {
        let correction = try corrections?.correction(
            of: postback.id, partition: postback.partition)
        if let correction, postback.originOffset < correction.boundary { return nil }
        guard let parser else { throw WorkerError.unexpected("no memory for a JSON parser") }
        return try PartnerRecord(
            topic: topic, partnerTopic: partnerTopic?.name ?? "", catalog: catalog, parser: parser
        ).record(of: postback, revisionOffset: correction?.revisionOffset ?? 0)
    }
}

// MARK: Revisions that other stores have published

extension Emitter {
    /// Reads the topic of documents, if other stores of the group may have published revisions that this one does not
    /// know.
    ///
    /// - Parameters:
    ///   - committed: the group's offsets.
    ///   - promotions: those of the stream in this data directory.
    ///   - isOlderCopy: whether the group has published documents that this store has not.
    ///   - keepsMetadata: whether the log keeps the promotion with an offset.
    ///   - show: called with the number of documents read so far; its error ends the reading.
    func readRevisions(
        _ committed: [Int32: GroupOffset], promotions: [Int64], isOlderCopy: Bool,
        keepsMetadata: Bool, logger: Logger, show: (Int) throws -> Void
    ) throws {
        guard let partnerTopic else { return }
        let readings = try corrections?.readings() ?? []
        let present = Set(try store.partitionStates().map(\.partition))
        let isOther = committed.contains { partition, offset in
            let last = readings.first { $0.partition == partition }
            guard present.contains(partition), offset.next > 0 else { return false }
            guard keepsMetadata else { return isOlderCopy && offset.next > last?.nextOffset ?? 0 }
            // Without a promotion in between, other stores publish the same documents.
            guard let promotion = offset.promotion else { return false }
            return !promotions.contains(promotion) && promotion != last?.promotion
        }
        guard isOther else { return }
        let directory = (store.path as NSString).deletingLastPathComponent
        logger.notice(
            "reading the revisions that partners have",
            metadata: ["topic": "\(partnerTopic.name)"])
        do {
            var reading = try RevisionReading(directory: directory, committed: committed)
            let result = try reading.run(log, partnerTopic: partnerTopic.name, show: show)
            corrections = try CorrectionStore(directory: directory)
            uncounted = nil
            guard result.recorded > 0 else { return }
            logger.warning(
                "partners have documents that this store has not published: weir promote compares them",
                metadata: ["count": "\(result.recorded)"])
        } catch let error as CommandError {
            throw WorkerError.unexpected(error.explanation ?? "\(error)")
        }
    }

    /// Counts the store's own revisions of documents that were read from the topic, once it has folded their records.
    private func countOwnRevisions(_ state: PartitionState) throws {
        guard let corrections else { return }
        let partitions = try uncounted ?? corrections.uncountedPartitions()
        uncounted = partitions
        guard partitions.contains(state.partition) else { return }
        let rows = try corrections.uncounted(of: state.partition, through: state.nextOffset)
        guard let end = rows.map(\.1.boundary).max() else { return }
        var left = Dictionary(uniqueKeysWithValues: rows.map { ($0.1.postback.id, $0) })
        var last: [String: (revision: Int64, content: PostbackContent)] = [:]
        try store.snapshot { snapshot in
            try snapshot.forEachOutboxRow(of: state.partition, below: end) { _, postback in
                guard let (_, correction) = left[postback.id],
                    postback.originOffset < correction.boundary
                else { return }
                last[postback.id] = (postback.document.revision, PostbackContent(of: postback))
            }
        }
        var same: [Int64] = []
        for (id, own) in last {
            guard let (row, correction) = left[id], own.revision == correction.revision,
                own.content == correction.publishedContent
            else { continue }
            same.append(row)
            left[id] = nil
        }
        try corrections.count(
            left.map { id, row in (row.row, last[id]?.revision ?? 0) }, deleting: same)
        uncounted = nil
    }
}

extension StreamFold {
    /// Publishes everything that a store has not noted as published, as its worker would at its start, except records
    /// that its group has published. False if it gave up after a stop was requested.
    ///
    /// - Parameter corrections: those of the store, if any.
    package static func publishRest(
        of path: String, to log: any LogBackend, in pipelines: PipelineDirectory,
        corrections: CorrectionStore?, stop: StopSignal
    ) throws -> Bool {
        let configuration = try readConfiguration(pipelines)
        let topic = configuration.stream.topic
        guard try !log.topics().contains(where: { $0.name == topic && $0.isArchive }) else {
            return true
        }
        let reader = try log.reader(topic: topic, group: configuration.stream.group)
        defer { reader.close() }
        let committed = try reader.committedOffsets()
        let store = try AggregateStore(
            path: path, fold: Self.self, topic: topic, logIdentity: try reader.identity(),
            partitionCount: 0)
        let count = try reader.partitionCount()
        if let refusal = try store.foldedLog().refusal(of: reader, accepting: count) {
            throw WorkerError.changed(refusal)
        }
        let states = try store.partitionStates()
        for state in states {
            guard let emitted = committed[state.partition]?.next, emitted > state.emitFrom else {
                continue
            }
            try store.setEmission(partition: state.partition, to: emitted)
        }
        var logger = Logger(label: programName)
        logger.logLevel = .warning
        let emitter = Emitter(
            store: store, log: log, topic: topic,
            deadLetters: .deadLetters(ofTopic: topic, stream: Self.self),
            partitionCount: try store.origin().partitionCount, catalog: configuration.catalog,
            partnerTopic: emits ? configuration.partnerTopic : nil, corrections: corrections,
            patience: EmissionPatience(
                address: log.address, stop: stop, logger: logger, metrics: nil))
        return try emitter.emit(Set(states.map(\.partition))).isEmpty
    }
}

extension StoredRefusal {
    /// Conflicts and untrusted records can be decoded, so they are stored but not published.
    fileprivate var isRejected: Bool { RefusedRecord.isRejection(reason) }
}
