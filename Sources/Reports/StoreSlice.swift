import Store
import Streams

/// The partitions of a stream that are read from one store, in one consistent state.
package struct StoreSlice {
    package let stream: String
    package let snapshot: StoreSnapshot
    /// In order of their numbers.
    package let partitions: [PartitionState]
    /// The time of the clock; nil to ignore the clock.
    var present: Present?
    /// The cache to use and extend.
    var cache: ReportCache?
    /// Only records with an earlier timestamp count, in milliseconds since 1970; nil for all.
    var asOfMilliseconds: Int64?
    /// The contributions of the instant's hour up to the instant; nil at a whole hour.
    fileprivate var partialHour: FoldedAgain?
    /// The contributions of all records before the instant; nil without one.
    fileprivate var before: FoldedAgain?

    package var numbers: Set<Int32> { Set(partitions.map(\.partition)) }
}

extension StoreSlice {
    /// Calls `body` with the rows of the partitions, like `StoreSnapshot`; with an instant, limited to earlier records.
    func forEachRow(
        of table: AggregateTable, _ choice: RowChoice = RowChoice(),
        _ body: (_ partition: Int32, _ columns: [StoredValue], _ sums: StoredSums) throws -> Void
    ) throws {
        guard let asOfMilliseconds,
            let timeIndex = table.columns.firstIndex(where: { $0.kind.isTime })
        else {
            return try snapshot.forEachRow(of: table, partitions: numbers, choice, body)
        }
        // A daily row does not record the hours of its records.
        if !table.hasDays {
            let hours = HourTexts(.utc)
            let end = Hour(containing: asOfMilliseconds).hoursSince1970 * Hour.milliseconds
            try snapshot.forEachRow(of: table, partitions: numbers, choice) {
                partition, columns, sums in
                guard hours[columns[timeIndex].text].milliseconds < end else { return }
                try body(partition, columns, sums)
            }
        }
        let folded = table.hasDays ? before : partialHour
        for row in try folded?.rows() ?? [] where row.table.name == table.name {
            let columns = row.table.indices(ofColumns: table).map { row.columns[$0] }
            guard choice.isHourWanted(columns[timeIndex].text) else { continue }
            let measures = row.table.indices(ofMeasures: table).map { row.measures[$0] }
            try body(row.partition, columns, StoredSums(measures))
        }
    }

    /// Calls `body` with the sums of each day's rows, like `StoreSnapshot`; with an instant, with the rows of earlier
    /// records.
    func forEachDay(
        of table: AggregateTable, _ choice: RowChoice, by hours: HourTexts,
        _ body: (_ columns: [StoredValue], _ sums: StoredSums) throws -> Void
    ) throws {
        guard asOfMilliseconds == nil else {
            return try forEachRow(of: table, choice) { try body($1, $2) }
        }
        try snapshot.forEachDay(
            of: table, partitions: numbers, choice,
            by: hours.zone.isUTC ? nil : { hours[$0].day }, body)
    }

    /// The maximum number of rejected records in memory; there may be as many as records.
    private static let refusalsAtOnce = 500

    /// Calls `body` with the rejected records of the partitions, without their bytes, until it returns false.
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
    /// If a partition has records dated ahead, only the hour of its newest other record is known: the time is the
    /// beginning of that hour.
    package func newestMilliseconds() throws -> Int64? {
        // The watermark of a partition without records is 0, which is not the time of a record.
        lazy var ranges = Result { try hourRanges() }
        return try partitions.filter { $0.records > 0 }.compactMap { state in
            guard let present, present.isAhead(state.watermarkMilliseconds) else {
                return min(
                    state.watermarkMilliseconds, present?.milliseconds ?? .max,
                    asOfMilliseconds ?? .max)
            }
            let starts = try ranges.get()[state.partition]?.map(\.hour.startMilliseconds)
            return starts?.last { !present.isAhead($0) }
                .map { min($0, present.milliseconds, asOfMilliseconds ?? .max) }
        }.max()
    }

    /// The hour of the first record; nil without records.
    package func firstHour() throws -> Hour? { try snapshot.firstHour(of: numbers) }

    /// The number of records in hours that begin ahead of the clock.
    package func aheadCount() throws -> Int64 {
        guard let present else { return 0 }
        let ahead = partitions.filter { present.isAhead($0.watermarkMilliseconds) }
        guard !ahead.isEmpty else { return 0 }
        let ranges = try hourRanges()
        return ahead.flatMap { ranges[$0.partition] ?? [] }
            .filter { present.isAhead($0.hour.startMilliseconds) }
            .reduce(0) { $0 + $1.records }
    }

    /// Whether a record of this time counts.
    func counts(timestampMilliseconds: Int64) -> Bool {
        asOfMilliseconds.map { timestampMilliseconds < $0 } ?? true
    }
}

