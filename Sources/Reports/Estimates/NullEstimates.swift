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
    package static let columnNames = columns.map(\.name)

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
        guard request.query.measures == nil, !request.showsNames, request.target == nil else {
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
            request.query, trustsDevelopment: configuration.trustsDevelopment())
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
        _ query: DumpQuery, trustsDevelopment: Bool
    ) throws(InspectionError) -> NullEstimateReport {
        guard query.grouping == .all else { throw .noGrouping(query.name) }
        var query = query
        let campaigns = query.conditions.filter { $0.column == "campaign" }.map {
            NullEstimates.names(ofCampaign: $0.value)
        }
        query.conditions.removeAll { $0.column == "campaign" }
        let selection = try RowSelection(query, of: NullEstimates.columns)
        func figure(_ name: String) throws(InspectionError) -> DumpFigure {
            try DumpFigure(
                DumpQuery(
                    name: name, sinceMilliseconds: query.sinceMilliseconds,
                    untilMilliseconds: query.untilMilliseconds,
                    conditions: [.init(column: "did_win", value: "true")]))
        }
        let (postbacks, values) = try (
            figure(PostbacksKey.table.name), figure(ConversionValuesKey.table.name)
        )
        return try view(of: [PostbacksFold.streamName]) { view in
            var pools = NullPools(
                verdicts: trustsDevelopment ? ["valid", "development"] : ["valid"])
            try view.forEachRow(of: postbacks, byDay: true) { columns, measures, _ in
                pools.add(
                    NullPools.Row(columns, postbacks), postbacks: measures[0], nulls: measures[1])
            }
            try view.forEachRow(of: values, byDay: true) { columns, measures, _ in
                pools.add(NullPools.Row(columns, values), known: measures[0])
            }
            return pools.report { values in
                selection.includesBesideTime(values)
                    && campaigns.allSatisfy { names in
                        names.contains(values.last.map(\.text) ?? "")
                    }
            }
        }
    }
}

/// The postbacks of campaigns, by pool.
private struct NullPools {
    /// A row of postbacks or of conversion values.
    struct Row {
        let verdict: String
        /// App, window, conversion type.
        let pool: [StoredValue]
        let campaign: [StoredValue]
        let kind: StoredValue?
        let value: StoredValue?

        init(_ columns: [StoredValue], _ figure: DumpFigure) {
            func value(_ name: String) -> StoredValue? {
                figure.description.columns.firstIndex { $0.name == name }.map { columns[$0] }
            }
            func known(_ name: String) -> StoredValue {
                guard let value = value(name) else {
                    preconditionFailure("\(figure.name) has no \(name)")
                }
                return value
            }
            verdict = known("verdict").text
            pool = ["app_id", "sequence_index", "conversion_type"].map(known)
            let id = known("campaign").text
            let isSourceIdentifier =
                known("framework").text != "skadnetwork" || known("version").text == "4.0"
            // At low crowd levels Apple sends the last two digits only, so all postbacks of a campaign have these in
            // common.
            campaign = [
                known("ad_network_id"), .text(isSourceIdentifier ? "*" + id.suffix(2) : id),
            ]
            kind = value("kind")
            self.value = value("value")
        }
    }

    struct Campaign {
        var postbacks: Int64 = 0
        var nulls: Int64 = 0
        /// By kind and value.
        var known: [StoredValue: [StoredValue: Int64]] = [:]
    }

    let verdicts: Set<String>
    private var pools: [[StoredValue]: [[StoredValue]: Campaign]] = [:]

    init(verdicts: Set<String>) {
        self.verdicts = verdicts
    }

    mutating func add(_ row: Row, postbacks: Int64, nulls: Int64) {
        guard verdicts.contains(row.verdict) else { return }
        pools[row.pool, default: [:]][row.campaign, default: Campaign()].postbacks += postbacks
        pools[row.pool, default: [:]][row.campaign, default: Campaign()].nulls += nulls
    }

    mutating func add(_ row: Row, known count: Int64) {
        guard verdicts.contains(row.verdict), let kind = row.kind, let value = row.value else {
            return
        }
        pools[row.pool, default: [:]][row.campaign, default: Campaign()]
            .known[kind, default: [:]][value, default: 0] += count
    }

    func report(where isWanted: ([StoredValue]) -> Bool) -> NullEstimateReport {
        var rows: [[ReportValue]] = []
        var unknown: Int64 = 0
        for (pool, campaigns) in pools.sorted(by: { RowKeyBytes($0.key) < RowKeyBytes($1.key) }) {
            let sorted = campaigns.sorted { RowKeyBytes($0.key) < RowKeyBytes($1.key) }
            let kinds = Set(sorted.flatMap(\.value.known.keys)).sorted()
            if kinds.isEmpty {
                unknown += sorted.filter { isWanted(pool + [.text("")] + $0.key) }
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
        _ isWanted: ([StoredValue]) -> Bool
    ) -> [[ReportValue]] {
        let known = campaigns.map { $0.1.known[kind] ?? [:] }
        let values = Set(known.flatMap(\.keys)).sorted { Self.order($0.text, $1.text) }
        let pooled = PooledValues(
            known: known.map { known in values.map { known[$0] ?? 0 } },
            possibleCount: Self.possibleCount(ofKind: kind.text))
        var rows: [[ReportValue]] = []
        for (place, (key, campaign)) in campaigns.enumerated() {
            guard campaign.nulls > 0, isWanted(pool + key) else { continue }
            let all = known[place].values.reduce(0, +)
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
                    of: index, campaign: place, missing: campaign.nulls)
                guard estimate.isLikely else {
                    others.append(index)
                    continue
                }
                add(value.text, known[place][value] ?? 0, estimate)
            }
            let estimate = pooled.estimateOfRest(
                others, campaign: place, missing: campaign.nulls)
            guard !others.isEmpty || estimate.isLikely else { continue }
            add("", others.reduce(0) { $0 + (known[place][values[$1]] ?? 0) }, estimate)
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
