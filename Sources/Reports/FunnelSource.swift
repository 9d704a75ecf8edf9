import ConfigurationValues
import Store
import Streams

/// An aggregate that the funnel reads, and the contribution of its rows.
struct FunnelSource: Sendable {
    /// The columns and measures that the funnel needs; it sums over all others.
    let indices: ReadIndices
    /// Index of the measure that is 0 without billing; nil for aggregates without billing.
    let billed: Int?
    /// Whether its rows belong to whole apps: they count for the apps of other rows.
    let isOfApps: Bool
    /// Whether the sums of a row are a value, and not zeros left after corrections.
    let isValue: @Sendable (AnyTableRow) -> Bool
    private let read: @Sendable (AnyTableRow, FunnelFigure) -> FunnelEntry?

    private init<Key: RowKey>(
        _ reader: TableReader<Key>, billed: Key.Measure? = nil, isOfApps: Bool = false,
        isValue: @escaping @Sendable (TableRow<Key>) -> Bool = { $0.row.isCounted },
        _ read: @escaping @Sendable (TableRow<Key>, FunnelFigure) -> FunnelEntry?
    ) {
        indices = reader.indices
        self.billed = billed?.rawValue
        self.isOfApps = isOfApps
        self.isValue = { isValue(TableRow($0)) }
        self.read = { read(TableRow($0), $1) }
    }

    /// The aggregate as it is stored.
    var stored: AggregateTable { indices.stored }

    /// The contribution of a row; nil for notifications that do not count.
    func entry(_ row: AnyTableRow, _ number: FunnelFigure) -> FunnelEntry? { read(row, number) }

    static let bids = {
        let campaign = CampaignColumns(\BidsKey.campaign)
        let (version, currency) = (BidsKey.column(\.skanVersion), BidsKey.column(\.currency))
        return FunnelSource(
            TableReader(
                BidsKey.time, campaign, version, currency,
                measures: [
                    .bids, .overlayRequested, .overlayEligible, .wins, .billedPriceMicros, .billed,
                ]), billed: .billed
        ) { row, _ in
            var entry = FunnelEntry(row, campaign, CampaignIDKind(skanVersion: row[version]))
            entry.add(BidsKey.Measure.bids, to: .bids)
            entry.add(BidsKey.Measure.overlayRequested, to: .overlayRequested)
            entry.add(BidsKey.Measure.overlayEligible, to: .overlayEligible)
            entry.add(BidsKey.Measure.wins, to: .wins)
            entry.add(BidsKey.Measure.billedPriceMicros, to: FunnelColumn.billed)
            entry.currency = row[currency]
            return entry
        }
    }()
    static let costs = {
        let campaign = CampaignColumns(\CostsKey.campaign)
        let currency = CostsKey.column(\.currency)
        return FunnelSource(
            TableReader(
                CostsKey.time, campaign, currency, measures: Array(CostsKey.Measure.allCases)),
            // A reported cost of 0 is a value.
            isValue: { _ in true }
        ) { row, _ in
            var entry = FunnelEntry(row, campaign, .either)
            entry.add(CostsKey.Measure.costMicros, to: FunnelColumn.reported)
            entry.currency = row[currency]
            return entry
        }
    }()
    /// Most ads with an SKAdNetwork impression are also presented and reported by an SDK, so these impressions are
    /// counted separately.
    static let impressions = {
        let campaign = CampaignColumns(\ImpressionsKey.ad.campaign)
        let format = ImpressionsKey.column(\.ad.format)
        return FunnelSource(
            TableReader(ImpressionsKey.time, campaign, format, measures: [.presented, .viewed])
        ) { row, _ in
            var entry = FunnelEntry(row, campaign, .either)
            entry.add(
                ImpressionsKey.Measure.presented,
                to: row[format] == AdFormat.skadn.text ? .skadnImpressions : .presented)
            entry.add(ImpressionsKey.Measure.viewed, to: .viewed)
            return entry
        }
    }()
    static let overlayClicks = {
        let campaign = CampaignColumns(\OverlayClicksKey.ad.campaign)
        return FunnelSource(
            TableReader(OverlayClicksKey.time, campaign, measures: [.clicks, .automaticClicks])
        ) { row, _ in
            var entry = FunnelEntry(row, campaign, .either)
            entry.add(OverlayClicksKey.Measure.clicks, to: .clicks)
            entry.add(OverlayClicksKey.Measure.automaticClicks, to: .automaticClicks)
            return entry
        }
    }()
    static let postbackReader = TableReader(
        PostbackRow.columns, measures: [.postbacks, .nullValues])
    static let postbacks = FunnelSource(postbackReader) { row, number in
        number.postbacks(PostbackRow(row, PostbackRow.columns))
    }
    static let decodedEvents = {
        let campaign = CampaignColumns(\DecodedEventsKey.campaign)
        let currency = DecodedEventsKey.column(\.currency)
        let hasSourceIdentifier = DecodedEventsKey.column(\.hasSourceIdentifier)
        return FunnelSource(
            TableReader(
                DecodedEventsKey.time, campaign, currency, hasSourceIdentifier,
                measures: [.revenueMinMicros, .revenueMaxMicros]),
            isValue: { _ in true }
        ) { row, _ in
            var entry = FunnelEntry(
                row, campaign, CampaignIDKind(hasSourceIdentifier: row[hasSourceIdentifier]))
            entry.add(
                revenueMin: DecodedEventsKey.Measure.revenueMinMicros,
                max: DecodedEventsKey.Measure.revenueMaxMicros)
            entry.currency = row[currency]
            return entry
        }
    }()
    /// The revenue by install day. Decoded events do not record the conversion type or verdict of their postbacks, so
    /// it is not known which of them have an install.
    static let installCohorts = {
        let campaign = CampaignColumns(\InstallCohortsKey.campaign)
        let currency = InstallCohortsKey.column(\.currency)
        let hasSourceIdentifier = InstallCohortsKey.column(\.hasSourceIdentifier)
        return FunnelSource(
            TableReader(
                InstallCohortsKey.time, campaign, currency, hasSourceIdentifier,
                measures: [.postbacks, .nullValues, .revenueMinMicros, .revenueMaxMicros]),
            // A cohort in which all postbacks lack a value has unknown revenue, not 0.
            isValue: { $0[.postbacks] != $0[.nullValues] }
        ) { row, _ in
            var entry = FunnelEntry(
                row, campaign, CampaignIDKind(hasSourceIdentifier: row[hasSourceIdentifier]))
            entry.add(
                revenueMin: InstallCohortsKey.Measure.revenueMinMicros,
                max: InstallCohortsKey.Measure.revenueMaxMicros)
            entry.currency = row[currency]
            return entry
        }
    }()
    /// Only explanations read it separately. The funnel reads it together with its postbacks, which are counted from
    /// the complete rows.
    static let conversionValues = FunnelSource(ValuedPostbacks.reader) { row, number in
        var entry = number.postbacks(PostbackRow(row, ValuedPostbacks.columns))
        entry.counts = []
        entry.value = PostbackValue(row)
        return entry
    }
    /// Refunds and sales belong to an app. Family members and holders of assigned seats did not buy anything, so they
    /// are left out.
    static let storeNotifications = {
        let environment = StoreNotificationsKey.column(\.environment)
        let bundle = StoreNotificationsKey.column(\.bundleID)
        let ownership = StoreNotificationsKey.column(\.ownership)
        return FunnelSource(
            TableReader(
                StoreNotificationsKey.time, environment, bundle, ownership,
                measures: AppSales.measures),
            isOfApps: true
        ) { row, number in
            guard row[environment] == "Production", row[ownership] == "\(Ownership.purchased)",
                let app = number.app(ofBundle: row[bundle])
            else { return nil }
            var entry = FunnelEntry(
                hour: row[StoreNotificationsKey.time], network: "", campaign: "", app: app,
                kind: .sourceIdentifier)
            entry.add(StoreNotificationsKey.Measure.refunds, to: "app_refunds")
            entry.add(StoreNotificationsKey.Measure.refundReversals, to: "app_refund_reversals")
            for measure in AppSales.sold { entry.add(measure, to: "app_sales") }
            return entry
        }
    }()

