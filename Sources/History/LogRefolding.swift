import Dispatch
import EventLog
import Foundation
import Reports
import Store
import Streams

/// Folds ranges of a stream's log again, as its store has folded them. Earlier records are not needed, because the
/// store keeps memory's answers.
package final class LogRefolding {
    private let stream: String
    private let snapshot: StoreSnapshot
    private let reader: RangeReader
    private let rules: RuleSource
    private let isRowWanted: RowFilter?
    private let emitsAll: Bool
    /// One batch more than there are cores: while these fold, the next is read.
    private let lanes = (0...ProcessInfo.processInfo.activeProcessorCount).map { _ in RefoldLane() }
    private var epochs: [Int32: [Epoch]] = [:]
    /// For each started partition, the records that distinguish its log from another one.
    private var fingerprints: [Int32: [RecordFingerprint]] = [:]

    /// - Parameters:
    ///   - snapshot: the state of the stream's store.
    ///   - reader: a reader of the topic; closed with this.
    ///   - rules: completes the recorded configurations.
    ///   - isRowWanted: selects the rows of interest; nil for all.
    ///   - emitsAll: whether each accepted record has its document, as if a partner received all of them.
    ///   - isWanted: called for each batch; once it is false, folding ends with `CancellationError`.
    /// - Throws: `ExplanationError.otherLog` if the store was folded from another log.
    package init(
        stream: String, snapshot: StoreSnapshot, reader: any LogReader, address: String,
        rules: RuleSource, whereRow isRowWanted: RowFilter? = nil, emitsAll: Bool = false,
        while isWanted: @escaping () -> Bool = { true }
    ) throws {
        guard try reader.identity() == snapshot.logIdentity else {
            throw ExplanationError.otherLog(topic: snapshot.topic, address: address)
        }
        self.stream = stream
        self.snapshot = snapshot
        self.reader = RangeReader(reader, while: isWanted)
        self.rules = rules
        self.isRowWanted = isRowWanted
        self.emitsAll = emitsAll
    }

    /// The offsets from one on that the log no longer has at its beginning; nil if it has that one.
    func gone(partition: Int32, from offset: Int64) throws -> Range<Int64>? {
        try reader.gone(partition: partition, from: offset)
    }

    /// Calls `body` with each record of a range, in order, with its effects when the store folded it; with accepted
    /// ones only if they add to a row of interest.
    ///
    /// - Parameters:
    ///   - offsets: of records that the store has folded.
    ///   - looksAtLeftOut: whether to compute what duplicates and others would have added.
    ///   - isWanted: selects the records for this; the others are read only.
    /// - Returns: the number of read records, and the offsets that the log no longer has.
    @discardableResult
    package func fold(
        partition: Int32, offsets: Range<Int64>, looksAtLeftOut: Bool = false,
        where isWanted: (RecordView) -> Bool = { _ in true },
        _ body: (FoldedRecord) throws -> Void
    ) throws -> RangeReading {
        let epochs = try epochs(of: partition)
        let recorded = try fingerprints(of: partition)
        var erased: [ErasedPosition] = []
        defer { for lane in lanes { lane.settle() } }
        // Lanes take turns, so that the next lane to fill has the oldest batch.
        var laneIndex = 0
        func finish() throws {
            for record in try lanes[laneIndex].finish() { try body(record) }
        }
        var reading = try reader.read(
            partition: partition, offsets: offsets,
            into: {
                try finish()
                return lanes[laneIndex].batch
            }
        ) { batch in
            guard !batch.isEmpty else { return }
            try check(recorded, against: batch)
            let offsets = batch.position(0).offset..<batch.position(batch.count - 1).offset + 1
            let inputs = try RefoldInputs(snapshot, partition: partition, offsets: offsets)
            batch.removeAll { !isWanted($0) }
            erased += try takeErased(from: batch, partition: partition, offsets: offsets)
            let fold = lanes[laneIndex].fold(of: partition) {
                PartitionFold(
                    stream: stream, topic: snapshot.topic, partition: partition, epochs: epochs,
                    rules: rules, whereRow: isRowWanted, emitsAll: emitsAll)
            }
            lanes[laneIndex].start(fold, inputs, looksAtLeftOut: looksAtLeftOut)
            laneIndex = (laneIndex + 1) % lanes.count
        }
        for _ in lanes {
            try finish()
            laneIndex = (laneIndex + 1) % lanes.count
        }
        reading.erased = erased
        return reading
    }

    /// Removes the records of a batch that were erased after the store had folded them: what they added cannot be
    /// computed again.
    private func takeErased(
        from batch: RecordBatch, partition: Int32, offsets: Range<Int64>
    ) throws -> [ErasedPosition] {
        var erased: [ErasedPosition] = []
        for index in 0..<batch.count where batch.value(index) == nil {
            let record = batch[index]
            guard let left = ErasedRecord(record) else { continue }
            erased.append(
                ErasedPosition(
                    topic: snapshot.topic, partition: partition, offset: record.offset,
                    timestampMilliseconds: record.timestampMilliseconds, record: left))
        }
        guard !erased.isEmpty else { return [] }
        let before = try snapshot.rejectedOffsets(
            for: .erased, partition: partition, offsets: offsets)
        erased.removeAll { before.contains($0.offset) }
        let gone = Set(erased.map(\.offset))
        batch.removeAll { gone.contains($0.offset) }
        return erased
    }

    /// All fingerprints of a partition, once a few of them match the log: it may be another log that has no known
    /// record in the range.
    private func fingerprints(of partition: Int32) throws -> [RecordFingerprint] {
        if let cached = fingerprints[partition] { return cached }
        let states = try snapshot.partitionStates()
        guard let state = states.first(where: { $0.partition == partition }) else { return [] }
        let recorded = try snapshot.allFingerprints(of: state)
        let watched = try state.watched.map { try snapshot.fingerprints(of: $0, from: 0) } ?? []
        for record in watched {
            let batch = lanes[0].batch
            _ = try reader.read(
                partition: partition, offsets: record.offset..<record.offset + 1, into: { batch }
            ) { try check([record], against: $0) }
        }
        fingerprints[partition] = recorded
        return recorded
    }

    /// Compares the records of a batch, of one partition in order, with the folded ones.
    private func check(
        _ recorded: [RecordFingerprint], against batch: RecordBatch
    ) throws(ExplanationError) {
        guard batch.count > 0 else { return }
        let offsets = batch.position(0).offset...batch.position(batch.count - 1).offset
        var index = 0
        for record in recorded where offsets.contains(record.offset) {
            while batch.position(index).offset < record.offset { index += 1 }
            guard batch.position(index).offset == record.offset,
                batch[index].fingerprint != record.fingerprint
            else { continue }
            throw .otherRecords(
                topic: snapshot.topic, partition: record.partition, offset: record.offset)
        }
    }

    private func epochs(of partition: Int32) throws -> [Epoch] {
        if let cached = epochs[partition] { return cached }
        let found = try snapshot.epochs(of: partition)
        epochs[partition] = found
        return found
    }
}

