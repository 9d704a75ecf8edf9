import AggregateStore
import Foundation

/// The differences between two sets of stores, or between a set and a candidate.
package struct StoreComparison: Sendable {
    /// One line for each row and measure, or dump and measure: both values and the difference.
    package let table: ReportTable
    package let differs: Bool
    /// Notices for the reader of the table.
    package let notices: [String]
}

/// What to compare.
package struct ComparisonQuery: Sendable {
    /// The selected rows and their grouping.
    package var query: DumpQuery
    /// Only these measures; empty for all.
    package var measures: [String] = []
    /// Whether equal rows are shown too.
    package var showsEqual = false
    /// The most rows to show.
    package var limit: Int?

    package init(_ query: DumpQuery) {
        self.query = query
    }
}

extension StoreSet {
    /// Compares an aggregate of this set, called A, with that of another, B.
    ///
    /// Streams that only one of them has are left out; a notice says so.
    ///
    /// - Throws: `noStore` when they have no stream of the aggregate in common; `differentLogs` when
    ///   their offsets mean other records; `unknownDump` and its like for what cannot be asked.
    package func diff(
        _ other: StoreSet, _ question: ComparisonQuery
    ) throws(InspectionError) -> StoreComparison {
        let plan = try DumpPlan(counting: question.query)
        return try views(with: other, of: plan.description.streams) { views in
            let comparison = try views.compare(plan, question)
            return StoreComparison(
                table: comparison.report(.sets, limit: question.limit),
                differs: comparison.differs, notices: views.notices)
        }
    }

    /// Compares the funnels of two sets.
    package func diff(
        _ other: StoreSet, funnel query: FunnelQuery, _ question: ComparisonQuery
    ) throws(InspectionError) -> StoreComparison {
        let selection = try RowSelection(query.query, of: Funnel.columns)
        return try views(with: other, of: FunnelSource.streams) { views in
            let tables = try [views.first, views.second].map { view in
                MeasuredTable(try view.funnel(query, selection), columns: selection.columns)
            }
            let comparison = TableComparison(
                try tables[0].only(question.measures), try tables[1].only(question.measures),
                showsEqual: question.showsEqual)
            return StoreComparison(
                table: comparison.report(.sets, limit: question.limit),
                differs: comparison.differs, notices: views.notices)
        }
    }

    /// Compares every aggregate: one line for each measure that differs in any row.
    ///
    /// - Parameters:
    ///   - other: the set that is called B.
    ///   - query: what to ask of each dump; its name is set here.
    package func diff(
        _ other: StoreSet, everyDumpBy query: DumpQuery
    ) throws(InspectionError) -> StoreComparison {
        try views(with: other, of: Self.streams) { views in
            var rows: [[ReportValue]] = []
            for description in DumpDescription.all
            where !views.streams.isDisjoint(with: description.streams) {
                var query = query
                query.name = description.name
                let comparison = try views.compare(
                    DumpPlan(counting: query), ComparisonQuery(query))
                rows += comparison.summary(of: description.name)
            }
            let table = ReportTable(
                columns: TableComparison.summaryColumns(.sets), rows: rows)
            return StoreComparison(
                table: table, differs: !rows.isEmpty, notices: views.notices)
        }
    }

    private func views<Value>(
        with other: StoreSet, of streams: [String], _ body: (ComparedViews) throws -> Value
    ) throws(InspectionError) -> Value {
        try view(of: streams) { first in
            try other.view(of: streams) { second in
                let directories = (directories + other.directories)
                var views = try ComparedViews(
                    first, second, asked: streams, directories: directories)
                for stream in views.streams.sorted() {
                    views.note(stream, isSame: paths(of: stream), other.paths(of: stream))
                }
                return try body(views)
            }
        }
    }
}

/// A consistent state of two sets of stores, of the streams that both have.
private struct ComparedViews {
    let first: StoreView
    let second: StoreView
    let streams: Set<String>
    private(set) var notices: [String] = []

    init(
        _ first: StoreView, _ second: StoreView, asked: [String], directories: [String]
    ) throws {
        streams = first.streams.intersection(second.streams)
        guard !streams.isEmpty else {
            throw InspectionError.nothingInCommon(streams: asked, directories: directories)
        }
        self.first = first.limited(to: streams)
        self.second = second.limited(to: streams)
        for (set, other, view) in [("A", "B", first), ("B", "A", second)] {
            for stream in view.streams.subtracting(streams).sorted() {
                notices.append("\(stream) is left out: \(set) has a store of it, \(other) has none")
            }
        }
        let pairs = zip(try self.first.foldedStreams(), try self.second.foldedStreams())
        for (own, others) in pairs {
            guard own.isOfSameLog(as: others) else {
                throw InspectionError.differentLogs(stream: own.stream, directories: directories)
            }
            notices += Self.notices(own, others)
        }
    }

    /// After a promotion both paths can lead to one store.
    mutating func note(_ stream: String, isSame paths: [String], _ others: [String]) {
        guard !paths.isEmpty, paths.map(Self.standard) == others.map(Self.standard) else { return }
        notices.append("\(stream): A and B are one store, \(paths.joined(separator: ", "))")
    }

