import ConfigurationValues
import ConversionModels
import Store
import Streams

/// The plain counts of the funnel, in the order of its columns.
enum FunnelMeasure: Int, AggregateMeasure {
    case bids, overlayRequested, overlayEligible, wins, presented, viewed, skadnImpressions
    case clicks, automaticClicks, installs, redownloads, reengagements, postbacks, nullValues
}

/// The rows of all streams that count in the selected rows of the funnel.
///
/// Rates and costs are computed from sums, and records add to those. Money has a measure for each
/// currency, `revenue_min_micros USD`. Refunds belong to an app, and stand in every row of it.
package final class FunnelNumber: Number {
    /// What of a question no stored measure has: it follows from counts and from the models that the stores have recorded.
    package enum Bounds: Equatable, Sendable {
        /// Nothing of it is in the number.
        case absent
        /// What the revenue can be, and the postbacks that nothing bounds.
        case ofRevenue
        /// What installs had brought by the end of a day since: in place of the decoded revenue, as `roas` has it.
        case through(day: Int)
    }

    package let name: String
    /// Counts, then the amounts by currency, as they become known.
    package private(set) var measures: [String]
    let question: FunnelQuery
    let isConverted: Bool
    package let bounds: Bounds
    let selection: RowSelection
    let hours = HourTexts()
    /// The places of counts among the measures.
    private let places: [FunnelMeasure: Int]
    private var names: CampaignNames
    /// The models of the apps, where the number depends on them.
    private(set) var models: [Int64: ConversionModel] = [:]
    /// The apps of the rows that count, for refunds and sales.
    private var apps: Set<Int64> = []
    /// Bundle ids of notifications that are no configured app's.
    private(set) var unknownBundles: Set<String> = []

    /// Selects rows of the funnel.
    ///
    /// - Parameters:
    ///   - isConverted: whether amounts are going to be converted by the rates of their days.
    ///   - bounds: what else explanations add up.
    package init(
        _ query: FunnelQuery, isConverted: Bool = false, bounds: Bounds = .absent
    ) throws(InspectionError) {
        question = query
        self.isConverted = isConverted
        self.bounds = bounds
        selection = try RowSelection(query.query, of: Funnel.columns)
        names = CampaignNames(query.catalog)
        let counts: [FunnelMeasure]
        switch bounds {
        case .absent, .ofRevenue:
            name = Funnel.name
            counts = FunnelMeasure.allCases
        case .through:
            name = CampaignReturns.name
            counts = [.installs]
        }
        places = Dictionary(uniqueKeysWithValues: counts.enumerated().map { ($1, $0) })
        measures = counts.map(\.name)
        if name == Funnel.name { measures += Funnel.appSums }
        if bounds != .absent { measures.append(FunnelColumn.unbounded) }
    }

    package var query: DumpQuery { question.query }

    package var sources: [(stream: String, tables: [AggregateTable])] {
        read.map { ($0.stream, $0.sources.map(\.stored)) }
    }

    /// The sources of its rows, by stream.
    private var read: [(stream: String, sources: [FunnelSource])] {
        switch bounds {
        case .absent: byStream
        case .ofRevenue:
            byStream.map { stream, sources in
                (
                    stream,
                    stream == PostbacksFold.streamName ? sources + [.conversionValues] : sources
                )
            }
        case .through:
            [
                (BidsFold.streamName, [.bids]), (CostsFold.streamName, [.costs]),
                (PostbacksFold.streamName, [.postbacks, .conversionValues]),
            ]
        }
    }

    private var byStream: [(stream: String, sources: [FunnelSource])] {
        FunnelSource.byStream.map { stream, sources in
            (stream, stream == PostbacksFold.streamName ? [.postbacks, revenue] : sources)
        }
    }

    /// Where the decoded revenue is read.
    var revenue: FunnelSource {
        question.dateRule == .install ? .installCohorts : .decodedEvents
    }

    package func begin(_ slices: [StoreSlice]) throws {
        guard bounds != .absent else { return }
        models = try StoreView(slices: slices).conversionModels()
    }

    package func streams(of measure: String) -> [String] {
        switch measure.prefix(while: { $0 != " " }) {
        case "app_sales": [StoreNotificationsFold.streamName]
        case FunnelColumn.billed: [BidsFold.streamName]
        case let name: FunnelColumn.named(String(name))?.streams ?? [PostbacksFold.streamName]
        }
    }

    /// The measures from which a column of the funnel is computed: itself when it is a sum, nil
    /// when it cannot be explained.
    package func parts(of measure: String) -> [String]? {
        let column = FunnelColumn.named(measure)
        let ofBounds = column.flatMap { bounds == .absent ? nil : $0.boundParts }
        guard let parts = ofBounds ?? column?.parts ?? ownParts(measure) else { return nil }
        let isBilledKnown = !known(FunnelColumn.billed).isEmpty
        let isReportedKnown = !known(FunnelColumn.reported).isEmpty
        return parts.flatMap { part in
            guard MoneyByCurrency.isMoney(part) else { return [part] }
            let known = known(part)
            guard known.isEmpty, parts.contains(FunnelColumn.billed) else {
                return known.isEmpty ? [part] : known
            }
            // The cost does not need both of its parts, nor the store of the other one.
            let isUnneeded =
                part == FunnelColumn.reported && (isBilledKnown || !isReportedKnown)
                || part == FunnelColumn.billed && isReportedKnown
            return isUnneeded ? [] : [part]
        }
    }

    /// The measures of a part that is money, one a currency, as far as they are known.
    private func known(_ part: String) -> [String] {
        measures.filter { $0 == part || $0.hasPrefix(part + " ") }
    }

    private func ownParts(_ measure: String) -> [String]? {
        measures.contains(measure) || measure == FunnelColumn.billed ? [measure] : nil
    }

    /// The sums from which a column is computed, without currencies; nil for a name that is no column's.
    package static func partNames(of column: String) -> [String]? {
        FunnelColumn.named(column)?.parts
    }

    /// The columns that are computed from several measures.
    package static var workedOut: [String] {
        FunnelColumn.all.filter { column in
            guard !column.parts.isEmpty else { return false }
            return column.parts != [column.name] || MoneyByCurrency.isMoney(column.name)
        }.map(\.name)
    }

    /// Whether records add to a column, or to what it is worked out of.
    package static func isExplained(_ column: String) -> Bool {
        FunnelColumn.named(column)?.parts.isEmpty == false
    }

    /// Whether a column is one that no records add to.
    package static func isWithoutRecords(_ column: String) -> Bool {
        FunnelColumn.named(column)?.parts.isEmpty == true
    }

    /// Whether a column counts by the models that the stores have recorded.
    package static func isOfModels(_ column: String) -> Bool { column == FunnelColumn.unbounded }

    package var isLimitedInTime: Bool { selection.isLimitedInTime }

    /// The conditions on a postback's own columns. A campaign is left out: its name may differ.
    package var postbackValues: [String: StoredValue] {
        selection.values(of: ["ad_network_id", "app_id"])
    }

    package func mayCount(in hour: Hour) -> Bool {
        guard question.dateRule == .install else {
            return selection.includes(timeMilliseconds: hour.hoursSince1970 * Hour.milliseconds)
                && selection.includes(.text(hour.day), ofColumn: "day")
        }
        // Postbacks come up to this long after their install, which counts from the beginning of its day.
        let first = Hour(hoursSince1970: hour.hoursSince1970 - Self.longestDelayHours).startOfDay
        return selection.mayInclude(
            from: first.hoursSince1970 * Hour.milliseconds, firstDay: first.day,
            through: hour.hoursSince1970 * Hour.milliseconds, lastDay: hour.day)
    }

    /// 35 days, and 84 hours until the middle of the interval in which the last postback is sent.
    private static let longestDelayHours: Int64 = 924

    package func choice(of table: AggregateTable) -> RowChoice {
        choice(of: table) { [self] in entry(of: table, $0)?.entry }
    }

    /// The rows of a source's narrower table that may count.
    func choice(of source: FunnelSource) -> RowChoice {
        choice(of: source.table) { [self] in entry(of: source, $0) }
    }

    /// Sales are those of apps: whose rows count, other conditions say.
    private func choice(
        of table: AggregateTable, _ entry: @escaping ([StoredValue]) -> FunnelEntry?
    ) -> RowChoice {
        guard selection.hasConditionsBesideTime, table.name != StoreNotificationsKey.table.name
        else { return RowChoice(isHourWanted: mayCount(inHour:)) }
        return RowChoice(
            isHourWanted: mayCount(inHour:),
            isKeyWanted: { [self] columns in
                entry(columns).map { selection.includesBesideTime(allValues(of: $0, day: "")) }
                    ?? false
            })
    }

    /// Takes note of the app of a row that counts.
    package func note(_ table: AggregateTable, columns: [StoredValue]) {
        guard table.name != StoreNotificationsKey.table.name else { return }
        let place = table.columns.firstIndex { $0.name == "app_id" }
        if let place { apps.insert(columns[place].integer) }
    }

    package func terms(of table: AggregateTable, columns: [StoredValue]) -> [NumberTerm]? {
        guard let (source, entry) = entry(of: table, columns) else { return nil }
        guard table.name != StoreNotificationsKey.table.name else {
            let hour = hours[entry.hour]
            guard selection.includes(timeMilliseconds: hour.milliseconds),
                selection.includes(.text(hour.day), ofColumn: "day"),
                apps.contains(entry.app) || values(of: entry, at: hour) != nil
            else { return nil }
            return source.measurePlaces.enumerated().map { place, stored in
                term(stored, Funnel.appSums[min(place, Funnel.appSums.count - 1)])
            }
        }
        let ofBounds = boundTerms(source, entry, columns)
        let counts = entry.counts.filter { places[$0.measure] != nil }
        guard !counts.isEmpty || !entry.amounts.isEmpty || !ofBounds.isEmpty,
            values(of: entry, at: time(of: entry, source, columns)) != nil
        else { return nil }
        // Amounts of different currencies are never added.
        let suffix = entry.currency.isEmpty ? "" : " \(entry.currency)"
        return counts.compactMap { place, measure in
            places[measure].map {
                NumberTerm(rowMeasure: source.measurePlaces[place], measure: $0)
            }
        } + entry.amounts.map { term(source.measurePlaces[$0], $1 + suffix) }
            + ofBounds.map { term(source.measurePlaces[$0], $1, factor: $2) }
    }

    /// Whether a row of postbacks is of the selected campaign, trusted and winning or not.
    package func concerns(_ table: AggregateTable, columns: [StoredValue]) -> Bool {
        guard table.name == PostbacksKey.table.name,
            let (source, entry) = entry(of: table, columns)
        else { return false }
        return values(of: entry, at: time(of: entry, source, columns)) != nil
    }

    /// When a stored row counts.
    private func time(
        of entry: FunnelEntry, _ source: FunnelSource, _ columns: [StoredValue]
    ) -> (milliseconds: Int64?, day: String) {
        guard source.hasPostbackColumns else { return time(of: entry) }
        let row = PostbackRow(source.columnPlaces.map { columns[$0] })
        return time(
            of: entry, sequenceIndex: row.sequenceIndex, hasInstall: row.hasInstall,
            model: models[row.app])
    }

    private func term(
        _ rowMeasure: Int, _ measure: String, factor: Int128 = 1
    ) -> NumberTerm {
        let place = measures.firstIndex(of: measure) ?? measures.count
        if place == measures.count { measures.append(measure) }
        return NumberTerm(rowMeasure: rowMeasure, measure: place, factor: factor)
    }
}

