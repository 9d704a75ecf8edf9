import ConfigurationValues
import Store
import Streams

/// Indicators of fraud with their certainty: shares with their counts and an interval, for each network, publisher and
/// app. It does not judge. `docs/concepts/fraud-signals.md` defines the counts of each signal.
package struct FraudSignals: Sendable {
    package static let name = "fraud-signals"

    enum Signal: String, CaseIterable {
        /// Postbacks that repeat an id with other values, as a share of all postbacks except repetitions.
        case conflicts
        /// Identical repeated records, as a share of all accepted, repeated and conflicting ones.
        case replayed = "replayed_ids"
        case invalid = "invalid_postbacks"
        case unverifiable = "unverifiable_postbacks"
        case automatic = "automatic_clicks"
        case early = "early_clicks"
        case wrongSignatures = "wrong_ad_signatures"
        /// Installs without an impression or click of their campaign in the attribution window.
        case unseen = "installs_without_ad"
    }

    static let columns = [
        DumpColumn("ad_network_id", .text), DumpColumn("source_app_id", .integer),
        DumpColumn("app_id", .integer), CatalogCampaignColumn.column,
    ]
    static let signalColumn = "signal"
    package static let columnNames = columns.map(\.name)
    package static let measureNames = [
        signalColumn, "count", "of", "share", "share_low", "share_high",
    ]

    package let table: ReportTable
    /// The streams without a store. Values that need one of them are null.
    package let missingStreams: [String]
}

/// A count and its total; unknown until a relevant row is read.
private struct Share {
    var count = Int128(0)
    var total = Int128(0)

    /// With six decimals.
    private static func decimal(_ value: Double) -> ReportValue {
        .ratio(Int128((value * 1_000_000).rounded()), 1_000_000)
    }

    /// Wilson's 95 % interval: it also holds for small counts and for shares near 0 and 1.
    var interval: (low: ReportValue, high: ReportValue) {
        guard total > 0 else { return (.null, .null) }
        let (n, z) = (Double(total), 1.959963984540054)
        let p = Double(count) / n
        let scale = 1 + z * z / n
        let center = (p + z * z / (2 * n)) / scale
        let half = z / scale * (p * (1 - p) / n + z * z / (4 * n * n)).squareRoot()
        return (Self.decimal(max(0, center - half)), Self.decimal(min(1, center + half)))
    }
}

/// The hours in which impressions and clicks of a campaign were seen.
private struct SeenAds {
    private struct Ads: Hashable {
        let network: String
        let app: Int64
    }

    /// SKAdNetwork attributes a click for 30 days.
    private static let windowMilliseconds: Int64 = 30 * 24 * Hour.milliseconds

    private var hours: [Ads: [String: Set<Int64>]] = [:]
    private var networks: Set<String> = []

    mutating func add(_ network: String, _ app: Int64, _ campaign: String, at hour: Int64) {
        networks.insert(network)
        hours[Ads(network: network, app: app), default: [:]][campaign, default: []].insert(hour)
    }

    /// Whether any ads of the network were seen; otherwise its ads are not reported here.
    func knows(_ network: String) -> Bool { networks.contains(network) }

    /// Whether an ad may have led to an install with a postback in this hour. An ad without a campaign matches any
    /// campaign, and a postback may contain only the last digits of a campaign's id.
    func includes(_ row: PostbackRow, receivedAt received: Int64) -> Bool {
        let window = row.timing.installWindow(
            received: received, fineIsZero: true, reEngagement: false, development: false)
        guard let latest = window.latest else { return true }
        let earliest = window.earliest ?? latest
        // Includes the hour of the latest install.
        let times = (earliest - Self.windowMilliseconds)...(latest + Hour.milliseconds)
        let campaigns = hours[Ads(network: row.network, app: row.app)] ?? [:]
        return campaigns.contains { campaign, hours in
            (campaign.isEmpty || campaign == row.campaign
                || (row.kind != .campaignID && !row.campaign.isEmpty
                    && campaign.hasSuffix(row.campaign)))
                && hours.contains { times.contains($0) }
        }
    }
}

