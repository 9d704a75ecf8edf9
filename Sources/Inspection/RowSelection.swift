import AggregateStore
import Streams

/// Which rows of a dump are asked for and how they are put together, checked against its columns:
/// places instead of names.
struct RowSelection {
    /// Places of the columns to show.
    let places: [Int]
    /// The columns to show.
    let columns: [DumpColumn]
    private let conditions: [(place: Int, value: StoredValue)]
    private let sinceMilliseconds: Int64?
    private let untilMilliseconds: Int64?

    init(_ query: DumpQuery, of all: [DumpColumn]) throws(InspectionError) {
        switch query.grouping {
        case .all: places = all.indices.filter { all[$0].isDefault }
        case .total: places = []
        case .columns(let names):
            var chosen: Set<Int> = []
            for name in names { chosen.insert(try Self.place(of: name, in: all, query.name)) }
            places = chosen.sorted()
        }
        columns = places.map { all[$0] }
        var conditions: [(place: Int, value: StoredValue)] = []
        for condition in query.conditions {
            let place = try Self.place(of: condition.column, in: all, query.name)
            conditions.append((place, try Self.value(condition, all[place].kind)))
        }
        self.conditions = conditions
        sinceMilliseconds = query.sinceMilliseconds
        untilMilliseconds = query.untilMilliseconds
    }

    /// Whether a row is asked for.
    ///
    /// - Parameters:
    ///   - values: one for each of the dump's columns.
    ///   - timeMilliseconds: the row's hour, or the record's timestamp; nil when it has none, which
    ///     lies in no stretch of time.
    func includes(_ values: [StoredValue], timeMilliseconds: Int64?) -> Bool {
        includes(timeMilliseconds: timeMilliseconds)
            && conditions.allSatisfy { values[$0.place] == $0.value }
    }

    /// Whether the conditions on one column hold for a value of it.
    func includes(_ value: StoredValue, at place: Int) -> Bool {
        conditions.allSatisfy { $0.place != place || $0.value == value }
    }

    /// The value that a column has to have; nil when no condition says so, or several do. A text with a NUL
    /// is none that SQL compares.
    func value(at place: Int) -> StoredValue? {
        let values = conditions.filter { $0.place == place }.map(\.value)
        guard values.count == 1, let value = values.first else { return nil }
        if case .text(let text) = value, text.utf8.contains(0) { return nil }
        return value
    }

    /// Whether a time is asked for.
    func includes(timeMilliseconds: Int64?) -> Bool {
        guard let timeMilliseconds else {
            return sinceMilliseconds == nil && untilMilliseconds == nil
        }
        if let sinceMilliseconds, timeMilliseconds < sinceMilliseconds { return false }
        if let untilMilliseconds, timeMilliseconds >= untilMilliseconds { return false }
        return true
    }

    private static func place(
        of name: String, in columns: [DumpColumn], _ dump: String
    ) throws(InspectionError) -> Int {
        guard let place = columns.firstIndex(where: { $0.name == name }) else {
            throw .unknownColumn(name, dump: dump, known: columns.map(\.name))
        }
        return place
    }

    private static func value(
        _ condition: DumpQuery.Condition, _ kind: AggregateTable.ColumnKind
    ) throws(InspectionError) -> StoredValue {
        func fault(_ wanted: String) -> InspectionError {
            .badCondition(column: condition.column, value: condition.value, wanted: wanted)
        }
        switch kind {
        case .text: return .text(condition.value)
        case .integer:
            guard let integer = Int64(condition.value) else { throw fault("a whole number") }
            return .integer(integer)
        case .boolean:
            switch condition.value {
            case "true": return .integer(1)
            case "false": return .integer(0)
            default: throw fault("true or false")
            }
        case .hour:
            let milliseconds = UTC.milliseconds(text: condition.value)
            guard let milliseconds, milliseconds.isMultiple(of: Hour.milliseconds) else {
                throw fault("a whole hour, as 2026-11-21T05:00:00Z")
            }
            return .text(UTC.text(milliseconds: milliseconds))
        }
    }
}
