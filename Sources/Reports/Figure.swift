import ConfigurationValues
import ConversionModels
import Store
import Streams

/// The contribution of a stored row's measure to a measure of a figure.
package struct FigureTerm: Sendable {
    /// Index of the measure in the row.
    package let rowMeasure: Int
    /// Index of the measure in the figure.
    package let measure: Int
    /// The value of each unit of the row's measure. It is not 1 where the figure is computed from a count, such as
    /// bounds of revenue.
    package let factor: Int128

    init(rowMeasure: Int, measure: Int, factor: Int128 = 1) {
        self.rowMeasure = rowMeasure
        self.measure = measure
        self.factor = factor
    }
}

/// The rows of a dump, or of the funnel, that a request selects.
///
/// A figure decides whether a single row counts and what it adds. Dumps sum the rows of stores with it, and
/// explanations sum the rows of single records, so both use the same rows.
package protocol Figure: AnyObject {
    /// Name of the dump.
    var name: String { get }
    /// The conditions and the time range.
    var request: ReportRequest { get }
    /// The aggregates of its rows, by stream; a stream without aggregates supplies rejected records.
    var sources: [(stream: String, tables: [AggregateTable])] { get }
    /// Names of the measures that are sums. Reading rows may add more.
    var measures: [String] { get }
    /// The measures of a name: for a rate, the measures that it is computed from.
    func parts(ofColumn name: String) -> NumberParts
    /// The streams that a measure is computed from.
    func streams(of measure: String) -> [String]
    /// Whether only some hours are selected.
    var isLimitedInTime: Bool { get }
    /// The required values of a postback, by column; empty when the postback alone does not decide.
    var postbackValues: [String: StoredValue] { get }

    /// Prepares the figure before its rows are read.
    func begin(_ slices: [StoreSlice]) throws
    /// The contributions of a stored row; nil when it is not selected.
    func terms(of table: AggregateTable, columns: [StoredValue]) -> [FigureTerm]?
    /// What the contributions of a table's rows depend on in an hour that may count, beside their other columns: rows
    /// that differ only in such an hour have the same ones if these numbers are equal. Nil if the hour itself matters.
    /// Not for tables of days.
    func phase(of table: AggregateTable, in hour: Hour) -> [Int]?
    /// Whether a row that does not count (untrusted, or superseded) matches the conditions on its columns.
    func concerns(_ table: AggregateTable, columns: [StoredValue]) -> Bool
    /// Whether rows of an hour, or of the day that begins then, may count. Records of other hours add to rows of daily
    /// tables.
    func mayCount(in hour: Hour) -> Bool
    /// The rows of a stored table that may count; only these are read.
    func choice(of table: AggregateTable) -> RowChoice
    /// Whether a rejected record counts, in a dump of such records.
    func counts(_ refusal: StoredRefusal, topic: String) -> Bool
    /// Whether other rows may count because of counted ones.
    var observesRows: Bool { get }
    /// Notes a counted row.
    func observe(_ table: AggregateTable, columns: [StoredValue])
}

/// The measures that explain a column.
package enum NumberParts {
    case measures([String])
    /// The column is not a sum of records; the reason.
    case noSum(String)
    /// The column does not exist; the known columns.
    case unknown(valid: [String])
}

extension Figure {
    package var streams: [String] { sources.map(\.stream) }

    /// Most columns are sums themselves.
    package func parts(ofColumn name: String) -> NumberParts {
        measures.contains(name) ? .measures([name]) : .unknown(valid: measures)
    }

    /// Whether rows of a stored hour may count. Texts that are not hours are checked row by row.
    package func mayCount(inHour text: String) -> Bool {
        Hour(text: text).map { mayCount(in: $0) } ?? true
    }

    /// Most dumps read one stream, or every stream.
    package func streams(of _: String) -> [String] { [] }

    /// Most figures need only the rows of the stores.
    package func begin(_: [StoreSlice]) throws {}

    /// Most dumps are sums.
    package func counts(_: StoredRefusal, topic _: String) -> Bool { false }

    package var observesRows: Bool { false }

    package func observe(_: AggregateTable, columns _: [StoredValue]) {}
}