extension OpenStores {
    /// Reads the signals from the stores.
    ///
    /// - Parameters:
    ///   - trustsDevelopment: whether postbacks of the verdict `development` are trusted.
    ///   - catalog: names the campaigns.
    /// - Throws: `noStore` without any store; `unknownColumn` and `badCondition` for an invalid request.
    package func fraudSignals(
        _ request: ReportRequest, trustsDevelopment: Bool, catalog: Catalog = Catalog()
    ) throws(InspectionError) -> FraudSignals {
        var request = request
        let wanted = request.conditions.filter { $0.column == FraudSignals.signalColumn }.map(
            \.value)
        request.conditions.removeAll { $0.column == FraudSignals.signalColumn }
        let signals = FraudSignals.Signal.allCases.filter { signal in
            wanted.allSatisfy { $0 == signal.rawValue }
        }
        if let unknown = wanted.first(where: { FraudSignals.Signal(rawValue: $0) == nil }) {
            throw .badCondition(
                column: FraudSignals.signalColumn, value: unknown,
                wanted: "one of "
                    + FraudSignals.Signal.allCases.map(\.rawValue).joined(separator: ", "))
        }
        let selection = try RowSelection(request, of: FraudSignals.columns)
        return try view(of: SignalFold.streams) { view in
            var fold = SignalFold(
                selection, trustsDevelopment: trustsDevelopment, CampaignNames(catalog))
            for slice in view.slices { try fold.addAds(slice) }
            for slice in view.slices { try fold.add(slice) }
            return FraudSignals(
                table: fold.table(of: signals),
                missingStreams: SignalFold.streams.filter { !view.streams.contains($0) })
        }
    }
}

private struct PublisherColumns<Key: RowKey>: ReadColumns {
    let campaign: CampaignColumns<Key>
    let sourceApp: TableColumn<Key, Int64>
    let indices: [Int]

    init(_ path: KeyPath<Key, CampaignKey>) {
        campaign = CampaignColumns(path)
        sourceApp = Key.column(path.appending(path: \.sourceAppID))
        indices = Key.time.indices + campaign.indices + sourceApp.indices
    }

    func key(_ row: TableRow<Key>, _ kind: CampaignIDKind) -> SignalKey {
        SignalKey(
            network: row[campaign.network], sourceApp: row[sourceApp], app: row[campaign.app],
            campaign: row[campaign.campaign], kind: kind)
    }
}

/// Sums stored rows into shares.
private struct SignalFold {
    static let streams = [
        BidsFold.streamName, ImpressionsFold.streamName, OverlayClicksFold.streamName,
        PostbacksFold.streamName,
    ]

    private static let postbacks = TableReader(PostbackRow.columns, measures: [.postbacks])
    private static let clickColumns = PublisherColumns(\OverlayClicksKey.ad.campaign)
    private static let clicks = TableReader(
        clickColumns, measures: [.clicks, .automaticClicks, .early])
    private static let impressionColumns = CampaignColumns(\ImpressionsKey.ad.campaign)
    private static let impressions = TableReader(
        ImpressionsKey.time, impressionColumns, measures: [.presented, .viewed])
    private static let signatureColumns = PublisherColumns(\BidSignaturesKey.campaign)
    private static let skanVersion = BidSignaturesKey.column(\.skanVersion)
    private static let verdict = BidSignaturesKey.column(\.verdict)
    private static let signatures = TableReader(
        signatureColumns, skanVersion, verdict, measures: [.signatures])

    private let selection: RowSelection
    private let trustsDevelopment: Bool
    /// Whether rows have their `catalog_campaign`.
    private let namesCampaigns: Bool
    private var names: CampaignNames
    private let hours = HourTexts(.utc)
    private var ads = SeenAds()
    private var rows: RowGroups<[FraudSignals.Signal: Share]>

