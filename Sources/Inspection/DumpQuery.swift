import AggregateStore
import ConversionModels
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
    /// Only rows from before this time.
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

/// A query that was checked against its dump.
struct DumpPlan {
    let description: DumpDescription
    let measures: [String]
    /// The models by which a value gets a version, by app.
    let models: [Int64: ConversionModel]
    /// Whether rows note the windows of their postbacks.
    let notesMaturity: Bool
    private let selection: RowSelection

    init(_ query: DumpQuery) throws(InspectionError) {
        let description = try DumpDescription.named(query.name)
        self.description = description
        selection = try RowSelection(query, of: description.columns)
        notesMaturity = query.notesMaturity
        guard !notesMaturity || description.hasWindows else {
            throw .noMaturity(
                description.name, known: DumpDescription.all.filter(\.hasWindows).map(\.name))
        }
        models = Dictionary(
            query.conversionModels.map { ($0.app, $0) }, uniquingKeysWith: { first, _ in first })
        if case .refusals = description.source, query.grouping == .all {
            measures = []
        } else {
            measures = description.measures
        }
    }

    /// Counts rejected records whatever columns are shown.
    init(counting query: DumpQuery) throws(InspectionError) {
        let description = try DumpDescription.named(query.name)
        var query = query
        if case .refusals = description.source, query.grouping == .all {
            query.grouping = .columns(
                description.columns.filter(\.isDefault).map(\.name))
        }
        try self.init(query)
    }

    /// All rows of the description's own stores.
    init(stored description: DumpDescription) throws(InspectionError) {
        self.description = description
        selection = try RowSelection(DumpQuery(name: description.name), of: description.columns)
        models = [:]
        notesMaturity = false
        if case .refusals = description.source {
            measures = []
        } else {
            measures = description.measures
        }
    }

    /// Places of the shown columns in the description.
    var places: [Int] { selection.places }

    var columns: [DumpColumn] { selection.columns }

    /// Whether a row is selected.
    ///
    /// - Parameters:
    ///   - values: one for each of the description's columns.
    ///   - timeMilliseconds: the row's hour, or the record's timestamp.
    func includes(_ values: [StoredValue], timeMilliseconds: Int64) -> Bool {
        selection.includes(values, timeMilliseconds: timeMilliseconds)
    }

    /// Whether a time is selected.
    func includes(timeMilliseconds: Int64) -> Bool {
        selection.includes(timeMilliseconds: timeMilliseconds)
    }

    /// The values that the conditions require of these columns.
    func values(of names: Set<String>) -> [String: StoredValue] {
        var values: [String: StoredValue] = [:]
        for (place, column) in description.columns.enumerated() where names.contains(column.name) {
            values[column.name] = selection.value(at: place)
        }
        return values
    }

    /// Whether the conditions on a column hold for a value of it.
    func includes(_ value: StoredValue, ofColumn name: String) -> Bool {
        guard let place = description.columns.firstIndex(where: { $0.name == name }) else {
            return true
        }
        return selection.includes(value, at: place)
    }
}

/// The selected rows of a dump and their grouping, checked against its columns: places instead of
/// names.
struct RowSelection {
    /// Places of the columns to show.
    let places: [Int]
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

    /// Whether a row is selected.
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

    /// The value that a column has to have; nil when no condition or several say so. SQL does not
    /// compare a text with a NUL, so that gives nil too.
    func value(at place: Int) -> StoredValue? {
        let values = conditions.filter { $0.place == place }.map(\.value)
        guard values.count == 1, let value = values.first else { return nil }
        if case .text(let text) = value, text.utf8.contains(0) { return nil }
        return value
    }

    /// Whether a time is selected.
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
