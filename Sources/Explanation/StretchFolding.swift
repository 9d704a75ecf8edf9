import AggregateStore
import EventLog
import Streams

/// Folds stretches of a stream's log again, as its store has folded them: without what came before, since
/// the store keeps what memory answered.
package final class StretchFolding {
    private let stream: String
    private let snapshot: StoreSnapshot
    private let reader: StretchReader
    private let rules: FoldRuleSource
    private var folds: [Int32: PartitionFold] = [:]
    /// Of each partition that was begun the records that tell its log from another one.
    private var ladders: [Int32: [Rung]] = [:]

    /// Folds what a store has folded.
    ///
    /// - Parameters:
    ///   - stream: name of the stream.
    ///   - snapshot: the state of its store.
    ///   - reader: of the topic; closed with this.
    ///   - rules: what completes the recorded configurations.
    /// - Throws: `ExplanationError.otherLog` when the store was folded from another log.
    package init(
        stream: String, snapshot: StoreSnapshot, reader: any LogReader, address: String,
        rules: FoldRuleSource
    ) throws {
        guard try reader.identity() == snapshot.logIdentity else {
            throw ExplanationError.otherLog(topic: snapshot.topic, address: address)
        }
        self.stream = stream
        self.snapshot = snapshot
        self.reader = StretchReader(reader)
        self.rules = rules
    }

    /// Calls `body` with each record of a stretch, in order, with what it did when the store folded it.
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
    ) throws -> StretchReading {
        let fold = try fold(of: partition)
        let ladder = try ladder(of: partition)
        return try reader.read(partition: partition, offsets: offsets) { batch in
            guard batch.count > 0 else { return }
            try check(ladder, against: batch)
            let stretch = batch.position(0).offset..<batch.position(batch.count - 1).offset + 1
            let notes = try StretchNotes(snapshot, partition: partition, offsets: stretch)
            try fold.fold(
                batch, notes: notes, looksAtLeftOut: looksAtLeftOut, where: isWanted, body)
        }
    }

    /// All that is known of a partition's records, once a few of them were found in the log as they were: it
    /// may be another one where none of the stretch is known.
    private func ladder(of partition: Int32) throws -> [Rung] {
        if let ladder = ladders[partition] { return ladder }
        let states = try snapshot.partitionStates()
        guard let state = states.first(where: { $0.partition == partition }) else { return [] }
        let ladder = try snapshot.ladder(of: state)
        for rung in try snapshot.rungs(of: state, from: 0) {
            _ = try reader.read(partition: partition, offsets: rung.offset..<rung.offset + 1) {
                batch in
                try check([rung], against: batch)
            }
        }
        ladders[partition] = ladder
        return ladder
    }

    /// Compares the records of a batch, of one partition in order, with those that were folded.
    private func check(_ ladder: [Rung], against batch: RecordBatch) throws(ExplanationError) {
        guard batch.count > 0 else { return }
        let offsets = batch.position(0).offset...batch.position(batch.count - 1).offset
        var index = 0
        for rung in ladder where offsets.contains(rung.offset) {
            while batch.position(index).offset < rung.offset { index += 1 }
            guard batch.position(index).offset == rung.offset,
                batch[index].fingerprint != rung.fingerprint
            else { continue }
            throw .otherRecords(
                topic: snapshot.topic, partition: rung.partition, offset: rung.offset)
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
