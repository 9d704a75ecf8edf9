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
}

extension OpenStores {
    /// Reads the signals from the stores.
    ///
    /// - Parameter catalog: names the campaigns.
    /// - Throws: `noStore` without any store; `unknownColumn` and `badCondition` for an invalid request.
    package func fraudSignals(
        _ request: ReportRequest, catalog: Catalog = Catalog()
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
            var fold = SignalFold(selection, CampaignNames(catalog))
            for slice in view.slices { try fold.add(slice) }
            if signals.contains(.unseen) { try fold.addInstalls(view) }
            return FraudSignals(
                table: fold.table(of: signals),
                missingStreams: SignalFold.streams.filter { !view.streams.contains($0) })
        }
    }
}

struct PublisherColumns<Key: RowKey>: ReadColumns {
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

    private static let postbackColumns = PublisherColumns(\PostbacksKey.campaign)
    private static let framework = PostbacksKey.column(\.framework)
    private static let version = PostbacksKey.column(\.version)
    private static let postbackVerdict = PostbacksKey.column(\.verdict)
    private static let postbacks = TableReader(
        postbackColumns, framework, version, postbackVerdict, measures: [.postbacks])
    private static let clickColumns = PublisherColumns(\OverlayClicksKey.ad.campaign)
    private static let clicks = TableReader(
        clickColumns, measures: [.clicks, .automaticClicks, .early])
    private static let signatureColumns = PublisherColumns(\BidSignaturesKey.campaign)
    private static let skanVersion = BidSignaturesKey.column(\.skanVersion)
    private static let verdict = BidSignaturesKey.column(\.verdict)
    private static let signatures = TableReader(
        signatureColumns, skanVersion, verdict, measures: [.signatures])

    private let selection: RowSelection
    /// Whether rows have their `catalog_campaign`.
    private let namesCampaigns: Bool
    private var names: CampaignNames
    private let hours = HourTexts(.utc)
    private var rows: RowGroups<[FraudSignals.Signal: Share]>

    init(_ selection: RowSelection, _ names: CampaignNames) {
        self.selection = selection
        namesCampaigns = selection.uses(CatalogCampaignColumn.name)
        self.names = names
        rows = RowGroups(by: selection.indices, empty: [:])
    }

    private var choice: RowChoice {
        RowChoice(isHourWanted: { [selection, hours] in
            selection.includes(timeMilliseconds: hours[$0].milliseconds)
        })
    }

    /// Adds all shares except those of installs without ads.
    mutating func add(_ slice: StoreSlice) throws {
        switch slice.stream {
        case BidsFold.streamName:
            try slice.forEachSum(of: Self.signatures, choice, by: hours) { summed in
                let row = summed.row
                let isInvalid = row[Self.verdict] == AdSignatureVerdict.invalid.text
                guard isInvalid || row[Self.verdict] == AdSignatureVerdict.valid.text else {
                    return
                }
                let kind = CampaignIDKind(skanVersion: row[Self.skanVersion])
                add(
                    Self.signatureColumns.key(row, kind), [(.wrongSignatures, isInvalid)],
                    try summed.sum(.signatures))
            }
        case OverlayClicksFold.streamName:
            try slice.forEachSum(of: Self.clicks, choice, by: hours) { summed in
                let key = Self.clickColumns.key(summed.row, .either)
                func add(_ automatic: Bool, _ early: Bool, _ count: Int128) {
                    self.add(key, [(.automatic, automatic), (.early, early)], count)
                }
                add(false, false, try summed.sum(.clicks))
                add(true, false, try summed.sum(.automaticClicks))
                add(false, true, try summed.sum(.early))
            }
        case PostbacksFold.streamName:
            try slice.forEachSum(of: Self.postbacks, choice, by: hours) { summed in
                let row = summed.row
                let kind = CampaignIDKind(
                    framework: row[Self.framework], version: row[Self.version])
                let verdict = row[Self.postbackVerdict]
                add(
                    Self.postbackColumns.key(row, kind),
                    [
                        (.conflicts, false), (.invalid, verdict == "invalid"),
                        (.unverifiable, verdict == "unverifiable"),
                    ], try summed.sum(.postbacks))
            }
            try addConflicts(slice)
            try addReplayed(slice)
        default: break
        }
    }

    mutating func addInstalls(_ view: StoreView) throws {
        try InstallsWithoutAds(view, choice, hours).forEach { key, count, isWithoutAd in
            add(key, [(.unseen, isWithoutAd)], count)
        }
    }

    private mutating func add(
        _ key: SignalKey, _ signals: [(FraudSignals.Signal, Bool)], _ count: Int128
    ) {
        var values: [StoredValue] = [
            .text(key.network), .integer(key.sourceApp), .integer(key.app),
        ]
        if namesCampaigns {
            let named = names.named(
                network: key.network, app: key.app, campaign: key.campaign,
                as: CampaignIDKinds(key.kind))
            values.append(.text(named.campaign))
        }
        guard count != 0, selection.includesBesideTime(values) else { return }
        rows.add(values) { shares in
            for (signal, isSo) in signals {
                shares[signal, default: Share()].total += count
                if isSo { shares[signal, default: Share()].count += count }
            }
        }
    }

    /// Conflicting postbacks are not in an aggregate. Their stored bytes identify the network and app.
    private mutating func addConflicts(_ slice: StoreSlice) throws {
        try slice.forEachRefusal { refusal in
            guard RefusalKind.conflicts.includes(reason: refusal.reason),
                slice.counts(timestampMilliseconds: refusal.timestampMilliseconds),
                selection.includes(
                    timeMilliseconds: Hour(containing: refusal.timestampMilliseconds)
                        .hoursSince1970 * Hour.milliseconds),
                let value = try slice.snapshot.refusal(
                    partition: refusal.partition, offset: refusal.offset)?.value,
                let claim = PostbackClaim(value)
            else { return true }
            add(claim.key, [(.conflicts, true)], 1)
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
                let interval = ShareInterval(share.count, of: share.total)
                let isKnown = share.total > 0
                return zip(selection.columns, group.columns).map { $0.reportValue($1) } + [
                    .text(signal.rawValue), isKnown ? .integer(share.count) : .null,
                    isKnown ? .integer(share.total) : .null, .ratio(share.count, share.total),
                    interval.low, interval.high,
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
            request, catalog: configuration.catalog(for: request))
        let notice = missingNotice(signals.missingStreams, "their signals are unknown")
        return try request.answer(signals.table, [notice], of: self, as: format)
    }
}
