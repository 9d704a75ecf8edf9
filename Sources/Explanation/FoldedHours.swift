import AggregateStore
import EventLog
import Inspection
import Streams

/// Folds the records of an hour up to an instant in it once more, each as its store has folded it.
package struct FoldedHours: HourFolding {
    private let openReader: Explainer.OpenReader
    private let address: String
    private let rules: FoldRuleSource

    /// Folds what a log has.
    ///
    /// - Parameters:
    ///   - openReader: opens a reader of the log that the stores were folded from; not called where nothing
    ///     has to be read.
    ///   - address: of the log, for messages.
    ///   - rules: what completes the configurations that the stores have recorded.
    package init(
        openReader: @escaping Explainer.OpenReader, address: String, rules: FoldRuleSource
    ) {
        self.openReader = openReader
        self.address = address
        self.rules = rules
    }

    /// The rows that the records of the hour with a timestamp below an instant added to.
    ///
    /// - Throws: `ExplanationError.recordsGone` when the log no longer has all of them; what reading it
    ///   and folding them throws.
    package func rows(
        of stream: String, in snapshot: StoreSnapshot, partitions: [PartitionState], hour: Hour,
        beforeMilliseconds milliseconds: Int64
    ) throws -> [PartialRow] {
        let stretches = try partitions.compactMap { state in
            try snapshot.hours(of: state.partition).first { $0.hour == hour }
        }
        guard !stretches.isEmpty else { return [] }
        let folding = try StretchFolding(
            stream: stream, snapshot: snapshot, reader: openReader(snapshot.topic),
            address: address, rules: rules)
        var rows: [PartialRow] = []
        for stretch in stretches {
            var sums: [ObjectIdentifier: (row: AdditionRow, measures: [Int64])] = [:]
            let offsets = stretch.firstOffset..<stretch.lastOffset + 1
            let reading = try folding.fold(
                partition: stretch.partition, offsets: offsets,
                where: { Self.counts($0, hour, milliseconds) }
            ) { record in
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
                    topic: snapshot.topic, partition: stretch.partition, offsets: gone)
            }
            rows += sums.values.map { row, measures in
                PartialRow(
                    table: row.table, partition: stretch.partition, columns: row.columns,
                    measures: measures)
            }
        }
        return rows
    }

    private static func counts(
        _ record: RecordView, _ hour: Hour, _ milliseconds: Int64
    ) -> Bool {
        let time = max(record.timestampMilliseconds, 0)
        return time < milliseconds && Hour(containing: time) == hour
    }
}
