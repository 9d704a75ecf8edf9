import ConfigurationValues
import ConversionModels
import Program
import Store
import Streams

/// Estimates the null values of campaigns.
package struct NullEstimates: Report {
    package static let name = "null-estimates"

    /// The columns that identify campaigns and their pools.
    static let columns: [DumpColumn] = [
        DumpColumn("app_id", .integer), DumpColumn("sequence_index", .integer),
        DumpColumn("conversion_type", .text), DumpColumn("kind", .text),
        DumpColumn("ad_network_id", .text), DumpColumn("campaign", .text),
    ]
    package static let columnNames = columns.map(\.name) + [CatalogCampaignColumn.name]

    /// The names of a requested campaign in rows: source identifiers appear as a star and their last two digits.
    static func names(ofCampaign id: String) -> Set<String> {
        id.utf8.count > 1 && id.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains)
            ? [id, "*\(id.suffix(2))"] : [id]
    }

    package var name: String { Self.name }
    package let note =
        "Estimates of null values from the known values of the same apps. No other number uses them."
    package let help: String? =
        "null-estimates estimates the values behind a campaign's null values, with intervals that contain the true "
        + "value in 90 % of cases: docs/concepts/null-estimates.md. No other number uses these estimates."
    package var columnNames: [String] { Self.columnNames }
    /// Intervals cannot be summed.
    package let measureNames: [String] = []
    package let streams = [PostbacksFold.streamName]
    /// Campaigns are pooled by the last digits of their identifiers, so rows of one reveal something about others.
    package let abilities: ReportAbilities = []
    package let reasonWithoutNumber: String? =
        "contains estimates instead of sums of records: explain conversion-values for the known values, "
        + "and postbacks --measure null_values for null values"

    package func check(_ request: ReportRequest) throws(CommandError) {
        try checkComputed(request)
        guard request.measures == nil, !request.showsNames, request.target == nil else {
            throw .usage(
                "\(name) cannot be combined with --measures, --curve, --maturity, --names or --in: remove them"
            )
        }
    }

    package func answer(
        _ request: ReportRequest, _ stores: OpenStores, _ configuration: ReportConfiguration,
        as format: DumpFormat
    ) throws -> DumpAnswer {
        let estimates = try stores.nullEstimates(
            request, trustsDevelopment: configuration.trustsDevelopment(),
            catalog: configuration.catalog(for: request))
        return try request.answer(estimates.table, estimates.notices, of: self, as: format)
    }
}

/// The estimates of null values, and the number that cannot be estimated.
package struct NullEstimateReport: Sendable {
    package let table: ReportTable
    /// The null values of apps and windows without any known value.
    package let unknownCount: Int64

    package var notices: [String] {
        guard unknownCount > 0 else { return [] }
        return [
            "\(unknownCount) null values belong to apps and windows without any known value, so there is no estimate for them"
        ]
    }
}

extension OpenStores {
    /// Estimates the null values of trusted, winning postbacks from the known values of the same app, window and kind
    /// of conversion. Campaigns share information.
    ///
    /// Conditions select rows without changing estimates. The time range changes them: only its postbacks count.
    package func nullEstimates(
        _ request: ReportRequest, trustsDevelopment: Bool, catalog: Catalog = Catalog()
    ) throws(InspectionError) -> NullEstimateReport {
        guard request.grouping == .all else { throw .noGrouping(request.name) }
        var request = request
        var campaigns = WantedCampaigns(&request, catalog)
        let selection = try RowSelection(request, of: NullEstimates.columns)
        return try view(of: [PostbacksFold.streamName]) { view in
            var pools = NullPools(trustsDevelopment: trustsDevelopment)
            for slice in view.slices { try pools.add(slice, where: selection) }
            return pools.report { values, kinds in
                selection.includesBesideTime(values) && campaigns.includes(values, as: kinds)
            }
        }
    }
}

