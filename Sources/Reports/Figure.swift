import ConversionModels
import Store
import Streams

/// Says that a measure of a stored row adds to a measure of a figure.
package struct FigureTerm: Sendable {
    /// Place of the measure in the row.
    package let rowMeasure: Int
    /// Place of the measure in the figure.
    package let measure: Int
    /// What each unit of the row's measure is worth; not 1 where the figure is worked out of a count, as bounds of revenue are.
    package let factor: Int128

    init(rowMeasure: Int, measure: Int, factor: Int128 = 1) {
        self.rowMeasure = rowMeasure
        self.measure = measure
        self.factor = factor
    }
}

/// What a figure is made of: the rows of a dump, or of the funnel, that a query selects.
///
/// It says of single rows whether they count and what they add. Dumps sum the rows of stores by it,
/// and explanations the rows that single records added to, so both are of the same rows.
package protocol Figure: AnyObject {
    /// Name of the dump.
    var name: String { get }
    /// The conditions and the time.
    var query: DumpQuery { get }
    /// The aggregates of its rows, by stream; a stream without any gives refused records.
    var sources: [(stream: String, tables: [AggregateTable])] { get }
    /// Names of the measures that add up. More may become known as rows are read.
    var measures: [String] { get }
    /// The measures that a name stands for: a rate stands for what it is computed from.
    func parts(ofColumn name: String) -> NumberParts
    /// The streams whose stores a measure needs.
    func streams(of measure: String) -> [String]
    /// Whether only some hours are selected.
    var isLimitedInTime: Bool { get }
    /// The values that a postback needs to count, by column; empty when the postback alone does not
    /// decide it.
    var postbackValues: [String: StoredValue] { get }

    /// Looks at the stores before their rows are read.
    func begin(_ slices: [StoreSlice]) throws
    /// What a stored row adds; nil when it is not selected.
    func terms(of table: AggregateTable, columns: [StoredValue]) -> [FigureTerm]?
    /// Whether a row that does not count (untrusted, or superseded) matches the conditions on the columns that it
    /// has.
    func concerns(_ table: AggregateTable, columns: [StoredValue]) -> Bool
    /// Whether rows of an hour may count, or of the day that it begins. Records of other hours add to rows of
    /// tables of days.
    func mayCount(in hour: Hour) -> Bool
    /// The rows of a stored table that may count: no other is read.
    func choice(of table: AggregateTable) -> RowChoice
    /// Whether a refused record counts, in a dump of such records.
    func counts(_ refusal: StoredRefusal, topic: String) -> Bool
    /// Takes note of a row that counts: others may count because of it.
    func note(_ table: AggregateTable, columns: [StoredValue])
}

/// The measures that explain a column.
package enum NumberParts {
    case measures([String])
    /// No record adds to it: why.
    case noSum(String)
    /// There is no such column, but these.
    case unknown(known: [String])
}

extension Figure {
    package var streams: [String] { sources.map(\.stream) }

    /// Most columns are sums themselves.
    package func parts(ofColumn name: String) -> NumberParts {
        measures.contains(name) ? .measures([name]) : .unknown(known: measures)
    }

    /// Whether rows of a stored hour may count. What is no hour is looked at row by row.
    package func mayCount(inHour text: String) -> Bool {
        Hour(text: text).map { mayCount(in: $0) } ?? true
    }

    /// Most dumps are of one stream, or of every stream.
    package func streams(of _: String) -> [String] { [] }

    /// Most figures need nothing of the stores but their rows.
    package func begin(_: [StoreSlice]) throws {}

    /// Most dumps are of sums.
    package func counts(_: StoredRefusal, topic _: String) -> Bool { false }

    package func note(_: AggregateTable, columns _: [StoredValue]) {}
}

