import AggregateStore
import Streams

/// One consistent state of some stores: of each partition, the copy that is folded furthest.
struct StoreView {
    /// The partitions of a stream that are read from one store.
    struct Copy {
        let stream: String
        let snapshot: StoreSnapshot
        /// In order of their numbers.
        let partitions: [PartitionState]
        /// Only records with a timestamp below it count, in milliseconds since 1970; nil for all.
        var asOfMilliseconds: Int64?
        /// What the records of the instant's hour added; nil at a whole hour.
        var partialHour: PartialHour?

        var numbers: Set<Int32> { Set(partitions.map(\.partition)) }
    }

    /// The copies to read, streams in bytewise order.
    let copies: [Copy]

    init(copies: [Copy]) {
        self.copies = copies
    }

    init(_ snapshots: [(stream: String, snapshot: StoreSnapshot)]) throws {
        let states = try snapshots.map { try $0.snapshot.partitionStates() }
        copies = snapshots.indices.map { index in
            Copy(
                stream: snapshots[index].stream,
                snapshot: snapshots[index].snapshot,
                partitions: states[index].filter { state in
                    Self.isFurthest(state, at: index, snapshots.map(\.stream), states)
                })
        }
    }

    /// The streams of the view, each once.
    var streams: Set<String> { Set(copies.map(\.stream)) }

    /// Whether no other store has the partition further, or as far and comes first.
    private static func isFurthest(
        _ state: PartitionState, at index: Int, _ streams: [String], _ states: [[PartitionState]]
    ) -> Bool {
        streams.indices.allSatisfy { other in
            guard other != index, streams[other] == streams[index],
                let copy = states[other].first(where: { $0.partition == state.partition })
            else { return true }
            return copy.nextOffset < state.nextOffset
                || (copy.nextOffset == state.nextOffset && index < other)
        }
    }
}

/// The partitions of a stream that are read from one store, in one consistent state.
package struct StreamCopy {
    package let stream: String
    package let snapshot: StoreSnapshot
    /// In order of their numbers.
    package let partitions: [PartitionState]
}

extension StoreSet {
    /// Calls `body` with one consistent state of the stores of these streams: of each partition,
    /// the copy that is folded furthest. Errors of `body` are rethrown unchanged.
    ///
    /// - Throws: `noStore` when none of the streams has a store.
    package func withCopies<Value>(
        of streams: [String], _ body: ([StreamCopy]) throws -> Value
    ) throws -> Value {
        let answer: Result<Value, any Error> = try view(of: streams) { view in
            Result {
                try body(
                    view.copies.map { copy in
                        StreamCopy(
                            stream: copy.stream, snapshot: copy.snapshot,
                            partitions: copy.partitions)
                    })
            }
        }
        return try answer.get()
    }
}

/// An instant of event time up to which records count.
package struct AsOf {
    /// Records with a timestamp below it count, in milliseconds since 1970.
    package let milliseconds: Int64
    /// Folds the hour that the instant lies in; not called for a whole hour.
    package let hours: any HourFolding

    package init(milliseconds: Int64, hours: any HourFolding) {
        self.milliseconds = milliseconds
        self.hours = hours
    }

    /// The hour that the instant lies in; nil at a whole hour, when stored rows suffice.
    var partialHour: Hour? {
        milliseconds.isMultiple(of: Hour.milliseconds) ? nil : Hour(containing: milliseconds)
    }
}

/// Finds what the records of an hour added to aggregates up to an instant in it: stored rows know
/// only whole hours.
package protocol HourFolding {
    /// The rows that records of the hour with a timestamp below the instant added to, with what
    /// they added. A row may occur several times.
    ///
    /// - Parameters:
    ///   - stream: name of the stream.
    ///   - snapshot: the state of its store.
    ///   - partitions: those whose records are meant.
    ///   - milliseconds: the instant, since 1970.
    func rows(
        of stream: String, in snapshot: StoreSnapshot, partitions: [PartitionState], hour: Hour,
        beforeMilliseconds milliseconds: Int64
    ) throws -> [PartialRow]
}

extension StoreView {
    /// The view of the records before an instant; without one, of all.
    func limited(by asOf: AsOf?) -> StoreView {
        guard let asOf else { return self }
        return StoreView(
            copies: copies.map { copy in
                var copy = copy
                copy.asOfMilliseconds = asOf.milliseconds
                copy.partialHour = asOf.partialHour.map { PartialHour(copy, $0, asOf) }
                return copy
            })
    }
}

/// What the records of an hour added up to an instant in it. It is folded when it is first needed:
/// rejected records need no fold.
final class PartialHour {
    private let copy: StoreView.Copy
    private let hour: Hour
    private let asOf: AsOf
    private var known: [PartialRow]?

    fileprivate init(_ copy: StoreView.Copy, _ hour: Hour, _ asOf: AsOf) {
        self.copy = copy
        self.hour = hour
        self.asOf = asOf
    }

    /// - Throws: `hourNotFolded` when they cannot be folded again.
    func rows() throws -> [PartialRow] {
        if let known { return known }
        do {
            let rows = try asOf.hours.rows(
                of: copy.stream, in: copy.snapshot, partitions: copy.partitions, hour: hour,
                beforeMilliseconds: asOf.milliseconds)
            known = rows
            return rows
        } catch {
            throw InspectionError.hourNotFolded(
                stream: copy.stream, hour: hour.text, detail: "\(error)")
        }
    }
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

extension StoreView.Copy {
    /// Calls `body` with the rows of the partitions, as `StoreSnapshot` does; with an instant, of
    /// records before it only.
    func forEachRow(
        of table: AggregateTable,
        _ body: (_ partition: Int32, _ columns: [StoredValue], _ measures: [Int64]) throws -> Void
    ) throws {
        guard let asOfMilliseconds,
            let hourPlace = table.columns.firstIndex(where: { $0.kind == .hour })
        else {
            return try snapshot.forEachRow(of: table, partitions: numbers, body)
        }
        var hours = HourColumn()
        let end = Hour(containing: asOfMilliseconds).hoursSince1970 * Hour.milliseconds
        try snapshot.forEachRow(of: table, partitions: numbers) { partition, columns, measures in
            guard hours.hour(columns[hourPlace].text).milliseconds < end else { return }
            try body(partition, columns, measures)
        }
        for row in try partialHour?.rows() ?? [] where row.table.name == table.name {
            try body(row.partition, row.columns(of: table), row.measures(of: table))
        }
    }

    /// Whether a record of this time counts.
    func counts(timestampMilliseconds: Int64) -> Bool {
        asOfMilliseconds.map { timestampMilliseconds < $0 } ?? true
    }
}

extension PartialRow {
    /// The values of the columns that a narrower aggregate has.
    fileprivate func columns(of narrow: AggregateTable) -> [StoredValue] {
        narrow.columns.compactMap { column in
            table.columns.firstIndex { $0.name == column.name }.map { columns[$0] }
        }
    }

    fileprivate func measures(of narrow: AggregateTable) -> [Int64] {
        narrow.measures.compactMap { name in
            table.measures.firstIndex(of: name).map { measures[$0] }
        }
    }
}