    private static func standard(_ path: String) -> String {
        URL(fileURLWithPath: path).standardizedFileURL.resolvingSymlinksInPath().path
    }

    func compare(_ plan: DumpPlan, _ question: ComparisonQuery) throws -> TableComparison {
        TableComparison(
            try MeasuredTable(first.dump(plan)).only(question.measures),
            try MeasuredTable(second.dump(plan)).only(question.measures),
            showsEqual: question.showsEqual)
    }

    private static func notices(_ own: FoldedStream, _ others: FoldedStream) -> [String] {
        let reaches = own.differencesInReach(from: others)
        var notices: [String] = []
        if !reaches.isEmpty {
            notices.append(
                "\(own.stream): \(reaches.joined(separator: "; ")): what only one of them has folded "
                    + "is part of the difference")
        }
        if own.differsInConfiguration(from: others) {
            notices.append("\(own.stream): A and B were folded under different configurations")
        }
        return notices
    }
}

extension StoreView {
    /// The copies of these streams only.
    fileprivate func limited(to streams: Set<String>) -> StoreView {
        StoreView(copies: copies.filter { streams.contains($0.stream) })
    }
}

extension MeasuredTable {
    /// The table with only these measures, in its own order; with all of them when none is named.
    func only(_ names: [String]) throws(InspectionError) -> MeasuredTable {
        guard !names.isEmpty else { return self }
        for name in names where !measures.contains(name) {
            throw .unknownMeasure(name, known: measures)
        }
        let places = measures.indices.filter { names.contains(measures[$0]) }
        return MeasuredTable(
            columns: columns, measures: places.map { measures[$0] },
            rows: rows.map { row in
                Row(columns: row.columns, measures: places.map { row.measures[$0] })
            })
    }
}

/// How far the partitions of a stream are folded in a set of stores.
struct FoldedStream {
    let stream: String
    let topic: String
    let logIdentity: String
    /// In order of their numbers.
    let partitions: [PartitionState]
    /// The configurations that were in force, by partition, with the offset from which each was.
    let epochs: [Int32: [Epoch]]

    /// Whether both are of one log and topic: then their offsets mean the same records.
    func isOfSameLog(as other: FoldedStream) -> Bool {
        topic == other.topic && logIdentity == other.logIdentity
    }

    /// A text for each partition that begins or ends at different offsets in two sets.
    func differencesInReach(from other: FoldedStream) -> [String] {
        let numbers = Set((partitions + other.partitions).map(\.partition)).sorted()
        return numbers.compactMap { number in
            let own = partitions.first { $0.partition == number }
            let others = other.partitions.first { $0.partition == number }
            guard own?.nextOffset != others?.nextOffset || own?.firstOffset != others?.firstOffset
            else { return nil }
            return
                "partition \(number) holds \(Self.reach(own)) in A and \(Self.reach(others)) in B"
        }
    }

    /// Whether some offset that both have folded was folded under different configurations.
    func differsInConfiguration(from other: FoldedStream) -> Bool {
        partitions.contains { state in
            guard let others = other.partitions.first(where: { $0.partition == state.partition })
            else { return false }
            let first = max(state.firstOffset, others.firstOffset)
            let next = min(state.nextOffset, others.nextOffset)
            guard first < next else { return false }
            return boundaries(of: state.partition, in: first..<next)
                != other.boundaries(of: state.partition, in: first..<next)
        }
    }

    private func boundaries(of partition: Int32, in offsets: Range<Int64>) -> [Boundary] {
        let epochs = epochs[partition] ?? []
        return epochs.indices.compactMap { index in
            let next = index + 1 < epochs.count ? epochs[index + 1].fromOffset : Int64.max
            guard epochs[index].fromOffset < offsets.upperBound, next > offsets.lowerBound else {
                return nil
            }
            return Boundary(
                fromOffset: max(epochs[index].fromOffset, offsets.lowerBound),
                hash: epochs[index].configuration.hash)
        }
    }

    private static func reach(_ state: PartitionState?) -> String {
        guard let state else { return "nothing" }
        return "offsets \(state.firstOffset) to \(state.nextOffset - 1)"
    }
}

private struct Boundary: Equatable {
    let fromOffset: Int64
    let hash: String
}

extension StoreView {
    /// How far each stream of the view is folded.
    func foldedStreams() throws -> [FoldedStream] {
        try streams.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }.compactMap { stream in
            let copies = copies.filter { $0.stream == stream }
            guard let first = copies.first else { return nil }
            var epochs: [Int32: [Epoch]] = [:]
            for copy in copies {
                for state in copy.partitions {
                    epochs[state.partition] = try copy.snapshot.epochs(of: state.partition)
                }
            }
            return FoldedStream(
                stream: stream, topic: first.snapshot.topic,
                logIdentity: first.snapshot.logIdentity,
                partitions: copies.flatMap(\.partitions).sorted { $0.partition < $1.partition },
                epochs: epochs)
        }
    }
}
