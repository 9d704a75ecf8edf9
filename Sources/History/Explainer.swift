import EventLog
import Foundation
import Reports
import Store
import Streams

/// Finds the records that a figure counts, and adds them up.
package struct Explainer {
    /// Opens a reader of a topic, in the log or in an earlier archive.
    package typealias OpenReader = (_ topic: String) throws -> any LogReader

    package let stores: OpenStores
    private let openReader: OpenReader
    private let address: String
    let rules: RuleSource
    /// Whether the answer is still needed: once it is false, explaining ends with `CancellationError`.
    package var isWanted: @Sendable () -> Bool = { true }
    /// The most offsets that are folded again in any case, because that is quick and proves the number.
    package var foldedOffsets: Int64 = 20_000
    /// The most records that were not accepted for which it is examined whether they belong to a figure, unless more are
    /// to be listed.
    package var mostExamined = 1000

    /// - Parameters:
    ///   - openReader: opens a reader of the log that the stores were folded from.
    ///   - address: the address of the log, for messages.
    ///   - rules: completes the recorded configurations of the stores.
    package init(
        stores: OpenStores, openReader: @escaping OpenReader, address: String, rules: RuleSource
    ) {
        self.stores = stores
        self.openReader = openReader
        self.address = address
        self.rules = rules
    }

    /// Calls `body` with each record that adds to a figure or was left out of it, by partition and in order of the
    /// offsets, and returns whether they add up.
    ///
    /// - Parameters:
    ///   - measures: selects measures, given the figure after the stores are scanned; nil for all that are not 0.
    ///   - limit: the most records that count for which to call `body`, if the index of the stores has the records; nil
    ///     to fold all of them again.
    ///   - progress: called periodically with the numbers of offsets read since the last call and remaining.
    /// - Throws: `InspectionError` without a store, `ExplanationError`, `LogError`, `RecordedConfigurationFault`;
    ///   errors of `body`.
    package func explain(
        _ figure: any Figure, measures: (any Figure) throws -> [String]? = { _ in nil },
        limit: Int? = nil,
        progress: @escaping (_ count: Int, _ left: Int64) -> Void = { _, _ in },
        _ body: (ExplainedRecord) throws -> Void
    ) throws -> Explanation {
        try explain(
            figure, measures: measures, limit: limit, progress: progress,
            eachRow: nil, atEnd: { _ in }, body)
    }

    /// Explains within one snapshot of the stores. First visits the rows that count, if that is wanted, and finally the
    /// stores.
    func explain(
        _ figure: any Figure, measures: (any Figure) throws -> [String]?, limit: Int? = nil,
        progress: @escaping (_ count: Int, _ left: Int64) -> Void = { _, _ in },
        eachRow: FigureScan.RowBody?, atEnd: ([StoreSlice]) throws -> Void,
        _ body: (ExplainedRecord) throws -> Void
    ) throws -> Explanation {
        var states: [StreamPartition: Int64] = [:]
        var explanation = try stores.withSlices(of: figure.streams) { slices in
            states = Self.nextOffsets(slices)
            var scan = try FigureScan(figure, slices, eachRow)
            let missing = figure.streams.filter { stream in
                !slices.contains { $0.stream == stream }
                    && figure.measures.contains { figure.streams(of: $0).contains(stream) }
            }
            let wanted = try measures(figure).map { names in
                let unknown = missing.filter { stream in
                    names.contains { figure.streams(of: $0).contains(stream) }
                }
                guard unknown.isEmpty else {
                    throw InspectionError.noStore(streams: unknown, directories: stores.directories)
                }
                return names.compactMap { figure.measures.firstIndex(of: $0) }
            }
            try Self.refuseSeveralCurrencies(scan, figure, wanted)
            var run = ExplainerRun(figure, wanted)
            let ranges = try scan.ranges(figure, slices)
            if let limit, ranges.values.reduce(0, { $0 + $1.length }) > foldedOffsets,
                let indexed = try indexed(figure, &scan, ranges, slices)
            {
                var explanation = try list(indexed, of: slices, limit, scan, &run, body)
                explanation.missingStreams = missing
                return explanation
            }
            var reading = Progress(ranges, report: progress)
            for slice in slices { try explain(slice, ranges, &run, &reading, body) }
            try atEnd(slices)
            var explanation = run.explanation(scan)
            explanation.missingStreams = missing
            return explanation
        }
        guard explanation.differs, explanation.isVerified else { return explanation }
        explanation.foldedOn = try stores.withSlices(of: figure.streams) { slices in
            let now = Self.nextOffsets(slices)
            return slices.flatMap { slice in
                slice.numbers.sorted().filter {
                    let streamPartition = StreamPartition(stream: slice.stream, partition: $0)
                    return now[streamPartition] != states[streamPartition]
                }.map { "\(slice.snapshot.topic)/\($0)" }
            }
        }
        return explanation
    }

    private static func nextOffsets(_ slices: [StoreSlice]) -> [StreamPartition: Int64] {
        slices.reduce(into: [:]) { offsets, slice in
            for state in slice.partitions {
                let streamPartition = StreamPartition(
                    stream: slice.stream, partition: state.partition)
                offsets[streamPartition] = state.nextOffset
            }
        }
    }

    private static func refuseSeveralCurrencies(
        _ scan: FigureScan, _ figure: any Figure, _ wanted: [Int]?
    ) throws(ExplanationError) {
        for (index, currencies) in scan.currencies.sorted(by: { $0.key < $1.key })
        where currencies.count > 1 && wanted?.contains(index) ?? true {
            throw .severalCurrencies(
                measure: figure.measures[index], dump: figure.name,
                currencies: currencies.sorted())
        }
    }

    private func explain(
        _ slice: StoreSlice, _ ranges: [StreamPartition: RecordRanges], _ run: inout ExplainerRun,
        _ progress: inout Progress, _ body: (ExplainedRecord) throws -> Void
    ) throws {
        let topic = slice.snapshot.topic
        let parts = slice.partitions.compactMap { state in
            ranges[StreamPartition(stream: slice.stream, partition: state.partition)].map {
                (state.partition, $0)
            }
        }
        guard !parts.isEmpty else { return }
        let (folding, asking) = try makeFolding(slice, run.figure)
        for (partition, part) in parts {
            var seen: Int64 = 0
            var readings: [RangeReading] = []
            for offsets in part.offsets {
                let candidates = try Self.candidates(
                    run.postbackValues, in: slice, partition: partition, offsets: offsets)
                let reading = try folding.fold(
                    partition: partition, offsets: offsets, looksAtLeftOut: true,
                    where: { record in
                        progress.reach(record.offset, in: offsets)
                        let hour = Hour(containing: max(record.timestampMilliseconds, 0))
                        guard part.hours.contains(hour) else { return false }
                        seen += 1
                        return candidates?.contains(record.offset) ?? true
                    },
                    { record in
                        try asking.withLock { try run.take(record, slice.stream, topic, body) }
                    })
                progress.end(offsets)
                readings.append(reading)
            }
            run.add(
                missing: part.records - seen, readings, topic: topic, partition: partition)
        }
    }

    /// - Returns: the folding, and a lock for queries of the figure: it caches its answers about rows, and lanes query it
    ///   on their own threads.
    private func makeFolding(
        _ slice: StoreSlice, _ figure: any Figure
    ) throws -> (LogRefolding, NSLock) {
        let asking = NSLock()
        let folding = try LogRefolding(
            stream: slice.stream, snapshot: slice.snapshot,
            reader: openReader(slice.snapshot.topic), address: address, rules: rules,
            whereRow: { row in
                asking.withLock {
                    let contribution = row.contribution(to: figure)
                    return contribution.terms != nil || contribution.concerns
                }
            }, while: isWanted)
        return (folding, asking)
    }

    /// The records of a figure from the index of the stores; nil if it lacks some of them.
    private func indexed(
        _ figure: any Figure, _ scan: inout FigureScan, _ ranges: [StreamPartition: RecordRanges],
        _ slices: [StoreSlice]
    ) throws -> [StreamPartition: IndexedRecords]? {
        guard scan.unknown.isEmpty else { return nil }
        var indexed: [StreamPartition: IndexedRecords] = [:]
        for slice in slices {
            try scan.addConcerned(figure, slice, ranges)
            for partition in slice.numbers {
                let streamPartition = StreamPartition(stream: slice.stream, partition: partition)
                guard let part = ranges[streamPartition] else { continue }
                guard
                    let slots = try slice.snapshot.explainedSlots(
                        of: part.hourRanges, partition: partition)
                else { return nil }
                var records = try scan.records(of: streamPartition, slice.snapshot)
                try records.addNotAccepted(in: slots, slice.snapshot)
                records.settle()
                guard !records.isAmbiguous else { return nil }
                indexed[streamPartition] = records
            }
        }
        return indexed
    }

    /// Folds the first records of a figure again.
    private func list(
        _ indexed: [StreamPartition: IndexedRecords], of slices: [StoreSlice], _ limit: Int,
        _ scan: FigureScan, _ run: inout ExplainerRun, _ body: (ExplainedRecord) throws -> Void
    ) throws -> Explanation {
        var (listed, examined) = (0, 0)
        // Left out and not examined, and others that were not accepted and are not examined.
        var (leftOut, unexamined) = (Int64(0), Int64(0))
        var topics: Set<String> = []
        for slice in slices {
            let topic = slice.snapshot.topic
            var opened: (folding: LogRefolding, asking: NSLock)?
            for partition in slice.numbers.sorted() {
                let streamPartition = StreamPartition(stream: slice.stream, partition: partition)
                guard let records = indexed[streamPartition] else { continue }
                let page = records.page(
                    run.wanted, test: run.testIndex, counted: limit - listed,
                    leftOut: max(limit, mostExamined) - examined)
                if page.hasRecords { topics.insert(topic) }
                listed += page.counted.count
                examined += page.leftOut.count
                leftOut += page.moreLeftOut
                unexamined += page.unexamined
                guard !page.offsets.isEmpty else { continue }
                let (folding, asking) = try opened ?? makeFolding(slice, run.figure)
                opened = (folding, asking)
                let wanted = Set(page.offsets)
                for range in page.ranges {
                    var seen: Int64 = 0
                    let reading = try folding.fold(
                        partition: partition, offsets: range, looksAtLeftOut: true,
                        where: { record in
                            guard wanted.contains(record.offset) else { return false }
                            seen += 1
                            return true
                        },
                        { record in
                            try asking.withLock { try run.take(record, slice.stream, topic, body) }
                        })
                    let all = Int64(wanted.count { range.contains($0) })
                    run.add(missing: all - seen, [reading], topic: topic, partition: partition)
                }
            }
        }
        return run.explanation(
            scan, Array(indexed.values), leftOut: leftOut, topics: topics,
            unexamined: unexamined)
    }

    /// The offsets of postbacks that may belong to the figure, to skip verifying the others; nil for all records of the
    /// range.
    private static func candidates(
        _ values: [String: StoredValue], in slice: StoreSlice, partition: Int32,
        offsets: Range<Int64>
    ) throws -> Set<Int64>? {
        guard slice.stream == PostbacksFold.streamName, !values.isEmpty else { return nil }
        return try slice.snapshot.postbackOffsets(
            partition: partition, offsets: offsets, values: values)
    }
}

/// Progress of reading ranges, in offsets, for a waiting person.
private struct Progress {
    private let report: (_ count: Int, _ left: Int64) -> Void
    private var left: Int64
    /// The position in the present range up to which offsets were reported.
    private var reported: Int64?

    /// The number of offsets in one report.
    private static let piece: Int64 = 1000

    init(
        _ ranges: [StreamPartition: RecordRanges],
        report: @escaping (_ count: Int, _ left: Int64) -> Void
    ) {
        self.report = report
        left = ranges.values.reduce(0) { sum, part in
            part.offsets.reduce(sum) { $0 + Int64($1.count) }
        }
    }

    /// Notes that a record of a range was read.
    mutating func reach(_ offset: Int64, in range: Range<Int64>) {
        let begin = reported ?? range.lowerBound
        guard offset - begin >= Self.piece else { return }
        add(offset - begin)
        reported = offset
    }

    /// Notes the end of a range.
    mutating func end(_ range: Range<Int64>) {
        add(range.upperBound - (reported ?? range.lowerBound))
        reported = nil
    }

    private mutating func add(_ count: Int64) {
        left -= count
        report(Int(count), left)
    }
}