/// Folds batches one after the other on its own thread. No record needs earlier ones, so batches of one partition are
/// folded in parallel.
///
/// `@unchecked Sendable`: between `start` and the end of `finish` all state belongs to that thread.
private final class RefoldLane: @unchecked Sendable {
    let batch = RecordBatch()
    private var folds: [Int32: PartitionFold] = [:]
    private var folded: [FoldedRecord] = []
    private var failure: (any Error)?
    private let queue = DispatchQueue(label: "refold")
    private let group = DispatchGroup()

    /// The lane's own fold of a partition.
    func fold(of partition: Int32, make: () throws -> PartitionFold) rethrows -> PartitionFold {
        if let fold = folds[partition] { return fold }
        let fold = try make()
        folds[partition] = fold
        return fold
    }

    /// Begins to fold the batch, which must not change until `finish`.
    func start(_ fold: PartitionFold, _ inputs: RefoldInputs, looksAtLeftOut: Bool) {
        nonisolated(unsafe) let fold = fold
        queue.async(group: group) {
            do {
                try fold.fold(self.batch, inputs: inputs, looksAtLeftOut: looksAtLeftOut) {
                    self.folded.append($0)
                }
            } catch {
                self.failure = error
            }
        }
    }

    /// The records folded since `start`, in order; a second call returns none. Throws the error that ended folding.
    func finish() throws -> [FoldedRecord] {
        group.wait()
        defer { folded = [] }
        if let failure {
            self.failure = nil
            throw failure
        }
        return folded
    }

    /// Waits for the thread, and drops its results.
    func settle() {
        group.wait()
        folded = []
        failure = nil
    }
}

