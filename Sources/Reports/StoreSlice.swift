import Store
import Streams

/// The partitions of a stream that are read from one store, in one consistent state.
package struct StoreSlice {
    package let stream: String
    package let snapshot: StoreSnapshot
    /// In order of their numbers.
    package let partitions: [PartitionState]
    /// The time of the clock; nil where none is looked at.
    var present: Present?
    /// Only records with a timestamp below it count, in milliseconds since 1970; nil for all.
    var asOfMilliseconds: Int64?
    /// What the records of the instant's hour added; nil at a whole hour.
    fileprivate var partialHour: FoldedAgain?
    /// What all records before the instant added; nil without one.
    fileprivate var before: FoldedAgain?

    package var numbers: Set<Int32> { Set(partitions.map(\.partition)) }
}

extension StoreSlice {
    /// Calls `body` with the rows of the partitions, as `StoreSnapshot` does; with an instant, of
    /// records before it only.
    func forEachRow(
        of table: AggregateTable, _ choice: RowChoice = RowChoice(),
        _ body: (_ partition: Int32, _ columns: [StoredValue], _ measures: [Int64]) throws -> Void
    ) throws {
        guard let asOfMilliseconds,
            let timePlace = table.columns.firstIndex(where: { $0.kind.isTime })
        else {
            return try snapshot.forEachRow(of: table, partitions: numbers, choice, body)
        }
        // A row of a day does not say in which hours the records came that made it.
        if !table.hasDays {
            let hours = HourTexts()
            let end = Hour(containing: asOfMilliseconds).hoursSince1970 * Hour.milliseconds
            try snapshot.forEachRow(of: table, partitions: numbers, choice) {
                partition, columns, measures in
                guard hours[columns[timePlace].text].milliseconds < end else { return }
                try body(partition, columns, measures)
            }
        }
        let folded = table.hasDays ? before : partialHour
        for row in try folded?.rows() ?? [] where row.table.name == table.name {
            let columns = row.table.places(ofColumns: table).map { row.columns[$0] }
            guard choice.isHourWanted(columns[timePlace].text) else { continue }
            let measures = row.table.places(ofMeasures: table).map { row.measures[$0] }
            try body(row.partition, columns, measures)
        }
    }

    /// Calls `body` with the sums of each day's rows, as `StoreSnapshot` does; with an instant, with the rows of
    /// records before it.
    func forEachDay(
        of table: AggregateTable, _ choice: RowChoice,
        _ body: (_ columns: [StoredValue], _ measures: [Int64]) throws -> Void
    ) throws {
        guard asOfMilliseconds == nil else {
            return try forEachRow(of: table, choice) { try body($1, $2) }
        }
        try snapshot.forEachDay(of: table, partitions: numbers, choice, body)
    }

    /// How many refused records are held in memory: there may be as many of them as records.
    private static let refusalsAtOnce = 500

    /// Calls `body` with the refused records of the partitions, without their bytes, until it
    /// returns false.
    package func forEachRefusal(_ body: (StoredRefusal) throws -> Bool) throws {
        for state in partitions {
            var next = Int64.min
            while true {
                let refusals = try snapshot.refused(
                    partition: state.partition, from: next, limit: Self.refusalsAtOnce)
                for refusal in refusals { guard try body(refusal) else { return } }
                guard let last = refusals.last else { break }
                next = last.offset + 1
            }
        }
    }

    /// The slice of one of its partitions.
    func only(_ state: PartitionState) -> StoreSlice {
        StoreSlice(stream: stream, snapshot: snapshot, partitions: [state], present: present)
    }

    /// The time of the newest record that is not dated ahead of the clock, in milliseconds since 1970; nil without one.
    ///
    /// Where a partition has a record that is, only the hour of its newest other one is known: the time is the beginning
    /// of that hour.
    package func newestMilliseconds() throws -> Int64? {
        // The watermark of a partition without a record is 1970, and no time of a record.
        try partitions.filter { $0.records > 0 }.compactMap { state in
            guard let present, present.isAhead(state.watermarkMilliseconds) else {
                return min(
                    state.watermarkMilliseconds, present?.milliseconds ?? .max,
                    asOfMilliseconds ?? .max)
            }
            let starts = try snapshot.hours(of: state.partition).map(\.hour.startMilliseconds)
            return starts.last { !present.isAhead($0) }
                .map { min($0, present.milliseconds, asOfMilliseconds ?? .max) }
        }.max()
    }

    /// How many records are in hours that begin ahead of the clock.
    package func aheadCount() throws -> Int64 {
        guard let present else { return 0 }
        return try partitions.reduce(0) { count, state in
            guard present.isAhead(state.watermarkMilliseconds) else { return count }
            return try snapshot.hours(of: state.partition)
                .filter { present.isAhead($0.hour.startMilliseconds) }
                .reduce(count) { $0 + $1.records }
        }
    }

    /// Whether a record of this time counts.
    func counts(timestampMilliseconds: Int64) -> Bool {
        asOfMilliseconds.map { timestampMilliseconds < $0 } ?? true
    }
}

extension AggregateTable {
    /// The places of the columns that a narrower aggregate has.
    func places(ofColumns narrow: AggregateTable) -> [Int] {
        narrow.columns.compactMap { column in columns.firstIndex { $0.name == column.name } }
    }

