import ConversionModels
import Store
import Streams

/// A query for a dump: rows, columns and time.
package struct DumpQuery: Sendable {
    package enum Grouping: Equatable, Sendable {
        /// By every column, as stored.
        case all
        /// A single row without columns.
        case total
        case columns([String])

        func names(_ column: String) -> Bool {
            switch self {
            case .all: true
            case .total: false
            case .columns(let names): names.contains(column)
            }
        }

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

    package struct Condition: Equatable, Sendable {
        package var column: String
        /// The value as users write it.
        package var value: String

        package init(column: String, value: String) {
            self.column = column
            self.value = value
        }
    }

    package var name: String
    package var grouping: Grouping
    /// Only rows of this time or later: the hour of rows, the timestamp of rejected records; milliseconds since 1970.
    package var sinceMilliseconds: Int64?
    package var untilMilliseconds: Int64?
    /// All conditions must hold.
    package var conditions: [Condition]
    /// Limits the measures; nil for all.
    package var measures: [String]?
    /// Whether rows get a currency column when they would otherwise sum amounts of several currencies.
    package var tellsCurrenciesApart = false
    /// For `conversion-updates`: the models that determine the versions of values in postbacks.
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

/// The selected rows of a dump and their grouping, validated against its columns: indices instead of names.
struct RowSelection {
    let places: [Int]
    let columns: [DumpColumn]
    private let all: [DumpColumn]
    private let conditions: [(place: Int, value: StoredValue)]
    private let sinceMilliseconds: Int64?
    private let untilMilliseconds: Int64?

    /// - Parameter isByCurrency: whether rows are grouped by their currency too.
    init(
        _ query: DumpQuery, of all: [DumpColumn], isByCurrency: Bool = false
    ) throws(InspectionError) {
        var chosen: Set<Int> = []
        switch query.grouping {
        case .all: chosen = Set(all.indices.filter { all[$0].isDefault })
        case .total: break
        case .columns(let names):
            for name in names { chosen.insert(try Self.place(of: name, in: all, query.name)) }
        }
        if isByCurrency, let currency = all.firstIndex(where: { $0.name == Dump.currency }) {
            chosen.insert(currency)
        }
        places = chosen.sorted()
        columns = places.map { all[$0] }
        self.all = all
        var conditions: [(place: Int, value: StoredValue)] = []
        for condition in query.conditions {
            let place = try Self.place(of: condition.column, in: all, query.name)
            conditions.append((place, try Self.value(condition, all[place])))
        }
        self.conditions = conditions
        sinceMilliseconds = query.sinceMilliseconds
        untilMilliseconds = query.untilMilliseconds
    }

    /// - Parameters:
    ///   - values: one for each of the dump's columns.
    ///   - timeMilliseconds: the row's hour, or the record's timestamp; nil without a time, which is outside every time
    ///     range.
    func includes(_ values: [StoredValue], timeMilliseconds: Int64?) -> Bool {
        includes(timeMilliseconds: timeMilliseconds)
            && conditions.allSatisfy { values[$0.place] == $0.value }
    }

    /// Whether there are conditions on other columns than the time.
    var hasConditionsBesideTime: Bool { conditions.contains { !isOfTime($0.place) } }

    /// Whether any row may be excluded.
    var isNarrowed: Bool { hasConditionsBesideTime || isLimitedInTime }

    /// Whether the conditions on other columns than the time hold.
    func includesBesideTime(_ values: [StoredValue]) -> Bool {
        conditions.allSatisfy { isOfTime($0.place) || values[$0.place] == $0.value }
    }

    private func isOfTime(_ place: Int) -> Bool {
        all[place].kind.isTime || ["day", "timestamp"].contains(all[place].name)
    }

    /// Whether the conditions on one column hold for a value of it.
    func includes(_ value: StoredValue, ofColumn name: String) -> Bool {
        conditions.allSatisfy { all[$0.place].name != name || $0.value == value }
    }

    /// The required values of these columns: those with one equality condition. SQL does not compare texts after a NUL,
    /// so texts with a NUL are left out.
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
            || conditions.contains { isOfTime($0.place) }
    }

    /// Whether a time range may contain selected rows. Both ends and their days are inclusive.
    func mayInclude(
        from first: Int64, firstDay: String, through last: Int64, lastDay: String
    ) -> Bool {
        if let sinceMilliseconds, last < sinceMilliseconds { return false }
        if let untilMilliseconds, first >= untilMilliseconds { return false }
        return conditions.allSatisfy { place, value in
            // Rows without a day may be of any time.
            guard all[place].name == "day", !value.text.isEmpty else { return true }
            return firstDay <= value.text && value.text <= lastDay
        }
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
        _ condition: DumpQuery.Condition, _ column: DumpColumn
    ) throws(InspectionError) -> StoredValue {
        func fault(_ wanted: String) -> InspectionError {
            .badCondition(column: condition.column, value: condition.value, wanted: wanted)
        }
        if !column.steps.isEmpty, !column.steps.contains(condition.value),
            !condition.value.isEmpty
        {
            throw fault("one of \(column.steps.joined(separator: ", "))")
        }
        switch column.kind {
        case .text, .day:
            // Rows without a day have an empty one. Years of more than four digits are not parsed.
            let isDay = column.kind == .day || column.name == "day"
            let isRead = isDay && (1...10).contains(condition.value.utf8.count)
            guard !isRead || UTC.milliseconds(text: condition.value) != nil else {
                throw fault("a day, for example 2026-11-21")
            }
            return .text(condition.value)
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
                throw fault("a whole hour, for example 2026-11-21T05:00:00Z")
            }
            return .text(UTC.text(milliseconds: milliseconds))
        }
    }
}

