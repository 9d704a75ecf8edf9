import AggregateStore
import Streams

/// A query that was checked against the dump that it asks: places of columns instead of names.
struct DumpPlan {
    let description: DumpDescription
    /// Places, in the description, of the columns to show.
    let places: [Int]
    let measures: [String]
    private let conditions: [(place: Int, value: StoredValue)]
    private let sinceMilliseconds: Int64?
    private let untilMilliseconds: Int64?

    init(_ query: DumpQuery) throws(InspectionError) {
        let description = try DumpDescription.named(query.name)
        self.description = description
        switch query.grouping {
        case .all: places = description.columns.indices.filter { description.columns[$0].isDefault }
        case .total: places = []
        case .columns(let names):
            var chosen: Set<Int> = []
            for name in names { chosen.insert(try Self.place(of: name, in: description)) }
            places = chosen.sorted()
        }
        if case .refusals = description.source, query.grouping == .all {
            measures = []
        } else {
            measures = description.measures
        }
        var conditions: [(place: Int, value: StoredValue)] = []
        for condition in query.conditions {
            let place = try Self.place(of: condition.column, in: description)
            conditions.append((place, try Self.value(condition, description.columns[place].kind)))
        }
        self.conditions = conditions
        sinceMilliseconds = query.sinceMilliseconds
        untilMilliseconds = query.untilMilliseconds
    }

    /// The columns to show.
    var columns: [DumpColumn] { places.map { description.columns[$0] } }

    /// Whether a row is asked for.
    ///
    /// - Parameters:
    ///   - values: one for each of the description's columns.
    ///   - timeMilliseconds: the row's hour, or the record's timestamp.
    func includes(_ values: [StoredValue], timeMilliseconds: Int64) -> Bool {
        if let sinceMilliseconds, timeMilliseconds < sinceMilliseconds { return false }
        if let untilMilliseconds, timeMilliseconds >= untilMilliseconds { return false }
        return conditions.allSatisfy { values[$0.place] == $0.value }
    }

    private static func place(
        of name: String, in description: DumpDescription
    ) throws(InspectionError) -> Int {
        guard let place = description.columns.firstIndex(where: { $0.name == name }) else {
            throw .unknownColumn(
                name, dump: description.name, known: description.columns.map(\.name))
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
