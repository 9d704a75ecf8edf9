import ConversionModels
import Foundation
import Store
import Streams

/// The differences between two sets of stores, or between a set and a candidate.
package struct StoreComparison: Sendable {
    /// One line for each row and measure, or dump and measure: both values and the difference.
    package let table: ReportTable
    package let differs: Bool
    /// Notices for the reader of the table.
    package let notices: [String]
}

/// The options of a comparison.
package struct ComparisonQuery: Sendable {
    package var request: ReportRequest
    package var showsEqual = false
    /// The maximum number of rows.
    package var limit: Int?

    package init(_ request: ReportRequest) {
        self.request = request
    }

    fileprivate func measures(of table: Dump) throws(InspectionError) -> [String] {
        guard let measures = request.measures else { return table.measures }
        return try table.limited(toMeasures: measures).measures
    }
}

/// The compared rows of a report: sums of stored rows.
package struct ComparedRows {
    package let streams: [String]
    let read: (StoreView) throws -> Dump

    init(_ number: DumpFigure) {
        streams = number.streams
        read = { try $0.dump(number) }
    }

    /// Leaves out computed columns and the refunds of apps.
    package init(_ number: FunnelFigure) {
        streams = number.streams
        read = { try $0.funnel(number).sums(by: number.selection.columns) }
    }
}

extension StoreComparison {
    /// Compares two tables of the same columns and measures.
    ///
    /// - Parameter titles: the names of the two.
    init(
        _ first: Dump, _ second: Dump, _ question: ComparisonQuery, titles: [String],
        notices: [String]
    ) throws(InspectionError) {
        var tables = SideBySide(first.columns, try question.measures(of: first), parts: 2)
        for (part, table) in [first, second].enumerated() {
            tables.add(try table.limited(toMeasures: tables.measures), to: part)
        }
        let found = tables.lines(showsEqual: question.showsEqual, totalsOfEqual: true)
        self.table = tables.report(found, titles + ["difference"], limit: question.limit)
        differs = found.lines.contains(where: \.isChanged)
        self.notices = notices
    }
}

extension OpenStores {
    /// Compares an aggregate of this set, called A, with that of another, B.
    ///
    /// Streams in only one of them are left out, with a notice.
    ///
    /// - Throws: `noStore` when they share no stream of the aggregate; `differentLogs` when their offsets refer to
    ///   different records; `unknownDump` and similar errors for an invalid request.
    package func diff(
        _ other: OpenStores, _ question: ComparisonQuery
    ) throws(InspectionError) -> StoreComparison {
        try diff(other, ComparedRows(DumpFigure(counting: question.request)), question)
    }

    package func diff(
        _ other: OpenStores, _ rows: ComparedRows, _ question: ComparisonQuery
    ) throws(InspectionError) -> StoreComparison {
        try views(with: other, of: rows.streams) { views in
            try StoreComparison(
                rows.read(views.first), rows.read(views.second), question, titles: ["a", "b"],
                notices: views.notices)
        }
    }

    /// Compares every aggregate: one line for each measure that differs in any row.
    ///
    /// - Parameters:
    ///   - other: the set called B.
    ///   - request: the request for each dump; its name is replaced.
    package func diff(
        _ other: OpenStores, everyDumpBy request: ReportRequest,
        _ configuration: DumpConfiguration = DumpConfiguration()
    ) throws(InspectionError) -> StoreComparison {
        try views(with: other, of: Self.streams) { views in
            var rows: [[ReportValue]] = []
            for description in DumpDescription.all
            where !views.streams.isDisjoint(with: description.streams) {
                var request = request
                request.name = description.name
                let figure = try DumpFigure(counting: request, configuration)
                let first = try views.first.dump(figure)
                var tables = SideBySide(first.columns, first.measures, parts: 2)
                tables.add(first, to: 0)
                tables.add(try views.second.dump(figure), to: 1)
                rows += tables.summary(of: description.name)
            }
            let columns =
                ["dump", "measure", "currency"].map { ReportTable.Column($0) }
                + ["rows", "a", "b", "difference"].map { ReportTable.Column($0, isNumber: true) }
            return StoreComparison(
                table: ReportTable(columns: columns, rows: rows), differs: !rows.isEmpty,
                notices: views.notices)
        }
    }