extension FunnelNumber {
    /// When a row counts that says so itself: its hour, or the beginning of its day; nil without a day.
    func time(of entry: FunnelEntry) -> (milliseconds: Int64?, day: String) {
        entry.hour.isEmpty ? (nil, "") : hours[entry.hour]
    }

    /// When postbacks count: the hour of their arrival, or the beginning of the day of their likely install; nil without
    /// a day when that is not known.
    ///
    /// The likely install is whole hours before the arrival. So its day is exact, although stores know only the hour of
    /// the arrival. Stores have revenue by the day of the install and not by its hour, so that counts go by the day too.
    func time(
        of entry: FunnelEntry, sequenceIndex: Int64, hasInstall: Bool, model: ConversionModel?
    ) -> (milliseconds: Int64?, day: String) {
        let arrival = hours[entry.hour]
        guard question.dateRule == .install else { return arrival }
        guard hasInstall else { return (nil, "") }
        let install = PostbackTiming(entry.kind, sequenceIndex: sequenceIndex)
            .likelyInstall(received: arrival.milliseconds, model: model)
        let day = Hour(containing: install).startOfDay
        return (day.hoursSince1970 * Hour.milliseconds, day.day)
    }

    /// The values of the funnel's columns; nil when they are not selected.
    func values(
        of entry: FunnelEntry, at time: (milliseconds: Int64?, day: String)
    ) -> [StoredValue]? {
        let values = allValues(of: entry, day: time.day)
        return selection.includes(values, timeMilliseconds: time.milliseconds) ? values : nil
    }

