import ConfigurationFiles
import EventLog
import JSON

/// A fold whose ids are remembered for a window of event time, in memory: what such streams have in
/// common. A stream adds what its types mean.
///
/// By default records are decoded one by one as they are folded. A stream that wants to look at a whole
/// batch first has a `Prepared` of its own, and gives `state` the batch in its `begin`.
package protocol WindowedFold: StreamFold where Rules == WindowedRules {
    /// A batch that was prepared.
    associatedtype Prepared = RecordBatch

    /// What the batch did, and the ids that are remembered.
    var state: WindowedState { get }

    /// Makes a fold without memory; `parser` is its own from now on.
    init(topic: String, rules: WindowedRules, parser: JSONParser)

    /// Decodes a record and, unless its ids were all seen before, adds to the stream's tables.
    ///
    /// - Returns: false for a duplicate.
    /// - Throws: why the record is rejected; before it was given an id.
    func count(
        _ value: JSONValue, of kind: Kind, at place: RecordPlace
    ) throws(Rejection) -> Bool
}

extension WindowedFold where Prepared == RecordBatch {
    /// Records are decoded one by one as they are folded.
    package func prepare(_ batch: RecordBatch) -> RecordBatch { batch }

    /// Begins to fold a batch.
    package func begin(_ batch: RecordBatch) {
        state.batch = batch
    }
}

extension WindowedFold {
    package static func rules(
        in pipelines: PipelineDirectory
    ) throws(ConfigurationError) -> WindowedRules {
        WindowedRules(stream: streamName, try file(in: pipelines))
    }

    /// What it remembers is read partition by partition.
    package static func make(
        _ rules: WindowedRules, topic: String, memory: any FoldMemory, threadCount: Int
    ) throws -> Self {
        try Self(topic: topic, rules: rules, parser: .make())
    }

    /// What the batch did.
    package var effects: FoldEffects { state.effects }

    /// The dedupe memory, by partition.
    package var windows: [Int32: DedupeWindow] { state.windows }

    package func restore(
        partition: Int32, watermarkMilliseconds: Int64, from memory: any FoldMemory
    ) throws {
        restore(
            partition: partition, watermarkMilliseconds: watermarkMilliseconds,
            entries: try memory.windowEntries(of: partition))
    }

    package func windowIDs(atMost bound: Int) -> Int {
        let held = windows.values.reduce(0) { $0 + $1.heldCount }
        return held <= bound ? held : windows.values.reduce(0) { $0 + $1.sweep() }
    }

    package func writeMemory(to writer: any FoldMemoryWriter) throws {
        for progress in effects.progress {
            guard let window = windows[progress.partition] else { continue }
            try writer.append(window.admitted, to: window, at: progress)
        }
    }

    /// Gives a partition its memory, as it was stored.
    package func restore(
        partition: Int32, watermarkMilliseconds: Int64, entries: [DedupeWindow.Entry]
    ) {
        state.restore(
            partition: partition, watermarkMilliseconds: watermarkMilliseconds, entries: entries)
    }

    package func forget(partition: Int32) {
        state.forget(partition: partition)
    }

    /// Folds one record of the batch.
    package func fold(_ index: Int) {
        guard let batch = state.batch else { return }
        let record = batch[index]
        let place = RecordPlace(record, index: index)
        state.advance(record, to: place)

        let envelope = Envelope<Kind>(record)
        var outcome = Outcome.accepted
        do throws(Rejection) {
            let value = try envelope.value(
                of: record, parser: state.parser,
                maxRecordBytes: state.rules.maxRecordBytes)
            let isNew = try count(value, of: envelope.type ?? .byDefault, at: place)
            if !isNew { outcome = .duplicates }
            state.noteAnswers(at: place)
        } catch {
            outcome = .rejected
            state.effects.refuse(
                RefusedRecord(index: index, type: envelope.statedType, cause: .rejected(error)))
        }
        state.effects.count(
            outcome, at: place, type: envelope.countedType)
    }

    /// Asks for the answers of the first time from now on.
    package func recall(from memory: RecalledMemory) {
        state.recalled = memory
    }

    /// Takes back the last record: its sums overflow.
    package func rejectOverflow(_ index: Int) {
        guard let batch = state.batch else { return }
        let record = batch[index]
        state.takeBackAdmitted()
        clear()
        let place = RecordPlace(record, index: index)
        state.advance(record, to: place)
        let envelope = Envelope<Kind>(record)
        state.effects.refuse(
            RefusedRecord(index: index, type: envelope.statedType, cause: .rejected(.overflow)))
        state.effects.count(
            .rejected, at: place, type: envelope.countedType)
    }

    /// Clears what the batch did.
    package func clear() {
        let keepsRows = state.clear()
        for table in deltas { table.removeAll(keepingRows: keepsRows) }
    }
}