/// The selected rows of one dump.
package final class DumpFigure: Figure {
    let description: DumpDescription
    let selection: RowSelection
    package let sources: [(stream: String, tables: [AggregateTable])]
    package let request: ReportRequest
    /// The models that determine the versions of values, by app.
    private let models: [Int64: ConversionModel]
    private var campaigns: CampaignNames
    private let campaignIDRule: CampaignIDRule
    /// By table.
    private var campaignColumns: [String: CatalogCampaignColumn] = [:]
    /// Whether the request uses `catalog_campaign`, which is then the last value of a row.
    private let namesCampaigns: Bool
    /// The days of hours.
    let hours: HourTexts
    /// The terms of every row of the last table; nil for one that is not read.
    private var lastTerms: (table: String, terms: [FigureTerm]?)?

    /// Selects rows of a dump. Throws for an invalid request.
    package convenience init(
        _ request: ReportRequest, _ configuration: DumpConfiguration = DumpConfiguration()
    ) throws(InspectionError) {
        try self.init(request, of: .named(request.name), configuration)
    }

    init(
        _ request: ReportRequest, of description: DumpDescription,
        _ configuration: DumpConfiguration = DumpConfiguration()
    ) throws(InspectionError) {
        self.description = description
        sources = description.sources
        self.request = request
        hours = HourTexts(request.timeZone)
        let isByCurrency =
            request.tellsCurrenciesApart
            && description.measures.contains { measure in
                MoneyByCurrency.isMoney(measure) && request.measures?.contains(measure) ?? true
            }
        selection = try RowSelection(request, of: description.columns, isByCurrency: isByCurrency)
        campaigns = CampaignNames(configuration.catalog)
        campaignIDRule = CampaignIDRule(description.columns)
        namesCampaigns = selection.uses(CatalogCampaignColumn.name)
        guard !request.maturity || description.hasWindows else {
            throw .noMaturity(description.name, valid: reportNames(.maturity))
        }
        self.models = Dictionary(
            configuration.models.map { ($0.app, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Counts rejected records regardless of the shown columns.
    convenience init(
        counting request: ReportRequest,
        _ configuration: DumpConfiguration = DumpConfiguration()
    ) throws(InspectionError) {
        let description = try DumpDescription.named(request.name)
        var request = request
        if case .refusals = description.source, request.grouping == .all {
            request.grouping = .columns(description.columns.filter(\.isDefault).map(\.name))
        }
        try self.init(request, of: description, configuration)
    }

    package var name: String { description.name }

    package var measures: [String] { description.measures }

    package func parts(ofColumn name: String) -> NumberParts {
        if let derived = DerivedMeasure.named(name, of: description.name) {
            return .measures(derived.measures)
        }
        return measures.contains(name) ? .measures([name]) : .unknown(valid: measures)
    }

    /// The measures that its dump shows. Ungrouped rejected records are listed one by one, without measures.
    var shownMeasures: [String] {
        if case .refusals = description.source, request.grouping == .all { return [] }
        return measures
    }

    /// The measures that are sums of prices per thousand impressions.
    var thousandPrices: Set<String> {
        Set(shownMeasures.filter { description.note(ofMeasure: $0).unit == .cpmMicros })
    }

    /// Whether it shows the hour.
    var showsHours: Bool { selection.columns.contains { $0.kind == .hour } }

    /// Whether sums of different days stay apart.
    var showsDays: Bool {
        showsMaturity || selection.columns.contains { $0.kind.isTime || $0.name == "day" }
    }

    /// The aggregates of a stream.
    func tables(of stream: String) -> [AggregateTable] {
        sources.filter { $0.stream == stream }.flatMap(\.tables)
    }

    /// Whether rows of a stored hour, or of its day where rows have days, are of the selected time.
    func includes(time stored: String) -> Bool {
        let text = hasOwnDays ? String(stored.prefix { $0 != "T" }) : stored
        let (milliseconds, day) = hours[text]
        return selection.includes(timeMilliseconds: text.isEmpty ? nil : milliseconds)
            && selection.includes(.text(text), ofColumn: "hour")
            && selection.includes(.text(day), ofColumn: dayColumn)
    }

    /// The values that distinguish the sums of a row, apart from its time; nil for a row that is not selected.
    ///
    /// - Parameter columns: with an empty time.
    func group(of table: AggregateTable, _ columns: [StoredValue]) -> RowKeyBytes? {
        let (values, _) = valuesWithDay(of: table, columns)
        guard selection.includesBesideTime(values) else { return nil }
        var key = RowKeyBytes()
        for (index, column) in zip(selection.indices, selection.columns)
        where !column.kind.isTime && column.name != "day" {
            key.append(values[index])
        }
        // The kinds of campaign ids are noted, and the windows of an app's postbacks.
        key.append(.integer(Int64(CampaignIDKinds(campaignIDRule.kind(values)).rawValue)))
        if showsMaturity, let app = description.columns.firstIndex(where: { $0.name == Dump.app }) {
            key.append(values[app])
        }
        return key
    }

    /// Whether the meaning of a row depends on its hour, as the version of a value's model does.
    func countsByHour(_ table: AggregateTable) -> Bool { isBrought(table) }

    /// Whether rows note the windows of their postbacks.
    var showsMaturity: Bool { request.maturity }

    package var isLimitedInTime: Bool { selection.isLimitedInTime }

    /// The conditions on the columns that identify a postback's campaign, independent of its verdict and outcome.
    package var postbackValues: [String: StoredValue] {
        guard PostbacksFold.tables.contains(where: { $0.name == name }) else { return [:] }
        return selection.values(
            of: ["ad_network_id", "campaign", "app_id", "source_app_id", "sequence_index"])
    }

    /// The values of the dump's columns in a stored row; nil when it is not selected.
    func values(of table: AggregateTable, _ columns: [StoredValue]) -> [StoredValue]? {
        let found: (values: [StoredValue], timeMilliseconds: Int64?)? =
            isBrought(table)
            ? broughtValue(TableRow(AnyTableRow(columns))) : valuesWithDay(of: table, columns)
        guard let (values, time) = found, selection.includes(values, timeMilliseconds: time)
        else { return nil }
        return values
    }

    /// The index of a source's first measure in the dump.
    func firstMeasure(of table: AggregateTable) -> Int {
        isBrought(table) ? measures.count - 1 : 0
    }

    package func terms(of table: AggregateTable, columns: [StoredValue]) -> [FigureTerm]? {
        guard let terms = terms(of: table), values(of: table, columns) != nil else { return nil }
        return terms
    }

    /// Versions of models take effect at whole hours.
    package func phase(of table: AggregateTable, in hour: Hour) -> [Int]? {
        guard isBrought(table) else { return [] }
        let latest = Self.latestSetting(received: hours[hour.text].milliseconds)
        return models.values.sorted { $0.app < $1.app }.map {
            $0.versionIndex(inEffectAtMilliseconds: latest) ?? -1
        }
    }

    /// The latest moment at which an app can have set the value of a postback.
    private static func latestSetting(received: Int64) -> Int64 {
        PostbackTiming.upTo3.settingInterval(received: received).latest
    }

    /// The terms of every selected row of a table; nil for one that is not read.
    private func terms(of table: AggregateTable) -> [FigureTerm]? {
        if lastTerms?.table != table.name {
            let isRead = sources.contains { $0.tables.contains { $0.name == table.name } }
            let first = firstMeasure(of: table)
            lastTerms = (
                table.name,
                isRead
                    ? table.measures.indices.map { FigureTerm(rowMeasure: $0, measure: first + $0) }
                    : nil
            )
        }
        return lastTerms?.terms
    }

    /// Whether a row of postbacks would be selected if it were trusted and winning. Only such postbacks have decoded
    /// events and installs, so rows of `postbacks` represent both. The install day of an untrusted postback is not
    /// known, so it concerns every day.
    package func concerns(_ table: AggregateTable, columns: [StoredValue]) -> Bool {
        let ofTrusted = [DecodedEventsKey.table.name, InstallCohortsKey.table.name]
        let isOfTrusted = ofTrusted.contains(name) && table.name == PostbacksKey.table.name
        guard isOfTrusted || (name == table.name && table.columns.contains { $0.name == "verdict" })
        else { return false }
        let (values, time) = valuesWithDay(of: table, columns)
        let names =
            table.columns.flatMap { column in
                column.kind == .hour
                    ? [column.name, "day"]
                    : [column.name == "sequence_index" ? indexColumn : column.name]
            } + (namesCampaigns ? [CatalogCampaignColumn.name] : [])
        guard isOfInstalls || selection.includes(timeMilliseconds: time) else { return false }
        return request.conditions.allSatisfy { condition in
            guard !["verdict", "did_win"].contains(condition.column),
                let index = names.firstIndex(of: condition.column)
            else { return true }
            return selection.includes(values[index], ofColumn: condition.column)
        }
    }

    private var isOfInstalls: Bool { name == InstallCohortsKey.table.name }

    /// The column with the sequence index of postbacks.
    private var indexColumn: String { isOfInstalls ? "window" : "sequence_index" }

    package func mayCount(in hour: Hour) -> Bool {
        // Rows of days begin with their day, whatever the hour in which it begins in UTC.
        let (start, day) = hours[hasOwnDays ? hour.day : hour.text]
        // Rejected records use the timestamp, rows the beginning of the hour.
        let isOfRefusals = sources.allSatisfy(\.tables.isEmpty)
        let rest = isOfRefusals ? Hour.milliseconds - 1 : 0
        let last = min(start, .max - rest) + rest
        if let since = request.sinceMilliseconds, last < since { return false }
        if let until = request.untilMilliseconds, start >= until { return false }
        return selection.includes(.text(hour.text), ofColumn: "hour")
            && selection.includes(.text(day), ofColumn: dayColumn)
    }

    /// Whether the days of its rows follow from the content of records.
    private var hasOwnDays: Bool { sources.contains { $0.tables.contains(where: \.hasDays) } }

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

    /// The column with the day of rows, or of their hour.
    private var dayColumn: String {
        description.columns.first { $0.kind == .day }?.name ?? "day"
    }

    package func counts(_ refusal: StoredRefusal, topic: String) -> Bool {
        values(of: refusal, topic: topic) != nil
    }

    /// The values of the dump's columns in a rejected record; nil when it is not selected.
    func values(of refusal: StoredRefusal, topic: String) -> [StoredValue]? {
        guard case .refusals(let kind) = description.source, kind.includes(reason: refusal.reason)
        else { return nil }
        let values = refusal.columns(topic: topic, request.timeZone)
        return selection.includes(values, timeMilliseconds: refusal.timestampMilliseconds)
            ? values : nil
    }

    /// Whether a table has the values from postbacks that are compared with those sent to installs.
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
        if namesCampaigns, let column = campaignColumn(of: table) {
            values.append(column.value(columns, &campaigns))
        }
        return (values, time)
    }

    private func campaignColumn(of table: AggregateTable) -> CatalogCampaignColumn? {
        if let known = campaignColumns[table.name] { return known }
        let column = CatalogCampaignColumn(table.columns)
        campaignColumns[table.name] = column
        return column
    }

    /// Converts a row of `conversion-values` to one of `conversion-updates`, with the day after the hour; nil unless
    /// its postbacks are verified and won.
    ///
    /// The model is the version that decodes the value: the one in effect 24 hours before the postback arrived. It is
    /// empty for an app without a model.
    private func broughtValue(
        _ row: TableRow<ConversionValuesKey>
    ) -> (values: [StoredValue], timeMilliseconds: Int64?)? {
        let postbacks = PostbackRow(row, ValuedPostbacks.columns)
        guard postbacks.didWin, postbacks.isTrusted(trustsDevelopment: true) else { return nil }
        let hour = hours[postbacks.hour]
        // Versions begin at whole hours, so all postbacks of an hour share one.
        let latest = Self.latestSetting(received: hour.milliseconds)
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

/// Parses the texts of an hour column, each distinct text once: the time, and the day in a time zone.
///
/// A text of a day comes from the content of records. It keeps its name, and begins when that day begins in the zone.
final class HourTexts {
    let zone: ReportTimeZone
    private var cached: [String: (milliseconds: Int64, day: String)] = [:]

    init(_ zone: ReportTimeZone) { self.zone = zone }

    subscript(text: String) -> (milliseconds: Int64, day: String) {
        if let hour = cached[text] { return hour }
        // Years of five digits and more are later than any request, negative years are earlier.
        let beyond: Int64 = text.hasPrefix("-") ? .min : .max
        let known = zone.milliseconds(text: text)
        let ownDay = String(text.prefix { $0 != "T" })
        let isDay = ownDay.utf8.count == text.utf8.count
        let day = zone.isUTC || isDay ? ownDay : known.map(zone.day) ?? ownDay
        let hour = (known ?? beyond, day)
        cached[text] = hour
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
    func columns(topic: String, _ zone: ReportTimeZone) -> [StoredValue] {
        let hour = Hour(containing: timestampMilliseconds)
        return [
            .text(topic), .integer(Int64(partition)), .integer(offset),
            .integer(timestampMilliseconds), .text(hour.text), .text(zone.day(of: hour)),
            .text(type),
            .text(reason), .text(detail),
        ]
    }
}