    private func allValues(of entry: FunnelEntry, day: String) -> [StoredValue] {
        let named = names.named(
            network: entry.network, app: entry.app, campaign: entry.campaign,
            as: CampaignIDKinds(entry.kind))
        return [
            .text(day), .text(entry.network), .integer(entry.app), .text(named.campaign),
            .text(named.name), .text(named.mediaSource),
        ]
    }

    private func entry(
        of table: AggregateTable, _ columns: [StoredValue]
    ) -> (source: FunnelSource, entry: FunnelEntry)? {
        let sources = read.lazy.flatMap(\.sources)
        guard let source = sources.first(where: { $0.stored.name == table.name }) else {
            return nil
        }
        return entry(of: source, source.columnPlaces.map { columns[$0] }).map { (source, $0) }
    }

    /// What a row of a source gives; nil for notifications that do not count.
    ///
    /// - Parameter columns: those of the source's narrower table.
    func entry(of source: FunnelSource, _ columns: [StoredValue]) -> FunnelEntry? {
        switch source.table.name {
        case PostbacksKey.table.name: postbacks(PostbackRow(columns))
        case ConversionValuesKey.table.name: values(PostbackRow(columns))
        case StoreNotificationsKey.table.name: sale(columns)
        case BidsKey.table.name: bids(columns)
        case CostsKey.table.name: costs(columns)
        case ImpressionsKey.table.name: impressions(columns)
        case InstallCohortsKey.table.name: installCohorts(columns)
        case OverlayClicksKey.table.name:
            entry(columns, .either, [(0, .clicks), (1, .automaticClicks)])
        default: decodedEvents(columns)
        }
    }