package typealias DumpColumn = AggregateTable.Column

extension DumpColumn {
    /// Whether the column has milliseconds since 1970, which tables show as RFC 3339.
    var isInstant: Bool { note.unit == .milliseconds }

    func reportValue(_ value: StoredValue) -> ReportValue {
        switch value {
        case .integer(let integer) where kind == .boolean: .boolean(integer != 0)
        case .integer(let integer): .integer(Int128(integer))
        case .text(let text): .text(text)
        }
    }

    var reportColumn: ReportTable.Column {
        ReportTable.Column(name, isNumber: kind == .integer, steps: steps)
    }
}

/// The structure of a dump: the sort columns, and the measures that are sums.
package struct DumpDescription: Sendable {
    enum Source: Sendable {
        case aggregate(AggregateTable)
        case toldAndBrought(AggregateTable)
        case refusals(RefusalKind)
    }

    package let name: String
    package let note: String
    package let columns: [DumpColumn]
    /// Its measures, in order. Rejected records are counted only when grouped.
    package let measures: [String]
    /// The streams with such rows in their stores.
    package let streams: [String]
    let source: Source

    package func note(ofMeasure name: String) -> (unit: AggregateTable.Unit, text: String) {
        switch source {
        case .aggregate(let table), .toldAndBrought(let table):
            table.measures.contains(name)
                ? (table.unit(ofMeasure: name), table.note(ofMeasure: name).text)
                : (.count, "postbacks with this value, from conversion-values")
        case .refusals: (.count, "only if rows are grouped")
        }
    }

    /// The aggregates of its rows, by stream; a stream without aggregates supplies rejected records.
    var sources: [(stream: String, tables: [AggregateTable])] {
        streams.map { stream in
            switch source {
            case .aggregate(let table): (stream, [table])
            case .toldAndBrought(let table):
                (stream, stream == PostbacksFold.streamName ? [ConversionValuesKey.table] : [table])
            case .refusals: (stream, [])
            }
        }
    }

    /// Whether its rows count postbacks by the hour of arrival, which determines their windows.
    var hasWindows: Bool { PostbacksFold.tables.contains { $0.name == name && !$0.hasDays } }

    /// Every dump, by name in bytewise order.
    package static let all: [DumpDescription] = stored.map(\.withPostbacks)

    /// The same dumps, each limited to the contents of its own stores.
    static let stored: [DumpDescription] =
        (allStreams.sorted { $0.streamName < $1.streamName }.flatMap { fold in
            fold.tables.map { aggregate($0, of: [fold.streamName]) }
        }
        + [aggregate(OutcomeKey.table, of: OpenStores.streams)]
        + RefusalKind.allCases.map(refusals))
        .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }

    package static func named(_ name: String) throws(InspectionError) -> DumpDescription {
        guard let found = find(name) else { throw .unknownDump(name, known: reportNames(.sums)) }
        return found
    }

    static func find(_ name: String) -> DumpDescription? { all.first { $0.name == name } }

    private static func aggregate(
        _ table: AggregateTable, of streams: [String]
    ) -> DumpDescription {
        let columns = table.columns.flatMap { column in
            column.kind == .hour
                ? [column, Self.day] : [column]
        }
        return DumpDescription(
            name: table.name, note: table.note, columns: columns, measures: table.measures,
            streams: streams,
            source: .aggregate(table))
    }

    /// Adds the values in postbacks to the values sent to installs; other tables are unchanged.
    private var withPostbacks: DumpDescription {
        guard case .aggregate(let table) = source, name == ConversionUpdatesKey.table.name else {
            return self
        }
        return DumpDescription(
            name: name, note: note, columns: columns, measures: measures + ["postbacks"],
            streams: streams + [PostbacksFold.streamName], source: .toldAndBrought(table))
    }

    private static let day = DumpColumn("day", .text, "of the hour, UTC", isDefault: false)

    private static func refusals(_ kind: RefusalKind) -> DumpDescription {
        DumpDescription(
            name: kind.rawValue, note: kind.note,
            columns: [
                DumpColumn("topic", .text), DumpColumn("partition", .integer),
                DumpColumn("offset", .integer),
                DumpColumn(
                    "timestamp", .integer, .init("of the record", unit: .milliseconds)),
                DumpColumn("hour", .hour, "of the record's timestamp, UTC", isDefault: false), day,
                DumpColumn("type", .text, "from the record's header"),
                DumpColumn("reason", .text, "from a closed list"),
                DumpColumn("detail", .text, "explanation of the reason"),
            ],
            measures: ["records"], streams: OpenStores.streams, source: .refusals(kind))
    }
}

/// Why records were stored instead of counted; the raw value is the name of the dump.
enum RefusalKind: String, CaseIterable, Sendable {
    case rejected, untrusted, conflicts

    fileprivate var note: String {
        switch self {
        case .rejected: "Rejected records with their reasons."
        case .untrusted: "Records that were not verified as coming from their stated sender."
        case .conflicts: "Records that repeat an earlier id with different values."
        }
    }

    func includes(reason: String) -> Bool {
        switch RefusedRecord.outcome(ofReason: reason) {
        case .untrusted: self == .untrusted
        case .conflicts: self == .conflicts
        default: self == .rejected
        }
    }
}