    /// The sources by stream, streams in bytewise order. Notifications come last, because they count for the apps of
    /// the others.
    static let byStream: [(stream: String, sources: [FunnelSource])] = [
        (BidsFold.streamName, [bids]), (CostsFold.streamName, [costs]),
        (ImpressionsFold.streamName, [impressions]),
        (OverlayClicksFold.streamName, [overlayClicks]),
        (PostbacksFold.streamName, [postbacks, decodedEvents]),
        (StoreNotificationsFold.streamName, [storeNotifications]),
    ]
    static let streams = byStream.map(\.stream)
}

/// The contribution of a source's row to the funnel: time, campaign and measures.
struct FunnelEntry {
    /// The hour, or the day that a report covers.
    let hour: String
    let network: String
    let campaign: String
    let app: Int64
    let kind: CampaignIDKind
    /// For postbacks: their common columns and their value.
    var postback: PostbackRow?
    var value: PostbackValue?
    /// For postbacks: whether they are trusted and won.
    var isTrusted = false
    /// Indices of measures in the stored aggregate, and the measures that they add to.
    var counts: [(index: Int, measure: FunnelMeasure)] = []
    /// The same for amounts, which are in the entry's currency.
    private(set) var amounts: [(index: Int, measure: String)] = []
    /// The indices of the revenue, which is among the amounts.
    private(set) var revenue: (min: Int, max: Int)?
    var currency = ""

    mutating func add(_ counted: some AggregateMeasure, to measure: FunnelMeasure) {
        counts.append((counted.rawValue, measure))
    }

    mutating func add(_ amount: some AggregateMeasure, to measure: String) {
        amounts.append((amount.rawValue, measure))
    }

    fileprivate mutating func add<Measure: AggregateMeasure>(
        revenueMin least: Measure, max most: Measure
    ) {
        add(least, to: "revenue_min_micros")
        add(most, to: "revenue_max_micros")
        revenue = (least.rawValue, most.rawValue)
    }
}

extension FunnelEntry {
    /// An entry from a row with the columns of a campaign.
    fileprivate init<Key>(
        _ row: TableRow<Key>, _ columns: CampaignColumns<Key>, _ kind: CampaignIDKind
    ) {
        self.init(
            hour: row[Key.time], network: row[columns.network], campaign: row[columns.campaign],
            app: row[columns.app], kind: kind)
    }
}