/// Folds records up to an instant again, each as its store has folded it.
package struct FoldedHours: HourFolding {
    private let openReader: Explainer.OpenReader
    private let address: String
    private let rules: RuleSource

    /// - Parameters:
    ///   - openReader: opens a reader of the log that the stores were folded from; called only if there is something
    ///     to read.
    ///   - address: the address of the log, for messages.
    ///   - rules: completes the configurations that the stores have recorded.
    package init(
        openReader: @escaping Explainer.OpenReader, address: String, rules: RuleSource
    ) {
        self.openReader = openReader
        self.address = address
        self.rules = rules
    }

    /// The rows to which records with a timestamp below an instant added.
    ///
    /// - Parameter hour: counts only the records of this hour; nil for all.
    /// - Throws: `ExplanationError.recordsGone` if the log no longer has all of them; `replacedLater` if one of them
    ///   replaced a record that is not one of them; errors of reading and folding.
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
        // For a single hour, replaced records are in other hours.
        let replaces = hour == nil && Streams.stream(named: stream)?.replacesRecords ?? false
        var rows: [PartialRow] = []
        for (partition, offsets) in ranges {
            var sums: [ObjectIdentifier: (row: AddedRow, measures: [Int64])] = [:]
            // In streams with replacement, a removal counts only if the replaced record does.
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
                    let sum = sums[key]?.measures
                    // Parts of stored sums: they fit 64 bits.
                    let measures = sum.map { zip($0, addition.measures).map { $0 &+ $1 } }
                    sums[key] = (addition.row, measures ?? addition.measures)
                }
            }
            if let gone = reading.gone {
                throw ExplanationError.recordsGone(
                    topic: snapshot.topic, partition: partition, offsets: gone)
            }
            guard reading.erased.isEmpty else { throw ExplanationError.erased(reading.erased) }
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

/// The result of reading a range of a partition.
package struct RangeReading: Equatable, Sendable {
    package internal(set) var records: Int64 = 0
    /// Offsets of the range that the log no longer has at its beginning; nil if it has all.
    package internal(set) var gone: Range<Int64>?
    /// Offsets of the range after the end of the log; otherwise nil.
    package internal(set) var beyondEnd: Range<Int64>?
    /// Records that were erased after they were folded, in order. They were not folded again.
    package internal(set) var erased: [ErasedPosition] = []
}

/// A record that was erased after its store had folded it.
package struct ErasedPosition: Equatable, Sendable {
    package let topic: String
    package let partition: Int32
    package let offset: Int64
    package let timestampMilliseconds: Int64
    package let record: ErasedRecord
}

/// Reads ranges of a topic, partition by partition.
private final class RangeReader {
    private let reader: any LogReader
    /// The partition that is assigned to the reader.
    private var assigned: Int32?
    /// A log that returns nothing for this long before the end of a range has failed.
    private let patience: Duration
    private let isWanted: () -> Bool

    private static let batchRecords = 2000
    private static let batchBytes = 8 << 20

    init(
        _ reader: any LogReader, while isWanted: @escaping () -> Bool,
        patience: Duration = .seconds(30)
    ) {
        self.reader = reader
        self.isWanted = isWanted
        self.patience = patience
    }

    deinit { reader.close() }

    /// The offsets from one on that the log no longer has; nil if it has that one.
    func gone(partition: Int32, from offset: Int64) throws(LogError) -> Range<Int64>? {
        let bounds = try reader.bounds(of: [partition]).first
        guard let earliest = bounds?.earliestOffset, earliest > offset else { return nil }
        return offset..<earliest
    }

    /// Calls `body` with batches of the records of a range, in order.
    ///
    /// - Parameter nextBatch: returns the batch to fill next, for each read.
    func read(
        partition: Int32, offsets: Range<Int64>, into nextBatch: () throws -> RecordBatch,
        _ body: (RecordBatch) throws -> Void
    ) throws -> RangeReading {
        var reading = RangeReading()
        guard !offsets.isEmpty else { return reading }
        if assigned == partition, reader.position(partition: partition) ?? 0 > offsets.lowerBound {
            // A partition that is read from the log has its bounds, although the archive before it holds more.
            assigned = nil
            try assign(partition)
        }
        guard let bounds = try reader.bounds(of: [partition]).first else { return reading }
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
            guard isWanted() else { throw CancellationError() }
            let batch = try nextBatch()
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

    /// The position of a partition is its end as soon as the end is reached, because nothing is read beyond the
    /// range.
    private func assign(_ partition: Int32) throws(LogError) {
        guard assigned != partition else { return }
        try reader.subscribe(.partitions([partition]))
        _ = try reader.read(
            into: RecordBatch(), maxRecords: 1, maxBytes: 1, waitMilliseconds: 0)
        assigned = partition
    }
}