/// The selected rows of one dump.
package final class DumpFigure: Figure {
    let description: DumpDescription
    let selection: RowSelection
    package let sources: [(stream: String, tables: [AggregateTable])]
    package let query: DumpQuery
    /// The models by which a value gets a version, by app.
    private let models: [Int64: ConversionModel]
    private let hours = HourTexts()

    /// Selects rows of a dump. Throws for what cannot be asked of it.
    package convenience init(_ query: DumpQuery) throws(InspectionError) {
        try self.init(query, of: .named(query.name))
    }

    init(_ query: DumpQuery, of description: DumpDescription) throws(InspectionError) {
        self.description = description
        sources = description.sources
        self.query = query
        let isByCurrency =
            query.tellsCurrenciesApart
            && description.measures.contains { measure in
                MoneyByCurrency.isMoney(measure) && query.measures?.contains(measure) ?? true
            }
        selection = try RowSelection(query, of: description.columns, isByCurrency: isByCurrency)
        guard !query.notesMaturity || description.hasWindows else {
            throw .noMaturity(description.name, known: reportNames(.maturity))
        }
        models = Dictionary(
            query.conversionModels.map { ($0.app, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Counts refused records whatever columns are shown.
    convenience init(counting query: DumpQuery) throws(InspectionError) {
        let description = try DumpDescription.named(query.name)
        var query = query
        if case .refusals = description.source, query.grouping == .all {
            query.grouping = .columns(description.columns.filter(\.isDefault).map(\.name))
        }
        try self.init(query, of: description)
    }

    package var name: String { description.name }

    package var measures: [String] { description.measures }

    /// The measures that its dump shows: refused records are listed one by one unless grouped.
    var shownMeasures: [String] {
        if case .refusals = description.source, query.grouping == .all { return [] }
        return measures
    }

    /// The measures that are sums of prices for a thousand impressions.
    var thousandPrices: Set<String> {
        Set(shownMeasures.filter { description.note(ofMeasure: $0).unit == .cpmMicros })
    }

    /// Whether the hour is one of the columns that it shows.
    var showsHours: Bool { selection.columns.contains { $0.kind == .hour } }

    /// Whether what a row of a table stands for depends on its hour: a value on the version of the model.
    func countsByHour(_ table: AggregateTable) -> Bool { isBrought(table) }

    /// Whether rows note the windows of their postbacks.
    var notesMaturity: Bool { query.notesMaturity }

    package var isLimitedInTime: Bool { selection.isLimitedInTime }

    /// The conditions on the columns that identify a postback's campaign, whatever happened to it.
    package var postbackValues: [String: StoredValue] {
        guard PostbacksFold.tables.contains(where: { $0.name == name }) else { return [:] }
        return selection.values(
            of: ["ad_network_id", "campaign", "app_id", "source_app_id", "sequence_index"])
    }

    /// The values of the dump's columns in a row of one of the sources; nil when it is not selected.
    func values(of table: AggregateTable, _ columns: [StoredValue]) -> [StoredValue]? {
        let found: (values: [StoredValue], timeMilliseconds: Int64?)? =
            isBrought(table)
            ? broughtValue(TableRow(AnyTableRow(columns))) : valuesWithDay(of: table, columns)
        guard let (values, time) = found, selection.includes(values, timeMilliseconds: time)
        else { return nil }
        return values
    }

    /// The place in the dump of the first measure of a source.
    func firstMeasure(of table: AggregateTable) -> Int {
        isBrought(table) ? measures.count - 1 : 0
    }

    package func terms(of table: AggregateTable, columns: [StoredValue]) -> [FigureTerm]? {
        guard sources.contains(where: { $0.tables.contains { $0.name == table.name } }),
            values(of: table, columns) != nil
        else { return nil }
        let first = firstMeasure(of: table)
        return table.measures.indices.map { FigureTerm(rowMeasure: $0, measure: first + $0) }
    }

    /// Whether a row of postbacks would be selected if it were trusted and winning. Events are
    /// decoded only of such postbacks, and installs are only theirs, so rows of `postbacks` stand for both. Of a
    /// postback that nobody trusts the day of the install is not known: it concerns all.
    package func concerns(_ table: AggregateTable, columns: [StoredValue]) -> Bool {
        let ofTrusted = [DecodedEventsKey.table.name, InstallCohortsKey.table.name]
        let isOfTrusted = ofTrusted.contains(name) && table.name == PostbacksKey.table.name
        guard isOfTrusted || (name == table.name && table.columns.contains { $0.name == "verdict" })
        else { return false }
        let (values, time) = valuesWithDay(of: table, columns)
        let names = table.columns.flatMap { column in
            column.kind == .hour
                ? [column.name, "day"]
                : [column.name == "sequence_index" ? indexColumn : column.name]
        }
        guard isOfInstalls || selection.includes(timeMilliseconds: time) else { return false }
        return query.conditions.allSatisfy { condition in
            guard !["verdict", "did_win"].contains(condition.column),
                let place = names.firstIndex(of: condition.column)
            else { return true }
            return selection.includes(values[place], ofColumn: condition.column)
        }
    }

    private var isOfInstalls: Bool { name == InstallCohortsKey.table.name }

    /// The column that has the sequence index of postbacks.
    private var indexColumn: String { isOfInstalls ? "window" : "sequence_index" }

    package func mayCount(in hour: Hour) -> Bool {
        let start = hour.hoursSince1970 * Hour.milliseconds
        // Of refused records the timestamp counts, of rows the hour's beginning.
        let isOfRefusals = sources.allSatisfy(\.tables.isEmpty)
        let rest = isOfRefusals ? Hour.milliseconds - 1 : 0
        let last = min(start, .max - rest) + rest
        if let since = query.sinceMilliseconds, last < since { return false }
        if let until = query.untilMilliseconds, start >= until { return false }
        return selection.includes(.text(hour.text), ofColumn: "hour")
            && selection.includes(.text(hour.day), ofColumn: dayColumn)
    }

    package func choice(of table: AggregateTable) -> RowChoice {
        guard selection.hasConditionsBesideTime, !isBrought(table) else {
            return RowChoice(isHourWanted: mayCount(inHour:))
        }
        return RowChoice(
            isHourWanted: mayCount(inHour:),
            isKeyWanted: { [self] columns in
                selection.includesBesideTime(valuesWithDay(of: table, columns).values)
            })
    }

    /// The column that has the day of rows, or that of their hour.
    private var dayColumn: String {
        description.columns.first { $0.kind == .day }?.name ?? "day"
    }

    package func counts(_ refusal: StoredRefusal, topic: String) -> Bool {
        values(of: refusal, topic: topic) != nil
    }

    /// The values of the dump's columns of a refused record; nil when it is not selected.
    func values(of refusal: StoredRefusal, topic: String) -> [StoredValue]? {
        guard case .refusals(let kind) = description.source, kind.includes(reason: refusal.reason)
        else { return nil }
        let values = refusal.columns(topic: topic)
        return selection.includes(values, timeMilliseconds: refusal.timestampMilliseconds)
            ? values : nil
    }

    /// Whether a table has the values in postbacks that are compared with those sent to installs.
    private func isBrought(_ table: AggregateTable) -> Bool {
        guard case .toldAndBrought = description.source else { return false }
        return table.name == ConversionValuesKey.table.name
    }

    private func valuesWithDay(
        of table: AggregateTable, _ columns: [StoredValue]
    ) -> (values: [StoredValue], timeMilliseconds: Int64?) {
        var values: [StoredValue] = []
        values.reserveCapacity(columns.count + 1)
        var time: Int64? = 0
        for (column, value) in zip(table.columns, columns) {
            values.append(value)
            guard column.kind.isTime, case .text(let text) = value else { continue }
            let hour = hours[text]
            time = text.isEmpty ? nil : hour.milliseconds
            if column.kind == .hour { values.append(.text(hour.day)) }
        }
        return (values, time)
    }

    /// A row of `conversion-values` as one of `conversion-updates`, with the day after the hour; nil
    /// unless its postbacks are verified and won.
    ///
    /// The model is the version that decodes the value: the one in effect 24 hours before the
    /// postback came. It is empty for an app without a model.
    private func broughtValue(
        _ row: TableRow<ConversionValuesKey>
    ) -> (values: [StoredValue], timeMilliseconds: Int64?)? {
        let postbacks = PostbackRow(row, ValuedPostbacks.columns)
        guard postbacks.didWin, postbacks.isTrusted(trustsDevelopment: true) else { return nil }
        let hour = hours[postbacks.hour]
        // Versions begin at whole hours, so all postbacks of an hour have the same one.
        let latest = PostbackTiming.upTo3.settingInterval(received: hour.milliseconds).latest
        let version = models[postbacks.app].flatMap { model in
            model.versionIndex(inEffectAtMilliseconds: latest).map { model.versions[$0].id }
        }
        let isReEngagement = postbacks.conversionType == "re-engagement"
        let values: [StoredValue] = [
            .text(postbacks.hour), .text(hour.day), .integer(postbacks.app),
            .text(postbacks.framework), .text(isReEngagement ? "re-engagement" : "install"),
            .integer(postbacks.sequenceIndex), .text(version ?? ""),
            .text(row[PostbackValue.kind]), .text(row[PostbackValue.value]),
        ]
        return (values, hour.milliseconds)
    }
}

/// Reads the texts of an hour column, each once: there are few different ones.
final class HourTexts {
    private var known: [String: (milliseconds: Int64, day: String)] = [:]

    subscript(text: String) -> (milliseconds: Int64, day: String) {
        if let hour = known[text] { return hour }
        // Years of five digits and more are later than whatever is asked for, those before the first are earlier.
        let beyond: Int64 = text.hasPrefix("-") ? .min : .max
        let hour = (UTC.milliseconds(text: text) ?? beyond, String(text.prefix { $0 != "T" }))
        known[text] = hour
        return hour
    }
}

extension StoredValue {
    /// The text; empty for an integer.
    var text: String {
        if case .text(let text) = self { text } else { "" }
    }

    /// The integer; 0 for a text.
    var integer: Int64 {
        if case .integer(let integer) = self { integer } else { 0 }
    }
}

extension StoredRefusal {
    /// The values of the columns of a dump of refused records.
    func columns(topic: String) -> [StoredValue] {
        let hour = Hour(containing: timestampMilliseconds)
        return [
            .text(topic), .integer(Int64(partition)), .integer(offset),
            .integer(timestampMilliseconds), .text(hour.text), .text(hour.day), .text(type),
            .text(reason), .text(detail),
        ]
    }
}