    init(_ selection: RowSelection, trustsDevelopment: Bool, _ names: CampaignNames) {
        self.selection = selection
        namesCampaigns = selection.uses(CatalogCampaignColumn.name)
        self.names = names
        self.trustsDevelopment = trustsDevelopment
        rows = RowGroups(by: selection.indices, empty: [:])
    }

    /// Adds the sightings of ads, at any time.
    mutating func addAds(_ slice: StoreSlice) throws {
        switch slice.stream {
        case ImpressionsFold.streamName:
            try addAds(slice, Self.impressions, Self.impressionColumns)
        case OverlayClicksFold.streamName:
            try addAds(slice, Self.clicks, Self.clickColumns.campaign)
        default: break
        }
    }

    private mutating func addAds<Key>(
        _ slice: StoreSlice, _ reader: TableReader<Key>, _ campaign: CampaignColumns<Key>
    ) throws {
        try slice.forEachRow(of: reader) { _, row in
            guard row.row.isPositive else { return }
            ads.add(
                row[campaign.network], row[campaign.app], row[campaign.campaign],
                at: hours[row[Key.time]].milliseconds)
        }
    }

    mutating func add(_ slice: StoreSlice) throws {
        let choice = RowChoice(isHourWanted: { [selection, hours] in
            selection.includes(timeMilliseconds: hours[$0].milliseconds)
        })
        switch slice.stream {
        case BidsFold.streamName:
            try slice.forEachRow(of: Self.signatures, choice) { _, row in
                let isInvalid = row[Self.verdict] == AdSignatureVerdict.invalid.text
                guard isInvalid || row[Self.verdict] == AdSignatureVerdict.valid.text else {
                    return
                }
                let kind = CampaignIDKind(skanVersion: row[Self.skanVersion])
                add(
                    Self.signatureColumns.key(row, kind), at: row[BidSignaturesKey.time],
                    [(.wrongSignatures, isInvalid)], row[.signatures])
            }
        case OverlayClicksFold.streamName:
            try slice.forEachRow(of: Self.clicks, choice) { _, row in
                func add(_ automatic: Bool, _ early: Bool, _ count: Int64) {
                    self.add(
                        Self.clickColumns.key(row, .either), at: row[OverlayClicksKey.time],
                        [(.automatic, automatic), (.early, early)], count)
                }
                add(false, false, row[.clicks])
                add(true, false, row[.automaticClicks])
                add(false, true, row[.early])
            }
        case PostbacksFold.streamName:
            try slice.forEachRow(of: Self.postbacks, choice) { _, row in
                add(PostbackRow(row, PostbackRow.columns), row[.postbacks])
            }
            try addConflicts(slice)
            try addReplayed(slice)
        default: break
        }
    }

    private mutating func add(_ row: PostbackRow, _ count: Int64) {
        let received = hours[row.hour].milliseconds
        var signals: [(FraudSignals.Signal, Bool)] = [
            (.conflicts, false), (.invalid, row.verdict == "invalid"),
            (.unverifiable, row.verdict == "unverifiable"),
        ]
        if row.didWin, row.sequenceIndex == 0, row.conversionType == "download",
            row.isTrusted(trustsDevelopment: trustsDevelopment), row.hasInstall,
            ads.knows(row.network)
        {
            signals.append((.unseen, !ads.includes(row, receivedAt: received)))
        }
        let key = SignalKey(
            network: row.network, sourceApp: row.sourceApp, app: row.app, campaign: row.campaign,
            kind: row.kind)
        add(key, at: row.hour, signals, count)
    }

    private mutating func add(
        _ key: SignalKey, at hour: String, _ signals: [(FraudSignals.Signal, Bool)], _ count: Int64
    ) {
        let milliseconds = hours[hour].milliseconds
        var values: [StoredValue] = [
            .text(key.network), .integer(key.sourceApp), .integer(key.app),
        ]
        if namesCampaigns {
            let named = names.named(
                network: key.network, app: key.app, campaign: key.campaign,
                as: CampaignIDKinds(key.kind))
            values.append(.text(named.campaign))
        }
        guard count != 0, selection.includes(values, timeMilliseconds: milliseconds) else { return }
        rows.add(values) { shares in
            for (signal, isSo) in signals {
                shares[signal, default: Share()].total += Int128(count)
                if isSo { shares[signal, default: Share()].count += Int128(count) }
            }
        }
    }

