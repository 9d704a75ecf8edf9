import AggregateStore
import EventLog
import Inspection
import Streams

/// Finds the records behind a number, and adds them up.
package struct Explainer {
    /// Opens a reader of a topic, of the log or of an archive before it.
    package typealias OpenReader = (_ topic: String) throws -> any LogReader

    private let stores: StoreSet
    private let openReader: OpenReader
    private let address: String
    let rules: FoldRuleSource

    /// Explains what these stores hold.
    ///
    /// - Parameters:
    ///   - openReader: opens a reader of the log that they were folded from.
    ///   - address: of the log, for messages.
    ///   - rules: what completes the configurations that the stores have recorded.
    package init(
        stores: StoreSet, openReader: @escaping OpenReader, address: String, rules: FoldRuleSource
    ) {
        self.stores = stores
        self.openReader = openReader
        self.address = address
        self.rules = rules
    }

    /// Explains a cell: calls `body` with each record that adds to it or was left out of it, partition by
    /// partition in order of the offsets, and says whether they add up.
    ///
    /// - Parameters:
    ///   - measures: those that are asked for, given the cell once the stores were looked at; nil for all that
    ///     are not 0.
    ///   - progress: called now and then with how many more offsets were read, and how many are left.
    /// - Throws: `InspectionError` when there is no store, `ExplanationError`, `LogError`,
    ///   `RecordedConfigurationFault`; what `body` throws.
    package func explain(
        _ cell: any Cell, measures: (any Cell) throws -> [String]? = { _ in nil },
        progress: @escaping (_ count: Int, _ left: Int64) -> Void = { _, _ in },
        _ body: (ExplainedRecord) throws -> Void
    ) throws -> Explanation {
        try explain(
            cell, measures: measures, progress: progress, eachRow: { _, _, _, _ in },
            atEnd: { _ in }, body)
    }

    /// The same, in one state of the stores with a look at the rows that count before, and at the stores
    /// after.
    func explain(
        _ cell: any Cell, measures: (any Cell) throws -> [String]?,
        progress: @escaping (_ count: Int, _ left: Int64) -> Void = { _, _ in },
        eachRow: (CellScan.Place, AggregateTable, [StoredValue], [Int64]) throws -> Void,
        atEnd: ([StreamCopy]) throws -> Void, _ body: (ExplainedRecord) throws -> Void
    ) throws -> Explanation {
        var states: [CellScan.Place: Int64] = [:]
        var explanation = try stores.withCopies(of: cell.streams) { copies in
            states = Self.nextOffsets(copies)
            let scan = try CellScan(cell, copies, eachRow)
            let missing = cell.streams.filter { stream in
                !copies.contains { $0.stream == stream }
                    && cell.measures.contains { cell.streams(of: $0).contains(stream) }
            }
            let wanted = try measures(cell).map { names in
                let unknown = missing.filter { stream in
                    names.contains { cell.streams(of: $0).contains(stream) }
                }
                guard unknown.isEmpty else {
                    throw InspectionError.noStore(streams: unknown, directories: stores.directories)
                }
                return names.compactMap { cell.measures.firstIndex(of: $0) }
            }
            try Self.refuseSeveralCurrencies(scan, cell, wanted)
            var run = ExplainerRun(cell, wanted)
            let stretches = try CellStretches(cell, scan, copies)
            var reading = StretchProgress(stretches, report: progress)
            for copy in copies {
                try explain(copy, stretches, &run, &reading, body)
            }
            try atEnd(copies)
            var explanation = run.explanation(scan.sums)
            explanation.missingStreams = missing
            return explanation
        }
        if !explanation.addsUp { explanation.foldedOn = try foldedOn(cell, since: states) }
        return explanation
    }

    private static func nextOffsets(_ copies: [StreamCopy]) -> [CellScan.Place: Int64] {
        copies.reduce(into: [:]) { offsets, copy in
            for state in copy.partitions {
                offsets[.init(stream: copy.stream, partition: state.partition)] = state.nextOffset
            }
        }
    }

    /// The partitions that stand elsewhere than they did.
    private func foldedOn(
        _ cell: any Cell, since states: [CellScan.Place: Int64]
    ) throws -> [String] {
        try stores.withCopies(of: cell.streams) { copies in
            let now = Self.nextOffsets(copies)
            return copies.flatMap { copy in
                copy.partitions.filter {
                    let place = CellScan.Place(stream: copy.stream, partition: $0.partition)
                    return now[place] != states[place]
                }.map { "\(copy.snapshot.topic)/\($0.partition)" }
            }
        }
    }

    private static func refuseSeveralCurrencies(
        _ scan: CellScan, _ cell: any Cell, _ wanted: [Int]?
    ) throws(ExplanationError) {
        for (place, currencies) in scan.currencies.sorted(by: { $0.key < $1.key })
        where currencies.count > 1 && wanted?.contains(place) ?? true {
            throw .severalCurrencies(
                measure: cell.measures[place], dump: cell.name, currencies: currencies.sorted())
        }
    }

    /// The offsets of postbacks that may have to do with the cell, so that no other's signature is verified;
    /// nil for all records of the stretch.
    private static func candidates(
        _ values: [String: StoredValue], in copy: StreamCopy, partition: Int32,
        offsets: Range<Int64>
    ) throws -> Set<Int64>? {
        guard copy.stream == PostbacksFold.streamName, !values.isEmpty else { return nil }
        return try copy.snapshot.postbackOffsets(
            partition: partition, offsets: offsets, values: values)
    }

    private func explain(
        _ copy: StreamCopy, _ stretches: CellStretches, _ run: inout ExplainerRun,
        _ progress: inout StretchProgress, _ body: (ExplainedRecord) throws -> Void
    ) throws {
        let parts = copy.partitions.compactMap { state in
            stretches.parts[.init(stream: copy.stream, partition: state.partition)].map {
                (state.partition, $0)
            }
        }
        guard !parts.isEmpty else { return }
        let folding = try StretchFolding(
            stream: copy.stream, snapshot: copy.snapshot,
            reader: openReader(copy.snapshot.topic), address: address, rules: rules)
        for (partition, part) in parts {
            var seen: Int64 = 0
            var readings: [StretchReading] = []
            for offsets in part.offsets {
                let candidates = try Self.candidates(
                    run.postbackValues, in: copy, partition: partition, offsets: offsets)
                let reading = try folding.fold(
                    partition: partition, offsets: offsets, looksAtLeftOut: true,
                    where: { record in
                        progress.reach(record.offset, in: offsets)
                        let hour = Hour(containing: max(record.timestampMilliseconds, 0))
                        guard part.hours.contains(hour) else { return false }
                        seen += 1
                        return candidates?.contains(record.offset) ?? true
                    },
                    { try run.take($0, copy.stream, copy.snapshot.topic, body) })
                progress.end(offsets)
                readings.append(reading)
            }
            run.note(
                missing: part.records - seen, readings, topic: copy.snapshot.topic,
                partition: partition)
        }
    }
}
