import EventLog
import Reports
import Store
import Streams

/// Folds ranges of a stream's log again, as its store has folded them: without what came before, since the
/// store keeps what memory answered.
package final class LogRefolding {
    private let stream: String
    private let snapshot: StoreSnapshot
    private let reader: RangeReader
    private let rules: RuleSource
    private var folds: [Int32: PartitionFold] = [:]
    /// Of each partition that was begun the records that distinguish its log from another one.
    private var fingerprints: [Int32: [RecordFingerprint]] = [:]

    /// - Parameters:
    ///   - snapshot: the state of the stream's store.
    ///   - reader: of the topic; closed with this.
    ///   - rules: what completes the recorded configurations.
    /// - Throws: `ExplanationError.otherLog` when the store was folded from another log.
    package init(
        stream: String, snapshot: StoreSnapshot, reader: any LogReader, address: String,
        rules: RuleSource
    ) throws {
        guard try reader.identity() == snapshot.logIdentity else {
            throw ExplanationError.otherLog(topic: snapshot.topic, address: address)
        }
        self.stream = stream
        self.snapshot = snapshot
        self.reader = RangeReader(reader)
        self.rules = rules
    }

    /// Calls `body` with each record of a range, in order, with what it did when the store folded it.
    ///
    /// - Parameters:
    ///   - offsets: of records that the store has folded.
    ///   - looksAtLeftOut: whether to find out what duplicates and others would have added.
    ///   - isWanted: says of which records that is to be known; the others are read only.
    /// - Returns: how many records were read, and what the log no longer has.
    @discardableResult
    package func fold(
        partition: Int32, offsets: Range<Int64>, looksAtLeftOut: Bool = false,
        where isWanted: (RecordView) -> Bool = { _ in true },
        _ body: (FoldedRecord) throws -> Void
    ) throws -> RangeReading {
        let fold = try fold(of: partition)
        let known = try fingerprints(of: partition)
        return try reader.read(partition: partition, offsets: offsets) { batch in
            guard batch.count > 0 else { return }
            try check(known, against: batch)
            let offsets = batch.position(0).offset..<batch.position(batch.count - 1).offset + 1
            let notes = try RefoldNotes(snapshot, partition: partition, offsets: offsets)
            try fold.fold(
                batch, notes: notes, looksAtLeftOut: looksAtLeftOut, where: isWanted, body)
        }
    }

    /// All that is known of a partition's records, once a few of them were found in the log as they were: it
    /// may be another one where none of the range is known.
    private func fingerprints(of partition: Int32) throws -> [RecordFingerprint] {
        if let known = fingerprints[partition] { return known }
        let states = try snapshot.partitionStates()
        guard let state = states.first(where: { $0.partition == partition }) else { return [] }
        let known = try snapshot.allFingerprints(of: state)
        for record in try snapshot.fingerprints(of: state, from: 0) {
            _ = try reader.read(partition: partition, offsets: record.offset..<record.offset + 1) {
                batch in
                try check([record], against: batch)
            }
        }
        fingerprints[partition] = known
        return known
    }

    /// Compares the records of a batch, of one partition in order, with those that were folded.
    private func check(
        _ known: [RecordFingerprint], against batch: RecordBatch
    ) throws(ExplanationError) {
        guard batch.count > 0 else { return }
        let offsets = batch.position(0).offset...batch.position(batch.count - 1).offset
        var index = 0
        for record in known where offsets.contains(record.offset) {
            while batch.position(index).offset < record.offset { index += 1 }
            guard batch.position(index).offset == record.offset,
                batch[index].fingerprint != record.fingerprint
            else { continue }
            throw .otherRecords(
                topic: snapshot.topic, partition: record.partition, offset: record.offset)
        }
    }

    private func fold(of partition: Int32) throws -> PartitionFold {
        if let fold = folds[partition] { return fold }
        let fold = PartitionFold(
            stream: stream, topic: snapshot.topic, partition: partition,
            epochs: try snapshot.epochs(of: partition), rules: rules)
        folds[partition] = fold
        return fold
    }
}