    /// Conflicting postbacks are not in an aggregate. Their stored bytes identify the network and app.
    private mutating func addConflicts(_ slice: StoreSlice) throws {
        try slice.forEachRefusal { refusal in
            guard RefusalKind.conflicts.includes(reason: refusal.reason),
                slice.counts(timestampMilliseconds: refusal.timestampMilliseconds),
                let value = try slice.snapshot.refusal(
                    partition: refusal.partition, offset: refusal.offset)?.value,
                let claim = PostbackClaim(value)
            else { return true }
            add(
                claim.key, at: Hour(containing: refusal.timestampMilliseconds).text,
                [(.conflicts, true)], 1)
            return true
        }
    }

    /// Stores count repeated ids by hour and type, not by network or app, so only the total can show them.
    private mutating func addReplayed(_ slice: StoreSlice) throws {
        guard selection.indices.isEmpty, !selection.hasConditionsBesideTime else { return }
        let outcomes: [Outcome] = [.accepted, .conflicts, .duplicates]
        try slice.forEachRow(of: TableReader(OutcomeKey.time, measures: outcomes)) { _, row in
            guard selection.includes(timeMilliseconds: hours[row[OutcomeKey.time]].milliseconds)
            else { return }
            rows.add([.text(""), .integer(0), .integer(0)]) { shares in
                for outcome in outcomes {
                    shares[.replayed, default: Share()].total += Int128(row[outcome])
                }
                shares[.replayed, default: Share()].count += Int128(row[.duplicates])
            }
        }
    }

    func table(of signals: [FraudSignals.Signal]) -> ReportTable {
        let values = rows.sorted.flatMap { group in
            signals.map { signal -> [ReportValue] in
                let share = group.sums[signal] ?? Share()
                let (low, high) = share.interval
                let isKnown = share.total > 0
                return zip(selection.columns, group.columns).map { $0.reportValue($1) } + [
                    .text(signal.rawValue), isKnown ? .integer(share.count) : .null,
                    isKnown ? .integer(share.total) : .null, .ratio(share.count, share.total),
                    low, high,
                ]
            }
        }
        return ReportTable(
            columns: selection.columns.map(\.reportColumn) + [ReportTable.Column("signal")]
                + FraudSignals.measureNames.dropFirst().map {
                    ReportTable.Column($0, isNumber: true)
                }, rows: values, keyCount: selection.columns.count + 1)
    }
}

struct FraudSignalsReport: Report {
    var name: String { FraudSignals.name }
    let note = "Shares that can indicate fraud, with intervals. They are not a verdict."
    let help: String? =
        "fraud-signals reports shares that can indicate fraud by network, publisher and app, with counts and "
        + "95 % intervals: docs/concepts/fraud-signals.md."
    var columnNames: [String] { FraudSignals.columnNames }
    var measureNames: [String] { FraudSignals.measureNames }
    var streams: [String] { SignalFold.streams }
    let abilities: ReportAbilities = [.groups, .scopes, .endsWithEvents]
    let reasonWithoutNumber: String? =
        "contains shares of sums in other dumps: explain postbacks (--where verdict=...), "
        + "overlay-clicks, bid-signatures, conflicts or outcomes instead"

    func answer(
        _ request: ReportRequest, _ stores: OpenStores, _ configuration: ReportConfiguration,
        as format: DumpFormat
    ) throws -> DumpAnswer {
        let signals = try stores.fraudSignals(
            request, trustsDevelopment: configuration.trustsDevelopment(),
            catalog: configuration.catalog(for: request))
        let notice = missingNotice(signals.missingStreams, "their signals are unknown")
        return try request.answer(signals.table, [notice], of: self, as: format)
    }
}