/// The conditions on campaigns.
private struct WantedCampaigns {
    private let campaigns: [String]
    private let ofCatalog: [String]
    private var names: CampaignNames

    /// Removes the conditions from a request.
    init(_ request: inout ReportRequest, _ catalog: Catalog) {
        func take(_ column: String) -> [String] {
            defer { request.conditions.removeAll { $0.column == column } }
            return request.conditions.filter { $0.column == column }.map(\.value)
        }
        campaigns = take("campaign")
        ofCatalog = take(CatalogCampaignColumn.name)
        names = CampaignNames(catalog)
    }

    /// - Parameter key: the app first, the network and the campaign last.
    mutating func includes(_ key: [StoredValue], as kinds: CampaignIDKinds) -> Bool {
        let own = key[key.count - 1].text
        func isNamed(_ wanted: String) -> Bool {
            NullEstimates.names(ofCampaign: wanted).contains(own)
        }
        guard campaigns.allSatisfy(isNamed) else { return false }
        guard !ofCatalog.isEmpty else { return true }
        let id = own.hasPrefix("*") ? String(own.dropFirst()) : own
        let found = names.named(
            network: key[key.count - 2].text, app: key[0].integer, campaign: id, as: kinds
        ).campaign
        return ofCatalog.allSatisfy { $0 == found || found == id && isNamed($0) }
    }
}

/// The postbacks of campaigns, by pool.
private struct NullPools {
    struct Campaign {
        var kinds: CampaignIDKinds = []
        var postbacks: Int64 = 0
        var nulls: Int64 = 0
        /// By kind and value.
        var observed: [StoredValue: [StoredValue: Int64]] = [:]
    }

    private let trustsDevelopment: Bool
    private var pools: [[StoredValue]: [[StoredValue]: Campaign]] = [:]

    private static let postbacks = TableReader(
        PostbackRow.columns, measures: [.postbacks, .nullValues])

    init(trustsDevelopment: Bool) {
        self.trustsDevelopment = trustsDevelopment
    }

    /// Adds the trusted, winning postbacks of a slice, and their known values.
    mutating func add(_ slice: StoreSlice, where selection: RowSelection) throws {
        let hours = HourTexts(.utc)
        let choice = RowChoice(
            isHourWanted: { selection.includes(timeMilliseconds: hours[$0].milliseconds) })
        try slice.forEachDay(of: Self.postbacks.indices, choice, by: hours) { row in
            let row = TableRow<PostbacksKey>(row)
            add(PostbackRow(row, PostbackRow.columns)) {
                $0.postbacks += row[.postbacks]
                $0.nulls += row[.nullValues]
            }
        }
        try slice.forEachDay(of: ValuedPostbacks.reader.indices, choice, by: hours) { row in
            let row = TableRow<ConversionValuesKey>(row)
            let (kind, value) = (row[PostbackValue.kind], row[PostbackValue.value])
            add(PostbackRow(row, ValuedPostbacks.columns)) {
                $0.observed[.text(kind), default: [:]][.text(value), default: 0] += row[.postbacks]
            }
        }
    }

    private mutating func add(_ row: PostbackRow, _ add: (inout Campaign) -> Void) {
        guard row.didWin, row.isTrusted(trustsDevelopment: trustsDevelopment) else { return }
        func body(_ campaign: inout Campaign) {
            campaign.kinds.insert(CampaignIDKinds(row.kind))
            add(&campaign)
        }
        // At low crowd levels Apple sends the last two digits only, so all postbacks of a campaign have these in
        // common.
        let campaign =
            row.kind == .sourceIdentifier ? "*" + row.campaign.suffix(2) : row.campaign
        body(
            &pools[
                [.integer(row.app), .integer(row.sequenceIndex), .text(row.conversionType)],
                default: [:]
            ][[.text(row.network), .text(campaign)], default: Campaign()])
    }