/// Folds records up to an instant once more, each as its store has folded it.
package struct FoldedHours: HourFolding {
    private let openReader: Explainer.OpenReader
    private let address: String
    private let rules: RuleSource

    /// - Parameters:
    ///   - openReader: opens a reader of the log that the stores were folded from; not called where nothing
    ///     has to be read.
    ///   - address: of the log, for messages.
    ///   - rules: what completes the configurations that the stores have recorded.
    package init(
        openReader: @escaping Explainer.OpenReader, address: String, rules: RuleSource
    ) {
        self.openReader = openReader
        self.address = address
        self.rules = rules
    }

    /// The rows that records with a timestamp below an instant added to.
    ///
    /// - Parameter hour: the only one whose records count; nil for all.
    /// - Throws: `ExplanationError.recordsGone` when the log no longer has all of them, `replacedLater` when
    ///   one of them took the place of a record that is none of them; what reading it and folding them throws.
    package func rows(
        of stream: String, in snapshot: StoreSnapshot, partitions: [PartitionState], hour: Hour?,
        beforeMilliseconds milliseconds: Int64
    ) throws -> [PartialRow] {
        let ranges = try partitions.compactMap { state in
            let hours = try snapshot.hours(of: state.partition)
                .filter { hour == nil || $0.hour == hour }
            return hours.map(\.firstOffset).min().map { first in
                (state.partition, first..<(hours.map(\.lastOffset).max() ?? first) + 1)
            }
        }
        guard !ranges.isEmpty else { return [] }
        let folding = try LogRefolding(
            stream: stream, snapshot: snapshot, reader: openReader(snapshot.topic),
            address: address, rules: rules)
        // Of one hour alone, what was replaced lies in others.
        let replaces = hour == nil && Streams.stream(named: stream)?.replacesRecords ?? false
        var rows: [PartialRow] = []
        for (partition, offsets) in ranges {
            var sums: [ObjectIdentifier: (row: AddedRow, measures: [Int64])] = [:]
            // Of records that others replace: what these took away is counted only if they are.
            var counted: Set<Int64> = []
            let reading = try folding.fold(
                partition: partition, offsets: offsets,
                where: { Self.counts($0, hour, milliseconds) }
            ) { record in
                if replaces, let replaced = record.replacedOffset ?? record.originalOffset,
                    !counted.contains(replaced)
                {
                    throw ExplanationError.replacedLater(
                        topic: snapshot.topic, partition: partition, offset: record.record.offset,
                        replaced: replaced)
                }
                if replaces, record.outcome == .accepted { counted.insert(record.record.offset) }
                for addition in record.additions {
                    let key = ObjectIdentifier(addition.row)
                    let known = sums[key]?.measures
                    // Parts of sums that were stored: they fit 64 bits.
                    let measures = known.map { zip($0, addition.measures).map { $0 &+ $1 } }
                    sums[key] = (addition.row, measures ?? addition.measures)
                }
            }
            if let gone = reading.gone {
                throw ExplanationError.recordsGone(
                    topic: snapshot.topic, partition: partition, offsets: gone)
            }
            rows += sums.values.map { row, measures in
                PartialRow(
                    table: row.table, partition: partition, columns: row.columns,
                    measures: measures)
            }
        }
        return rows
    }

    private static func counts(
        _ record: RecordView, _ hour: Hour?, _ milliseconds: Int64
    ) -> Bool {
        let time = max(record.timestampMilliseconds, 0)
        return time < milliseconds && (hour == nil || Hour(containing: time) == hour)
    }
}

/// What became of reading a range of a partition.
package struct RangeReading: Equatable, Sendable {
    package internal(set) var records: Int64 = 0
    /// Offsets of the range that the log no longer has at its beginning; nil when it has all.
    package internal(set) var gone: Range<Int64>?
    /// Offsets of the range that lie after the end of the log; nil when none do.
    package internal(set) var beyondEnd: Range<Int64>?
}

/// Reads ranges of a topic, partition by partition.
private final class RangeReader {
    private let reader: any LogReader
    private let batch = RecordBatch()
    /// The partition that the reader is assigned.
    private var assigned: Int32?
    /// A log that gives nothing for this long before the end of a range has failed.
    private let patience: Duration

    private static let batchRecords = 2000
    private static let batchBytes = 8 << 20

    init(_ reader: any LogReader, patience: Duration = .seconds(30)) {
        self.reader = reader
        self.patience = patience
    }

    deinit { reader.close() }

    /// Calls `body` with batches of the records of a range, in order.
    func read(
        partition: Int32, offsets: Range<Int64>, _ body: (RecordBatch) throws -> Void
    ) throws -> RangeReading {
        var reading = RangeReading()
        guard !offsets.isEmpty,
            let bounds = try reader.bounds(of: [partition]).first
        else { return reading }
        let start = min(max(offsets.lowerBound, bounds.earliestOffset), offsets.upperBound)
        if start > offsets.lowerBound { reading.gone = offsets.lowerBound..<start }
        let end = min(offsets.upperBound, bounds.endOffset)
        if end < offsets.upperBound {
            reading.beyondEnd = max(end, offsets.lowerBound)..<offsets.upperBound
        }
        guard start < end else { return reading }
        try assign(partition)
        try reader.seek(partition: partition, to: start)
        var next = start
        var lastMove = ContinuousClock.now
        while next < end {
            let answer = try reader.read(
                into: batch, maxRecords: Int(min(end - next, Int64(Self.batchRecords))),
                maxBytes: Self.batchBytes,
                waitMilliseconds: 100)
            if answer == .records {
                while batch.count > 0, batch.position(batch.count - 1).offset >= end {
                    batch.remove(at: batch.count - 1)
                }
                reading.records += Int64(batch.count)
                try body(batch)
            }
            let position = min(reader.position(partition: partition) ?? 0, end)
            if position > next {
                next = position
                lastMove = .now
            } else if lastMove.duration(to: .now) > patience {
                throw ExplanationError.silentLog(
                    topic: reader.topic, partition: partition, offset: next, end: end,
                    seconds: patience.components.seconds)
            }
        }
        return reading
    }

    /// The position of a partition is its end as soon as it is met: none is read ahead of its range.
    private func assign(_ partition: Int32) throws(LogError) {
        guard assigned != partition else { return }
        try reader.subscribe(.partitions([partition]))
        _ = try reader.read(into: batch, maxRecords: 1, maxBytes: 1, waitMilliseconds: 0)
        assigned = partition
    }
}