    /// The places of the measures that a narrower aggregate has.
    func places(ofMeasures narrow: AggregateTable) -> [Int] {
        narrow.measures.compactMap { measures.firstIndex(of: $0) }
    }
}

/// One consistent state of some stores: of each partition, the copy that is folded furthest.
struct StoreView {
    /// Streams in bytewise order.
    let slices: [StoreSlice]

    init(slices: [StoreSlice]) {
        self.slices = slices
    }

    init(
        _ snapshots: [(stream: String, snapshot: StoreSnapshot)], present: Present? = nil
    ) throws {
        let states = try snapshots.map { try $0.snapshot.partitionStates() }
        slices = snapshots.indices.map { index in
            StoreSlice(
                stream: snapshots[index].stream,
                snapshot: snapshots[index].snapshot,
                partitions: states[index].filter { state in
                    Self.isFurthest(state, at: index, snapshots.map(\.stream), states)
                }, present: present)
        }
    }

    /// The streams of the view, each once.
    var streams: Set<String> { Set(slices.map(\.stream)) }

    /// The view of these streams only.
    func limited(to streams: Set<String>) -> StoreView {
        StoreView(slices: slices.filter { streams.contains($0.stream) })
    }

    /// The view of the records before an instant; without one, of all.
    func limited(by asOf: AsOf?) -> StoreView {
        guard let asOf else { return self }
        return StoreView(
            slices: slices.map { slice in
                var slice = slice
                slice.asOfMilliseconds = asOf.milliseconds
                slice.partialHour = asOf.partialHour.map { FoldedAgain(slice, $0, asOf) }
                slice.before = FoldedAgain(slice, nil, asOf)
                return slice
            })
    }

    /// The time of the newest postback that counts, in milliseconds since 1970.
    var postbacksWatermark: Int64? {
        get throws {
            try slices.filter { $0.stream == PostbacksFold.streamName }
                .compactMap { try $0.newestMilliseconds() }.max()
        }
    }

    /// Whether no other store has the partition further, or as far and comes first.
    private static func isFurthest(
        _ state: PartitionState, at index: Int, _ streams: [String], _ states: [[PartitionState]]
    ) -> Bool {
        streams.indices.allSatisfy { other in
            guard other != index, streams[other] == streams[index],
                let copy = states[other].first(where: { $0.partition == state.partition })
            else { return true }
            return copy.extent < state.extent || (copy.extent == state.extent && index < other)
        }
    }
}

/// An instant of event time up to which records count.
package struct AsOf {
    /// Records with a timestamp below it count, in milliseconds since 1970.
    package let milliseconds: Int64
    /// Folds the hour that the instant lies in; not called for a whole hour, but of streams with tables of days.
    package let hours: any HourFolding

    package init(milliseconds: Int64, hours: any HourFolding) {
        self.milliseconds = milliseconds
        self.hours = hours
    }

    /// The hour that the instant lies in; nil at a whole hour, when stored rows suffice.
    fileprivate var partialHour: Hour? {
        milliseconds.isMultiple(of: Hour.milliseconds) ? nil : Hour(containing: milliseconds)
    }
}

/// Finds what records added to aggregates up to an instant: stored rows know only whole hours, and those of days
/// none at all.
package protocol HourFolding {
    /// The rows that records with a timestamp below the instant added to, with what they added. A row may occur
    /// several times.
    ///
    /// - Parameters:
    ///   - hour: the only one whose records count; nil for all.
    ///   - milliseconds: the instant, since 1970.
    func rows(
        of stream: String, in snapshot: StoreSnapshot, partitions: [PartitionState], hour: Hour?,
        beforeMilliseconds milliseconds: Int64
    ) throws -> [PartialRow]
}

/// What some records of an hour added to a row of an aggregate.
package struct PartialRow: Sendable {
    package let table: AggregateTable
    /// The partition that the records lie in.
    package let partition: Int32
    /// A value for each column of the aggregate.
    package let columns: [StoredValue]
    /// A sum for each of its measures.
    package let measures: [Int64]

    package init(
        table: AggregateTable, partition: Int32, columns: [StoredValue], measures: [Int64]
    ) {
        self.table = table
        self.partition = partition
        self.columns = columns
        self.measures = measures
    }
}

/// What the records of an hour, or all, added up to an instant. It is folded when it is first needed: refused
/// records need no fold.
private final class FoldedAgain {
    private let slice: StoreSlice
    private let hour: Hour?
    private let asOf: AsOf
    private var known: [PartialRow]?

    init(_ slice: StoreSlice, _ hour: Hour?, _ asOf: AsOf) {
        self.slice = slice
        self.hour = hour
        self.asOf = asOf
    }

    /// - Throws: `hourNotFolded` when they cannot be folded again.
    func rows() throws -> [PartialRow] {
        if let known { return known }
        do {
            let rows = try asOf.hours.rows(
                of: slice.stream, in: slice.snapshot, partitions: slice.partitions, hour: hour,
                beforeMilliseconds: asOf.milliseconds)
            known = rows
            return rows
        } catch {
            throw InspectionError.hourNotFolded(
                stream: slice.stream, hour: hour?.text, detail: "\(error)")
        }
    }
}
