import AggregateStore
import Streams

/// An instant of event time up to which records count.
package struct AsOf {
    /// Records with a timestamp below it count, in milliseconds since 1970.
    package let milliseconds: Int64
    /// Folds what is there of the hour that it lies in; not asked when it is a whole hour.
    package let hours: any HourFolding

    /// Stops at an instant.
    package init(milliseconds: Int64, hours: any HourFolding) {
        self.milliseconds = milliseconds
        self.hours = hours
    }

    /// The hour that it lies in; nil when it is a whole one, so that rows tell everything.
    var partialHour: Hour? {
        milliseconds.isMultiple(of: Hour.milliseconds) ? nil : Hour(containing: milliseconds)
    }
}

/// Tells what the records of an hour added to aggregates up to an instant in it: rows only know hours.
package protocol HourFolding {
    /// The rows that the records of the hour with a timestamp below an instant added to, with what they
    /// added; a row may be there several times.
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
    /// The view of the records from before an instant; all of them when there is none.
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

/// What the records of an hour added up to an instant in it, folded when it is first asked for: refused
/// records need no fold.
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
    /// The aggregate.
    package let table: AggregateTable
    /// The partition that the records lie in.
    package let partition: Int32
    /// A value for each column of the aggregate.
    package let columns: [StoredValue]
    /// A sum for each of its measures.
    package let measures: [Int64]

    /// States what was added.
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
    /// Calls `body` with the rows of the partitions to read, as `StoreSnapshot` does; of records from
    /// before an instant only, when one is asked for.
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

    /// Whether a record of this time is among those that count.
    func counts(timestampMilliseconds: Int64) -> Bool {
        asOfMilliseconds.map { timestampMilliseconds < $0 } ?? true
    }
}

extension PartialRow {
    /// The values of the columns that a reader of the aggregate asks for.
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