    /// What a row gives whose first columns are the hour and the campaign's.
    private func entry(
        _ columns: [StoredValue], _ kind: CampaignIDKind,
        _ counts: [(place: Int, measure: FunnelMeasure)]
    ) -> FunnelEntry {
        FunnelEntry(
            hour: columns[0].text, network: columns[1].text, campaign: columns[2].text,
            app: columns[3].integer, kind: kind, counts: counts)
    }

    private func bids(_ columns: [StoredValue]) -> FunnelEntry {
        var entry = entry(
            columns, CampaignIDKind(skanVersion: columns[4].text),
            [(0, .bids), (1, .overlayRequested), (2, .overlayEligible), (3, .wins)])
        entry.amounts = [(4, FunnelColumn.billed)]
        entry.currency = columns[5].text
        return entry
    }

    private func costs(_ columns: [StoredValue]) -> FunnelEntry {
        var entry = entry(columns, .either, [])
        entry.amounts = [(0, FunnelColumn.reported)]
        entry.currency = columns[4].text
        return entry
    }

    /// An impression that SKAdNetwork got is mostly of an ad that an SDK also presented and
    /// reported, so it is counted apart.
    private func impressions(_ columns: [StoredValue]) -> FunnelEntry {
        let isSKAdN = columns[4].text == "\(AdFormat.skadn.name)"
        return entry(
            columns, .either, [(0, isSKAdN ? .skadnImpressions : .presented), (1, .viewed)])
    }

    /// Only postbacks that are trusted and won count.
    func postbacks(_ row: PostbackRow) -> FunnelEntry {
        var entry = FunnelEntry(
            hour: row.hour, network: row.network, campaign: row.campaign, app: row.app,
            kind: row.kind)
        guard row.didWin, row.isTrusted(trustsDevelopment: question.trustsDevelopment) else {
            return entry
        }
        entry.isTrusted = true
        entry.counts = [(0, .postbacks), (1, .nullValues)]
        if row.sequenceIndex == 0 {
            switch row.conversionType {
            case "download": entry.counts.append((0, .installs))
            case "redownload": entry.counts.append((0, .redownloads))
            case "re-engagement": entry.counts.append((0, .reengagements))
            // Nobody knows what a word means that Apple has added: it is a postback, and no more.
            default: break
            }
        }
        return entry
    }

    /// Postbacks are counted by the rows that have all of them.
    private func values(_ row: PostbackRow) -> FunnelEntry {
        var entry = postbacks(row)
        entry.counts = []
        return entry
    }

    private func decodedEvents(_ columns: [StoredValue]) -> FunnelEntry {
        revenue(columns, hasSourceIdentifier: columns[5], firstPlace: 0)
    }

    private func installCohorts(_ columns: [StoredValue]) -> FunnelEntry {
        revenue(columns, hasSourceIdentifier: columns[5], firstPlace: 2)
    }

    /// - Parameter firstPlace: that of the least revenue among the measures; the most follows.
    private func revenue(
        _ columns: [StoredValue], hasSourceIdentifier: StoredValue, firstPlace: Int
    ) -> FunnelEntry {
        var entry = entry(
            columns, CampaignIDKind(hasSourceIdentifier: hasSourceIdentifier.integer != 0), [])
        entry.amounts = [
            (firstPlace, "revenue_min_micros"), (firstPlace + 1, "revenue_max_micros"),
        ]
        entry.currency = columns[4].text
        return entry
    }

    /// Refunds and sales belong to an app. Family members and holders of assigned seats bought
    /// nothing, so they are left out.
    private func sale(_ columns: [StoredValue]) -> FunnelEntry? {
        guard columns[1].text == "Production", columns[3].text == "\(Ownership.purchased)" else {
            return nil
        }
        guard let app = question.appsByBundle[columns[2].text] else {
            unknownBundles.insert(columns[2].text)
            return nil
        }
        return FunnelEntry(
            hour: columns[0].text, network: "", campaign: "", app: app, kind: .sourceIdentifier)
    }
}