    private func views<Value>(
        with other: OpenStores, of streams: [String], _ body: (ComparedViews) throws -> Value
    ) throws(InspectionError) -> Value {
        try view(of: streams) { first in
            try other.view(of: streams) { second in
                let directories = (directories + other.directories)
                var views = try ComparedViews(
                    first, second, asked: streams, directories: directories)
                for stream in views.streams.sorted() {
                    views.add(stream, isSame: paths(of: stream), other.paths(of: stream))
                }
                return try body(views)
            }
        }
    }
}

/// A consistent state of two sets of stores, limited to the streams of both.
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
                notices.append(
                    "\(stream) is not compared, because \(set) has a store of it and \(other) does not"
                )
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

    /// After a promotion both paths can lead to the same store.
    mutating func add(_ stream: String, isSame paths: [String], _ others: [String]) {
        guard !paths.isEmpty, paths.map(Self.standard) == others.map(Self.standard) else { return }
        notices.append("\(stream): A and B are the same store, \(paths.joined(separator: ", "))")
    }

    private static func standard(_ path: String) -> String {
        URL(fileURLWithPath: path).standardizedFileURL.resolvingSymlinksInPath().path
    }

    private static func notices(_ own: FoldedStream, _ others: FoldedStream) -> [String] {
        let differences = own.differencesInOffsets(from: others)
        var notices: [String] = []
        if !differences.isEmpty {
            notices.append(
                "\(own.stream): \(differences.joined(separator: "; ")). Records that only one of them has "
                    + "folded are part of the difference")
        }
        if own.differsInConfiguration(from: others) {
            notices.append("\(own.stream): A and B were folded under different configurations")
        }
        return notices
    }
}

/// The fold progress of a stream's partitions in a set of stores.
struct FoldedStream {
    let stream: String
    let topic: String
    let logIdentity: String
    /// In order of their numbers.
    let partitions: [PartitionState]
    /// The configurations that were in force, by partition, each with its first offset.
    let epochs: [Int32: [Epoch]]

    /// Whether both belong to the same log and topic, so that their offsets refer to the same records.
    func isOfSameLog(as other: FoldedStream) -> Bool {
        topic == other.topic && logIdentity == other.logIdentity
    }

    /// A text for each partition with different first or next offsets in the two sets.
    func differencesInOffsets(from other: FoldedStream) -> [String] {
        let numbers = Set((partitions + other.partitions).map(\.partition)).sorted()
        return numbers.compactMap { number in
            let own = partitions.first { $0.partition == number }
            let others = other.partitions.first { $0.partition == number }
            guard own?.nextOffset != others?.nextOffset || own?.firstOffset != others?.firstOffset
            else { return nil }
            return
                "partition \(number) contains \(Self.offsets(own)) in A and \(Self.offsets(others)) in B"
        }
    }

    /// Whether any offset folded in both was folded under different configurations.
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

    /// The offsets at which configurations took effect.
    private func boundaries(of partition: Int32, in offsets: Range<Int64>) -> [String] {
        let epochs = epochs[partition] ?? []
        return epochs.indices.compactMap { index in
            let next = index + 1 < epochs.count ? epochs[index + 1].fromOffset : Int64.max
            guard epochs[index].fromOffset < offsets.upperBound, next > offsets.lowerBound else {
                return nil
            }
            let first = max(epochs[index].fromOffset, offsets.lowerBound)
            return "\(first) \(epochs[index].configuration.hash)"
        }
    }

    private static func offsets(_ state: PartitionState?) -> String {
        guard let state else { return "nothing" }
        return "offsets \(state.firstOffset) to \(state.nextOffset - 1)"
    }
}

extension StoreView {
    /// The fold progress of each stream of the view.
    func foldedStreams() throws -> [FoldedStream] {
        try streams.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }.compactMap { stream in
            let slices = slices.filter { $0.stream == stream }
            guard let first = slices.first else { return nil }
            var epochs: [Int32: [Epoch]] = [:]
            for slice in slices {
                for number in slice.numbers {
                    epochs[number] = try slice.snapshot.epochs(of: number)
                }
            }
            return FoldedStream(
                stream: stream, topic: first.snapshot.topic,
                logIdentity: first.snapshot.logIdentity,
                partitions: slices.flatMap(\.partitions).sorted { $0.partition < $1.partition },
                epochs: epochs)
        }
    }
}
