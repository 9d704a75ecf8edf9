import Store
import Streams

/// The selected rows of a dump and their grouping, validated against its columns: indices instead of names.
struct RowSelection {
    let indices: [Int]
    let columns: [DumpColumn]
    private let all: [DumpColumn]
    private let conditions: [(index: Int, value: StoredValue)]
    private let throughStep: ThroughStep?
    private let sinceMilliseconds: Int64?
    private let untilMilliseconds: Int64?

    /// - Parameter isByCurrency: whether rows are grouped by their currency too.
    init(
        _ request: ReportRequest, of all: [DumpColumn], isByCurrency: Bool = false
    ) throws(InspectionError) {
        var chosen: Set<Int> = []
        switch request.grouping {
        case .all: chosen = Set(all.indices.filter { all[$0].isDefault })
        case .total: break
        case .columns(let names):
            for name in names { chosen.insert(try Self.index(of: name, in: all, request.name)) }
        }
        if isByCurrency, let currency = all.firstIndex(where: { $0.name == Dump.currency }) {
            chosen.insert(currency)
        }
        indices = chosen.sorted()
        columns = indices.map { all[$0] }
        self.all = all
        var conditions: [(index: Int, value: StoredValue)] = []
        var throughStep: ThroughStep?
        for condition in request.conditions {
            if let found = try ThroughStep(condition, of: request.name, all) {
                throughStep = found
                continue
            }
            let index = try Self.index(of: condition.column, in: all, request.name)
            conditions.append((index, try Self.value(condition, all[index])))
        }
        self.conditions = conditions
        self.throughStep = throughStep
        sinceMilliseconds = request.sinceMilliseconds
        untilMilliseconds = request.untilMilliseconds
    }

    /// Whether a column groups or limits rows.
    func uses(_ name: String) -> Bool {
        columns.contains { $0.name == name } || conditions.contains { all[$0.index].name == name }
    }

    /// - Parameters:
    ///   - values: one for each of the dump's columns.
    ///   - timeMilliseconds: the row's hour, or the record's timestamp; nil without a time, which is outside every time
    ///     range.
    func includes(_ values: [StoredValue], timeMilliseconds: Int64?) -> Bool {
        includes(timeMilliseconds: timeMilliseconds)
            && conditions.allSatisfy { values[$0.index] == $0.value }
            && throughStep?.includes(values) ?? true
    }

    /// Whether there are conditions on other columns than the time.
    var hasConditionsBesideTime: Bool {
        throughStep != nil || conditions.contains { !isOfTime($0.index) }
    }

    /// Whether any row may be excluded.
    var isNarrowed: Bool { hasConditionsBesideTime || isLimitedInTime }

    /// Whether the conditions on other columns than the time hold.
    func includesBesideTime(_ values: [StoredValue]) -> Bool {
        conditions.allSatisfy { isOfTime($0.index) || values[$0.index] == $0.value }
            && throughStep?.includesBesideTime(values) ?? true
    }

    private func isOfTime(_ index: Int) -> Bool {
        all[index].kind.isTime || ["day", "timestamp"].contains(all[index].name)
    }

    /// Whether the conditions on one column hold for a value of it.
    func includes(_ value: StoredValue, ofColumn name: String) -> Bool {
        conditions.allSatisfy { all[$0.index].name != name || $0.value == value }
            && throughStep?.includes(value, ofColumn: name) ?? true
    }

    /// The required values of these columns: those with one equality condition. SQL does not compare texts after a NUL,
    /// so texts with a NUL are left out.
    func values(of names: Set<String>) -> [String: StoredValue] {
        var values: [String: StoredValue] = [:]
        for (index, column) in all.enumerated() where names.contains(column.name) {
            let wanted = conditions.filter { $0.index == index }.map(\.value)
            guard wanted.count == 1, let value = wanted.first else { continue }
            if case .text(let text) = value, text.utf8.contains(0) { continue }
            values[column.name] = value
        }
        return values
    }

    /// Whether only some hours are selected.
    var isLimitedInTime: Bool {
        sinceMilliseconds != nil || untilMilliseconds != nil
            || conditions.contains { isOfTime($0.index) }
    }

    /// Whether a time range may contain selected rows. Both ends and their days are inclusive.
    func mayInclude(
        from first: Int64, firstDay: String, through last: Int64, lastDay: String
    ) -> Bool {
        if let sinceMilliseconds, last < sinceMilliseconds { return false }
        if let untilMilliseconds, first >= untilMilliseconds { return false }
        return conditions.allSatisfy { index, value in
            // Rows without a day may be of any time.
            guard all[index].name == "day", !value.text.isEmpty else { return true }
            return firstDay <= value.text && value.text <= lastDay
        }
    }

    /// Whether rows of an hour are of the selected time, for columns with the day of an hour.
    func includes(hour text: String, _ hours: HourTexts) -> Bool {
        let (milliseconds, day) = hours[text]
        return includes(timeMilliseconds: milliseconds)
            && includes(.text(day), ofColumn: "day")
    }

    func includes(timeMilliseconds: Int64?) -> Bool {
        guard let timeMilliseconds else {
            return sinceMilliseconds == nil && untilMilliseconds == nil
        }
        if let sinceMilliseconds, timeMilliseconds < sinceMilliseconds { return false }
        if let untilMilliseconds, timeMilliseconds >= untilMilliseconds { return false }
        return true
    }

    private static func index(
        of name: String, in columns: [DumpColumn], _ dump: String
    ) throws(InspectionError) -> Int {
        guard let index = columns.firstIndex(where: { $0.name == name }) else {
            throw .unknownColumn(name, dump: dump, valid: columns.map(\.name))
        }
        return index
    }

    private static func value(
        _ condition: ReportRequest.Condition, _ column: DumpColumn
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
