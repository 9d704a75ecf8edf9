import ConversionModels
import Store
import Streams

/// The question to a dump: rows, columns and time.
package struct DumpQuery: Sendable {
    package enum Grouping: Equatable, Sendable {
        /// By every column, as they are stored.
        case all
        /// Everything in one row without columns.
        case total
        /// By these columns.
        case columns([String])

        /// Reads a comma-separated list of columns, or `total`. Throws `badColumns`.
        package init(_ text: String) throws(InspectionError) {
            let names = text.split(separator: ",", omittingEmptySubsequences: false).map(
                String.init)
            guard names != ["total"] else {
                self = .total
                return
            }
            guard names.allSatisfy({ !$0.isEmpty && $0 != "total" }) else {
                throw .badColumns(text)
            }
            self = .columns(names)
        }
    }

    /// A column and its required value.
    package struct Condition: Equatable, Sendable {
        package var column: String
        /// The value, as a person writes it.
        package var value: String

        package init(column: String, value: String) {
            self.column = column
            self.value = value
        }
    }

    package var name: String
    package var grouping: Grouping
    /// Only rows of this time or later: their hour, for refused records their timestamp; milliseconds
    /// since 1970.
    package var sinceMilliseconds: Int64?
    package var untilMilliseconds: Int64?
    /// All of these have to hold.
    package var conditions: [Condition]
    /// Of `conversion-updates`: the models by which values of postbacks get a version.
    package var conversionModels: [ConversionModel] = []
    /// Whether rows of postbacks note their windows, for `Dump.withMaturity`.
    package var notesMaturity = false

    package init(
        name: String,
        grouping: Grouping = .all,
        sinceMilliseconds: Int64? = nil,
        untilMilliseconds: Int64? = nil,
        conditions: [Condition] = []
    ) {
        self.name = name
        self.grouping = grouping
        self.sinceMilliseconds = sinceMilliseconds
        self.untilMilliseconds = untilMilliseconds
        self.conditions = conditions
    }
}

/// The selected rows of a dump and their grouping, checked against its columns: places instead of
/// names.
struct RowSelection {
    /// Places of the columns to show.
    let places: [Int]
    let columns: [DumpColumn]
    private let all: [DumpColumn]
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
        self.all = all
        var conditions: [(place: Int, value: StoredValue)] = []
        for condition in query.conditions {
            let place = try Self.place(of: condition.column, in: all, query.name)
            conditions.append((place, try Self.value(condition, all[place].kind)))
        }
        self.conditions = conditions
        sinceMilliseconds = query.sinceMilliseconds
        untilMilliseconds = query.untilMilliseconds
    }

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
    func includes(_ value: StoredValue, ofColumn name: String) -> Bool {
        conditions.allSatisfy { all[$0.place].name != name || $0.value == value }
    }

    /// The values that these columns have to have: those of which one condition says so. SQL does
    /// not compare a text with a NUL, so such texts are left out.
    func values(of names: Set<String>) -> [String: StoredValue] {
        var values: [String: StoredValue] = [:]
        for (place, column) in all.enumerated() where names.contains(column.name) {
            let wanted = conditions.filter { $0.place == place }.map(\.value)
            guard wanted.count == 1, let value = wanted.first else { continue }
            if case .text(let text) = value, text.utf8.contains(0) { continue }
            values[column.name] = value
        }
        return values
    }

    /// Whether only some hours are selected.
    var isLimitedInTime: Bool {
        sinceMilliseconds != nil || untilMilliseconds != nil
            || conditions.contains { ["hour", "day", "timestamp"].contains(all[$0.place].name) }
    }

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