    func report(
        where isWanted: ([StoredValue], CampaignIDKinds) -> Bool
    ) -> NullEstimateReport {
        var rows: [[ReportValue]] = []
        var unknown: Int64 = 0
        for (pool, campaigns) in pools.sorted(by: { RowKeyBytes($0.key) < RowKeyBytes($1.key) }) {
            let sorted = campaigns.sorted { RowKeyBytes($0.key) < RowKeyBytes($1.key) }
            let kinds = Set(sorted.flatMap(\.value.observed.keys)).sorted()
            if kinds.isEmpty {
                unknown += sorted.filter { isWanted(pool + [.text("")] + $0.key, $0.value.kinds) }
                    .reduce(0) { $0 + $1.value.nulls }
            }
            for kind in kinds {
                rows += estimates(pool + [kind], sorted.map { ($0.key, $0.value) }, kind, isWanted)
            }
        }
        return NullEstimateReport(
            table: ReportTable(
                columns: Self.columns, rows: rows, keyCount: NullEstimates.columns.count + 1),
            unknownCount: unknown)
    }

    private static let columns =
        NullEstimates.columns.map(\.reportColumn) + [
            ReportTable.Column("value"), .init("postbacks", isNumber: true),
            .init("null_values", isNumber: true), .init("known_values", isNumber: true),
            .init("known", isNumber: true), .init("estimated", isNumber: true),
            .init("estimated_low", isNumber: true), .init("estimated_high", isNumber: true),
        ]

    private func estimates(
        _ pool: [StoredValue], _ campaigns: [([StoredValue], Campaign)], _ kind: StoredValue,
        _ isWanted: ([StoredValue], CampaignIDKinds) -> Bool
    ) -> [[ReportValue]] {
        let observed = campaigns.map { $0.1.observed[kind] ?? [:] }
        let values = Set(observed.flatMap(\.keys)).sorted { Self.order($0.text, $1.text) }
        let pooled = PooledValues(
            observed: observed.map { observed in values.map { observed[$0] ?? 0 } },
            possibleCount: Self.possibleCount(ofKind: kind.text))
        var rows: [[ReportValue]] = []
        for (campaignIndex, (key, campaign)) in campaigns.enumerated() {
            guard campaign.nulls > 0, isWanted(pool + key, campaign.kinds) else { continue }
            let all = observed[campaignIndex].values.reduce(0, +)
            func add(_ name: String, _ count: Int64, _ estimate: NullEstimate) {
                rows.append(
                    zip(NullEstimates.columns, pool + key).map { $0.reportValue($1) } + [
                        .text(name), .integer(Int128(campaign.postbacks)),
                        .integer(Int128(campaign.nulls)), .integer(Int128(all)),
                        .integer(Int128(count)),
                        .ratio(Int128((estimate.mean * 1_000_000).rounded()), 1_000_000),
                        .integer(Int128(estimate.low)), .integer(Int128(estimate.high)),
                    ])
            }
            var others: [Int] = []
            for (index, value) in values.enumerated() {
                let estimate = pooled.estimate(
                    of: index, campaign: campaignIndex, missing: campaign.nulls)
                guard estimate.isLikely else {
                    others.append(index)
                    continue
                }
                add(value.text, observed[campaignIndex][value] ?? 0, estimate)
            }
            let estimate = pooled.estimateOfRest(
                others, campaign: campaignIndex, missing: campaign.nulls)
            guard !others.isEmpty || estimate.isLikely else { continue }
            add("", others.reduce(0) { $0 + (observed[campaignIndex][values[$1]] ?? 0) }, estimate)
        }
        return rows
    }

    /// The number of values that Apple defines for a kind.
    private static func possibleCount(ofKind kind: String) -> Int {
        kind == "fine" ? 64 : CoarseValue.allCases.count
    }

    /// Numbers by value, coarse values in Apple's order.
    private static func order(_ left: String, _ right: String) -> Bool {
        func rank(_ text: String) -> Int {
            Int(text) ?? ["low", "medium", "high"].firstIndex(of: text) ?? 99
        }
        return rank(left) < rank(right)
    }
}
