import AggregateStore
import EventLog
import Streams

/// Folds records of one partition again, each under the configuration that was in force when it was folded
/// the first time.
package final class PartitionFold {
    private let stream: String
    private let topic: String
    private let partition: Int32
    private let epochs: [Epoch]
    private let rules: FoldRuleSource
    /// By hash of the configuration.
    private var folds: [String: any RecordFold] = [:]
    private let selected = RecordBatch()

    /// Folds a partition.
    ///
    /// - Parameter epochs: the configurations that were in force, by offset.
    package init(
        stream: String, topic: String, partition: Int32, epochs: [Epoch], rules: FoldRuleSource
    ) {
        self.stream = stream
        self.topic = topic
        self.partition = partition
        self.epochs = epochs
        self.rules = rules
    }

    /// Calls `body` with each record of a batch that is wanted, with what it did when it was folded the
    /// first time.
    ///
    /// - Parameters:
    ///   - notes: what the store noted of these records.
    ///   - looksAtLeftOut: whether to find out what duplicates and others would have added.
    /// - Throws: `RecordedConfigurationFault` when a configuration cannot be put in force again,
    ///   `ExplanationError.unknownEpoch` for a record of none; what `body` throws.
    package func fold(
        _ batch: RecordBatch, notes: StretchNotes, looksAtLeftOut: Bool = false,
        where isWanted: (RecordView) -> Bool = { _ in true },
        _ body: (FoldedRecord) throws -> Void
    ) throws {
        var index = 0
        while index < batch.count {
            let epoch = try epoch(of: batch.position(index).offset)
            let end = epochs.first { $0.fromOffset > epoch.fromOffset }?.fromOffset ?? .max
            selected.removeAll()
            while index < batch.count, batch.position(index).offset < end {
                let record = batch[index]
                if isWanted(record) { selected.append(borrowed: record, from: batch) }
                index += 1
            }
            guard !selected.isEmpty else { continue }
            try fold(under: epoch.configuration).fold(
                selected, notes, looksAtLeftOut: looksAtLeftOut, body)
        }
    }

    private func epoch(of offset: Int64) throws(ExplanationError) -> Epoch {
        guard let epoch = epochs.last(where: { $0.fromOffset <= offset }) else {
            throw .unknownEpoch(topic: topic, partition: partition, offset: offset)
        }
        return epoch
    }

    private func fold(under configuration: FoldConfiguration) throws -> any RecordFold {
        if let fold = folds[configuration.hash] { return fold }
        let fold = try rules.makeFold(stream: stream, topic: topic, configuration: configuration)
        folds[configuration.hash] = fold
        return fold
    }
}
