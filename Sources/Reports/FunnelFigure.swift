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
/// Rates and costs are computed from sums, and records add to those. Money has a measure for each currency, such as
/// `revenue_min_micros USD`. Refunds belong to an app and appear in every row of it.
package final class FunnelFigure: Figure {
    /// Measures that are not stored: they are computed from counts and from the models that the stores have recorded.
    package enum Bounds: Equatable, Sendable {
        /// Not included in the figure.
        case absent
        /// The bounds of the revenue, and the postbacks without bounds.
        case ofRevenue
        /// The bounds of installs' revenue through a day since the install, instead of the decoded revenue, for `roas`.
        case through(day: Int)
    }

    package let name: String
    /// Counts, then the amounts by currency, in the order of discovery.
    package private(set) var measures: [String]
    package let request: ReportRequest
    /// Whether postbacks of the verdict `development` are trusted.
    private let trustsDevelopment: Bool
    /// App Store ids by bundle id, for notifications of the store.
    private let appsByBundle: [String: Int64]
    let isConverted: Bool
    /// Whether sums are also kept by window.
    let tellsWindows: Bool
    package let bounds: Bounds
    let selection: RowSelection
    let hours: HourTexts
    /// The indices of counts among the measures.
    private let indices: [FunnelMeasure: Int]
    private var names: CampaignNames
    /// The models of the apps, if the figure depends on them.
    private(set) var models: [Int64: ConversionModel] = [:]
    /// The apps of the counted rows, for refunds and sales.
    private var apps: Set<Int64> = []
    /// The source of the last table; nil for a table that is not read.
    private var lastSource: (table: String, source: FunnelSource?)?
    /// Bundle ids of notifications without a configured app.
    private(set) var unknownBundles: Set<String> = []

    /// Selects rows of the funnel.
    ///
    /// - Parameters:
    ///   - isConverted: whether amounts will be converted at the rates of their days.
    ///   - tellsWindows: whether sums are also kept by window.
    ///   - bounds: additional sums of explanations.
    package init(
        _ request: ReportRequest, _ configuration: ReportConfiguration, isConverted: Bool = false,
        tellsWindows: Bool = false, bounds: Bounds = .absent
    ) throws {
        names = CampaignNames(try configuration.catalog())
        trustsDevelopment = try configuration.trustsDevelopment()
        appsByBundle = try configuration.appsByBundle()
        self.request = request
        self.isConverted = isConverted
        self.tellsWindows = tellsWindows
        self.bounds = bounds
        selection = try RowSelection(request, of: Funnel.columns)
        hours = HourTexts(request.timeZone)
        let counts: [FunnelMeasure]
        let appSums: [String]
        switch bounds {
        case .absent, .ofRevenue:
            (name, counts, appSums) = (Funnel.name, FunnelMeasure.allCases, Funnel.appSums)
        case .through:
            (name, counts, appSums) = (CampaignReturns.name, [.installs], [])
        }
        indices = Dictionary(uniqueKeysWithValues: counts.enumerated().map { ($1, $0) })
        measures = counts.map(\.name) + appSums
        if bounds != .absent { measures.append(FunnelColumn.unbounded) }
    }

    /// A figure with the same trust, apps and day of postbacks, which selects every row.
    init(ofEveryRow figure: FunnelFigure) throws(InspectionError) {
        var request = ReportRequest(name: Funnel.name)
        request.dateRule = figure.request.dateRule
        request.timeZone = figure.request.timeZone
        self.request = request
        hours = figure.hours
        name = Funnel.name
        names = figure.names
        trustsDevelopment = figure.trustsDevelopment
        appsByBundle = figure.appsByBundle
        isConverted = false
        tellsWindows = false
        bounds = .absent
        selection = try RowSelection(request, of: Funnel.columns)
        indices = [:]
        measures = []
    }

    /// What cells depend on.
    func basis(_ needs: FunnelNeeds) -> FunnelBasis {
        FunnelBasis(
            isByInstall: request.dateRule == .install, trustsDevelopment: trustsDevelopment,
            appsByBundle: appsByBundle, needs: needs, zone: request.timeZone)
    }

    /// Whether rows of an hour, or of a day, are selected, on whatever day their postbacks count.
    func includes(hour text: String) -> Bool {
        let hour = hours[text]
        return selection.includes(timeMilliseconds: hour.milliseconds)
            && selection.includes(.text(hour.day), ofColumn: "day")
    }

    /// The names of a campaign, and its other columns of the funnel with an empty day.
    func values(of campaign: FunnelNumbers.Campaign) -> [StoredValue] {
        let named = names.named(
            network: campaign.network.text, app: campaign.app, campaign: campaign.campaign.text,
            as: CampaignIDKinds(campaign.kind))
        return [
            .text(""), campaign.network, .integer(campaign.app), .text(named.campaign),
            .text(named.name), .text(named.mediaSource),
        ]
    }

    func note(unknownBundle bundle: String) { unknownBundles.insert(bundle) }

    func forgetUnknownBundles() { unknownBundles.removeAll() }

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

    /// The source of the decoded revenue.
    var revenue: FunnelSource {
        request.dateRule == .install ? .installCohorts : .decodedEvents
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

    /// The measures from which a column of the funnel is computed: itself for a sum, nil when it cannot be explained.
    package func parts(of measure: String) -> [String]? {
        let column = FunnelColumn.named(measure)
        let ofBounds = column.flatMap { bounds == .absent ? nil : $0.boundParts }
        guard let parts = ofBounds ?? column?.parts ?? ownParts(measure) else { return nil }
        let isBilledKnown = !available(FunnelColumn.billed).isEmpty
        let isReportedKnown = !available(FunnelColumn.reported).isEmpty
        return parts.flatMap { part in
            guard MoneyByCurrency.isMoney(part) else { return [part] }
            let available = available(part)
            guard available.isEmpty, parts.contains(FunnelColumn.billed) else {
                return available.isEmpty ? [part] : available
            }
            // The cost needs only one of its parts, and only the store of that part.
            let isUnneeded =
                part == FunnelColumn.reported && (isBilledKnown || !isReportedKnown)
                || part == FunnelColumn.billed && isReportedKnown
            return isUnneeded ? [] : [part]
        }
    }

    package func parts(ofColumn name: String) -> NumberParts {
        if case .through = bounds {
            guard name != CampaignReturns.throughDay, name != "maturity" else {
                return .noSum(
                    "is computed from dates and is not a sum of records: docs/reference/returns.md")
            }
            let valid = CampaignReturns.measureNames
            guard valid.contains(name) || measures.contains(name), let parts = parts(of: name)
            else { return .unknown(valid: valid) }
            return .measures(parts)
        }
        guard FunnelColumn.named(name)?.parts.isEmpty != true else {
            return .noSum(
                "is computed from dates or shares and is not a sum of records: docs/reference/funnel.md"
            )
        }
        guard bounds != .absent || name != FunnelColumn.unbounded else {
            return .noSum(
                "follows from the models and is not in a stored row: prove postbacks, or explain it"
            )
        }
        return parts(of: name).map { .measures($0) }
            ?? .unknown(valid: measures + Self.workedOut)
    }

    /// The measures of a money part, one per known currency.
    private func available(_ part: String) -> [String] {
        measures.filter { $0 == part || $0.hasPrefix(part + " ") }
    }

    private func ownParts(_ measure: String) -> [String]? {
        measures.contains(measure) || measure == FunnelColumn.billed ? [measure] : nil
    }

    /// The columns that are computed from several measures.
    private static var workedOut: [String] {
        FunnelColumn.all.filter { column in
            guard !column.parts.isEmpty else { return false }
            return column.parts != [column.name] || MoneyByCurrency.isMoney(column.name)
        }.map(\.name)
    }

    package var isLimitedInTime: Bool { selection.isLimitedInTime }

    /// The conditions on a postback's own columns. The campaign is excluded because its name may differ.
    package var postbackValues: [String: StoredValue] {
        selection.values(of: ["ad_network_id", "app_id"])
    }

    package func mayCount(in hour: Hour) -> Bool {
        guard request.dateRule == .install else { return includes(hour: hour.text) }
        // Postbacks arrive up to this long after their install, which counts from the beginning of its day.
        let first = Hour(hoursSince1970: hour.hoursSince1970 - Self.longestDelayHours).day
        let (time, day) = hours[hour.text]
        return selection.mayInclude(
            from: hours[first].milliseconds, firstDay: first,
            // Days of installs are in UTC.
            through: time, lastDay: max(day, hour.day))
    }

    /// The same for rows of the day that begins in an hour. Their day follows from the content of records.
    private func mayCount(inDayOf text: String) -> Bool {
        text.isEmpty || includes(hour: String(text.prefix { $0 != "T" }))
    }

    /// 35 days, and 84 hours until the middle of the interval in which the last postback is sent.
    private static let longestDelayHours: Int64 = 924

    package func choice(of table: AggregateTable) -> RowChoice {
        guard let source = source(of: table) else {
            return RowChoice(isHourWanted: mayCount(inHour:))
        }
        return choice(of: source, nil)
    }

    /// The rows of a source that may count, as the funnel reads them.
    func choice(of source: FunnelSource) -> RowChoice { choice(of: source, source.indices) }

    /// Sales belong to apps. Other conditions decide which apps' rows count.
    private func choice(of source: FunnelSource, _ indices: ReadIndices?) -> RowChoice {
        let isHourWanted = source.stored.hasDays ? mayCount(inDayOf:) : mayCount(inHour:)
        guard selection.hasConditionsBesideTime, !source.isOfApps else {
            return RowChoice(isHourWanted: isHourWanted)
        }
        return RowChoice(
            isHourWanted: isHourWanted,
            isKeyWanted: { [self] columns in
                source.entry(AnyTableRow(columns, of: indices), self).map {
                    selection.includesBesideTime(allValues(of: $0, day: ""))
                } ?? false
            })
    }

    package var observesRows: Bool {
        sources.contains { $0.stream == StoreNotificationsFold.streamName }
    }

    /// Notes the app of a counted row.
    package func observe(_ table: AggregateTable, columns: [StoredValue]) {
        guard let source = source(of: table), !source.isOfApps,
            let entry = source.entry(AnyTableRow(columns), self)
        else { return }
        apps.insert(entry.app)
    }

    package func terms(of table: AggregateTable, columns: [StoredValue]) -> [FigureTerm]? {
        guard let source = source(of: table), let entry = source.entry(AnyTableRow(columns), self)
        else { return nil }
        guard !source.isOfApps else {
            let hour = hours[entry.hour]
            guard selection.includes(timeMilliseconds: hour.milliseconds),
                selection.includes(.text(hour.day), ofColumn: "day"),
                apps.contains(entry.app) || values(of: entry, at: hour) != nil
            else { return nil }
            return entry.amounts.map { term($0, $1) }
        }
        guard let terms = terms(of: entry), values(of: entry, at: time(of: entry)) != nil
        else { return nil }
        return terms
    }

    /// Postbacks count on the days of their installs, or with bounds of the models in effect.
    package func phase(of table: AggregateTable, in hour: Hour) -> [Int]? {
        guard request.dateRule != .install else { return nil }
        guard bounds != .absent, PostbacksFold.tables.contains(where: { $0.name == table.name })
        else { return [] }
        let received = hours[hour.text].milliseconds
        return models.values.sorted { $0.app < $1.app }.flatMap { model in
            PostbackTiming.allCases.flatMap { timing -> [Int] in
                let versions = model.versions(received: received, timing: timing)
                return versions.map { [$0.lowerBound, $0.upperBound] } ?? [-1]
            }
        }
    }

    /// The contributions of an entry; nil without one.
    private func terms(of entry: FunnelEntry) -> [FigureTerm]? {
        let ofBounds = boundTerms(entry)
        let counts = entry.counts.filter { indices[$0.measure] != nil }
        guard !counts.isEmpty || !entry.amounts.isEmpty || !ofBounds.isEmpty else { return nil }
        // Amounts of different currencies are never added.
        let suffix = entry.currency.isEmpty ? "" : " \(entry.currency)"
        return counts.compactMap { index, measure in
            indices[measure].map { FigureTerm(rowMeasure: index, measure: $0) }
        } + entry.amounts.map { term($0, $1 + suffix) }
            + ofBounds.map { term($0, $1, factor: $2) }
    }

    /// Whether a row of postbacks belongs to the selected campaign, trusted and winning or not.
    package func concerns(_ table: AggregateTable, columns: [StoredValue]) -> Bool {
        guard let entry = source(of: table)?.entry(AnyTableRow(columns), self),
            entry.postback != nil, entry.value == nil
        else { return false }
        return values(of: entry, at: time(of: entry)) != nil
    }

    private func source(of table: AggregateTable) -> FunnelSource? {
        if let lastSource, lastSource.table == table.name { return lastSource.source }
        let source = read.flatMap(\.sources).first { $0.stored.name == table.name }
        lastSource = (table.name, source)
        return source
    }

    private func term(
        _ rowMeasure: Int, _ measure: String, factor: Int128 = 1
    ) -> FigureTerm {
        let index = measures.firstIndex(of: measure) ?? measures.count
        if index == measures.count { measures.append(measure) }
        return FigureTerm(rowMeasure: rowMeasure, measure: index, factor: factor)
    }
}

extension FunnelFigure {
    /// The time at which a stored row counts: its hour, or the beginning of its day; nil without a day.
    func time(of entry: FunnelEntry) -> (milliseconds: Int64?, day: String) {
        if let row = entry.postback { return time(of: row, model: models[row.app]) }
        return entry.hour.isEmpty ? (nil, "") : hours[entry.hour]
    }

    /// The time at which postbacks count: the hour of their arrival, or the beginning of the day of their likely
    /// install; nil without a day when that is not known.
    ///
    /// The likely install is whole hours before the arrival. So its day is exact, although stores know only the hour of
    /// the arrival. Stores have revenue by install day in UTC and not by hour, so counts use the day too. In another
    /// time zone, the installs of a day in UTC count on the day of the same name.
    func time(
        of row: PostbackRow, model: ConversionModel?
    ) -> (milliseconds: Int64?, day: String) {
        let arrival = hours[row.hour]
        guard request.dateRule == .install else { return arrival }
        guard row.hasInstall else { return (nil, "") }
        let install = row.timing.likelyInstall(received: arrival.milliseconds, model: model)
        // In UTC, as the revenue.
        return hours[Hour(containing: install).day]
    }

    /// The values of the funnel's columns; nil for an unselected entry.
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

    /// Only postbacks that are trusted and won count.
    func postbacks(_ row: PostbackRow) -> FunnelEntry {
        var entry = FunnelEntry(
            hour: row.hour, network: row.network, campaign: row.campaign, app: row.app,
            kind: row.kind)
        entry.postback = row
        guard row.didWin, row.isTrusted(trustsDevelopment: trustsDevelopment) else {
            return entry
        }
        entry.isTrusted = true
        entry.add(PostbacksKey.Measure.postbacks, to: .postbacks)
        entry.add(PostbacksKey.Measure.nullValues, to: .nullValues)
        if row.sequenceIndex == 0 {
            switch row.conversionType {
            case "download": entry.add(PostbacksKey.Measure.postbacks, to: .installs)
            case "redownload": entry.add(PostbacksKey.Measure.postbacks, to: .redownloads)
            case "re-engagement": entry.add(PostbacksKey.Measure.postbacks, to: .reengagements)
            // An interaction type that Apple has added is unknown here: count the postback only.
            default: break
            }
        }
        return entry
    }

    /// The app of a bundle id. An unconfigured bundle id returns nil and is noted.
    func app(ofBundle bundle: String) -> Int64? {
        if let app = appsByBundle[bundle] { return app }
        unknownBundles.insert(bundle)
        return nil
    }
}