extension AggregateTable {
    /// The indices of a narrower aggregate's columns.
    func indices(ofColumns narrow: AggregateTable) -> [Int] {
        narrow.columns.compactMap { column in columns.firstIndex { $0.name == column.name } }
    }

    /// The indices of a narrower aggregate's measures.
    func indices(ofMeasures narrow: AggregateTable) -> [Int] {
        narrow.measures.compactMap { measures.firstIndex(of: $0) }
    }
}

/// One consistent state of some stores: for each partition, the copy folded furthest.
struct StoreView {
    /// Streams in bytewise order.
    let slices: [StoreSlice]

    init(slices: [StoreSlice]) {
        self.slices = slices
    }

    init(
        _ snapshots: [(stream: String, snapshot: StoreSnapshot)], present: Present? = nil,
        cache: ReportCache? = nil
    ) throws {
        let states = try snapshots.map { try $0.snapshot.partitionStates() }
        slices = snapshots.indices.map { index in
            StoreSlice(
                stream: snapshots[index].stream,
                snapshot: snapshots[index].snapshot,
                partitions: states[index].filter { state in
                    Self.isFurthest(state, at: index, snapshots.map(\.stream), states)
                }, present: present, cache: cache)
        }
    }

    var streams: Set<String> { Set(slices.map(\.stream)) }

    /// The view limited to these streams.
    func limited(to streams: Set<String>) -> StoreView {
        StoreView(slices: slices.filter { streams.contains($0.stream) })
    }

    /// The view limited to records before an instant; the whole view without one.
    func limited(by asOf: AsOf?) -> StoreView {
        guard let asOf else { return self }
        return StoreView(
            slices: slices.map { slice in
                var slice = slice
                slice.asOfMilliseconds = asOf.milliseconds
                slice.cache = nil
                slice.partialHour = asOf.partialHour.map { FoldedAgain(slice, $0, asOf) }
                slice.before = FoldedAgain(slice, nil, asOf)
                return slice
            })
    }

    /// The time of the newest counted postback, in milliseconds since 1970.
    var postbacksWatermark: Int64? {
        get throws {
            try slices.filter { $0.stream == PostbacksFold.streamName }
                .compactMap { try $0.newestMilliseconds() }.max()
        }
    }

    /// Whether no other store has the partition further, or equally far and earlier in order.
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
    /// Records with an earlier timestamp count; milliseconds since 1970.
    package let milliseconds: Int64
    /// Folds the hour of the instant. At a whole hour it is used only for streams with daily tables.
    package let hours: any HourFolding

    package init(milliseconds: Int64, hours: any HourFolding) {
        self.milliseconds = milliseconds
        self.hours = hours
    }

    /// The hour of the instant; nil at a whole hour, when stored rows suffice.
    fileprivate var partialHour: Hour? {
        milliseconds.isMultiple(of: Hour.milliseconds) ? nil : Hour(containing: milliseconds)
    }
}

/// Computes the contributions of records to aggregates up to an instant. Stored rows have whole hours only, and daily
/// rows do not record hours.
package protocol HourFolding {
    /// The rows that records before the instant added to, with their contributions. A row may occur several times.
    ///
    /// - Parameters:
    ///   - hour: limits the records to this hour; nil for all.
    ///   - milliseconds: the instant, since 1970.
    func rows(
        of stream: String, in snapshot: StoreSnapshot, partitions: [PartitionState], hour: Hour?,
        beforeMilliseconds milliseconds: Int64
    ) throws -> [PartialRow]
}

/// The contribution of some records of an hour to a row of an aggregate.
package struct PartialRow: Sendable {
    package let table: AggregateTable
    /// The partition of the records.
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

/// The contributions of the records of an hour, or of all, up to an instant. Folded when first needed, because rejected
/// records do not need it.
private final class FoldedAgain {
    private let slice: StoreSlice
    private let hour: Hour?
    private let asOf: AsOf
    private var cached: [PartialRow]?

    init(_ slice: StoreSlice, _ hour: Hour?, _ asOf: AsOf) {
        self.slice = slice
        self.hour = hour
        self.asOf = asOf
    }

    /// - Throws: `hourNotFolded` when the records cannot be folded again.
    func rows() throws -> [PartialRow] {
        if let cached { return cached }
        do {
            let rows = try asOf.hours.rows(
                of: slice.stream, in: slice.snapshot, partitions: slice.partitions, hour: hour,
                beforeMilliseconds: asOf.milliseconds)
            cached = rows
            return rows
        } catch {
            throw InspectionError.hourNotFolded(
                stream: slice.stream, hour: hour?.text, detail: "\(error)")
        }
    }
}
