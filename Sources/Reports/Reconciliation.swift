import ConfigurationValues
import Store
import Streams

/// Compares networks' copies of postbacks with developers' copies.
package struct Reconciliation: Sendable {
    package let table: ReportTable
    /// Notices for the reader of the table.
    package let notices: [String]

    /// The grouping columns, in sort order.
    static let columns = [
        DumpColumn("hour", .hour, isDefault: false), DumpColumn("day", .text),
        DumpColumn("ad_network_id", .text), DumpColumn("campaign", .text),
        DumpColumn("app_id", .integer),
        DumpColumn("source_app_id", .integer, isDefault: false),
        DumpColumn("sequence_index", .integer, isDefault: false),
        DumpColumn("has_source_identifier", .boolean, isDefault: false),
    ]
    /// The columns of groupings and conditions.
    static let selectable = columns + [CatalogCampaignColumn.column]
    static let name = "reconcile"
}

/// The request for a reconciliation.
package struct ReconciliationQuery: Sendable {
    /// Columns, conditions and time, which is that of a postback's first copy. The name is ignored.
    package var request: ReportRequest
    /// Whether to list each postback with the positions of its copies.
    package var showsRecords = false
    /// Whether to list matching postbacks too.
    package var showsMatched = false
    /// Whether postbacks of the verdict `development` are trusted.
    package var trustsDevelopment = false
    /// Names the campaigns of rows, for `catalog_campaign`.
    package var catalog = Catalog()

    /// The results of a comparison, each also a column of its counts.
    package static let statuses = ReconciledPostback.Status.allCases.map(\.rawValue)

    /// The columns of its conditions.
    package static let columnNames = Reconciliation.selectable.map(\.name)

    package init(request: ReportRequest = ReportRequest(name: "reconcile")) {
        self.request = request
    }
}

extension OpenStores {
    /// Compares the copies of postbacks from networks and from developers.
    ///
    /// - Throws: `noStore` without a store of postbacks; `unknownColumn` and similar errors for an invalid request.
    package func reconciliation(
        _ question: ReconciliationQuery
    ) throws(InspectionError) -> Reconciliation {
        var request = question.request
        request.name = Reconciliation.name
        let selection = try RowSelection(request, of: Reconciliation.selectable)
        return try view(of: [PostbacksFold.streamName]) { view in
            var fold = ReconciliationFold(
                question, selection, watermarkMilliseconds: try view.postbacksWatermark ?? 0)
            for slice in view.slices { try fold.add(slice) }
            return fold.reconciliation
        }
    }
}

/// Compares the copies of each postback, and counts the results.
struct ReconciliationFold {
    private struct Sums {
        var counts: [ReconciledPostback.Status: Int128] = [:]
        var mayStillCome = Int128(0)
        var untrusted = Int128(0)
    }

    private let question: ReconciliationQuery
    private let selection: RowSelection
    private let watermarkMilliseconds: Int64
    private let catalogCampaign: CatalogCampaignColumn?
    private var names: CampaignNames
    private var groups: RowGroups<Sums>
    private var records: [(time: Int64, row: [ReportValue])] = []
    private var hasDeveloperCopies = false
    private var isAnything = false

    init(
        _ question: ReconciliationQuery, _ selection: RowSelection, watermarkMilliseconds: Int64
    ) {
        self.question = question
        self.selection = selection
        self.watermarkMilliseconds = watermarkMilliseconds
        catalogCampaign =
            selection.uses(CatalogCampaignColumn.name)
            ? CatalogCampaignColumn(Reconciliation.columns) : nil
        names = CampaignNames(question.catalog)
        groups = RowGroups(by: selection.indices, empty: Sums())
    }

    /// Adds the postbacks of a store. The copies of one postback are adjacent.
    mutating func add(_ slice: StoreSlice) throws {
        var gathered: [StoredPostbackCopy] = []
        try slice.snapshot.forEachPostbackCopy(partitions: slice.numbers) { copy in
            guard slice.counts(timestampMilliseconds: copy.timestampMilliseconds) else { return }
            if let last = gathered.last, !last.isOfSamePostback(as: copy) {
                add(gathered)
                gathered.removeAll(keepingCapacity: true)
            }
            gathered.append(copy)
        }
        add(gathered)
    }

    private mutating func add(_ copies: [StoredPostbackCopy]) {
        let trusted = copies.filter { $0.isTrusted(question.trustsDevelopment) }
        if let postback = ReconciledPostback(trusted) { add(postback) }
        for copy in copies where !copy.isTrusted(question.trustsDevelopment) {
            guard let values = selected(copy, at: copy.timestampMilliseconds) else { continue }
            groups.add(values) { $0.untrusted += 1 }
        }
    }

    private mutating func add(_ postback: ReconciledPostback) {
        let values = selected(postback.reported, at: postback.firstMilliseconds)
        guard let values else { return }
        isAnything = true
        if !postback.developer.isEmpty { hasDeveloperCopies = true }
        let mayStillCome = mayStillCome(postback)
        groups.add(values) { sums in
            sums.counts[postback.status, default: 0] += 1
            if mayStillCome { sums.mayStillCome += 1 }
        }
        guard question.showsRecords else { return }
        let isFound = postback.status == .matched || postback.status == .losing
        guard !isFound || question.showsMatched else { return }
        records.append((postback.firstMilliseconds, record(postback, values)))
    }

    /// Devices retry the delivery of a copy for nine days.
    private func mayStillCome(_ postback: ReconciledPostback) -> Bool {
        switch postback.status {
        case .missingDeveloperCopy, .missingNetworkCopy:
            postback.firstMilliseconds + Self.retryMilliseconds > watermarkMilliseconds
        case .matched, .differing, .losing: false
        }
    }

    private static let retryMilliseconds = 9 * 24 * Hour.milliseconds

    /// The values of the columns of a copy with the given arrival time; nil when they are not selected.
    private mutating func selected(_ copy: StoredPostbackCopy, at time: Int64) -> [StoredValue]? {
        guard selection.includes(timeMilliseconds: time) else { return nil }
        let hour = Hour(containing: time)
        var values: [StoredValue] = [
            .text(hour.text), .text(question.request.timeZone.day(of: hour)),
            .text(copy.adNetworkID),
            .text(copy.campaign), .integer(copy.appID), .integer(copy.sourceAppID),
            .integer(copy.sequenceIndex), .integer(copy.hasSourceIdentifier ? 1 : 0),
        ]
        if let catalogCampaign { values.append(catalogCampaign.value(values, &names)) }
        return selection.includes(values, timeMilliseconds: time) ? values : nil
    }
}

extension ReconciliationFold {
    var reconciliation: Reconciliation {
        Reconciliation(
            table: question.showsRecords ? recordTable : countTable, notices: notices)
    }

    private var notices: [String] {
        guard isAnything, !hasDeveloperCopies else { return [] }
        return [
            "there are no developer copies. The collector marks them with ce_via: developer-copy on its "
                + "developer paths: docs/guides/analyse-campaigns.md"
        ]
    }

    private var countTable: ReportTable {
        let statuses = ReconciledPostback.Status.allCases
        let names =
            ["postbacks"] + statuses.map(\.rawValue) + ["may_still_come", "untrusted_copies"]
        return ReportTable(
            columns: selection.columns.map(\.reportColumn)
                + names.map { ReportTable.Column($0, isNumber: true) },
            rows: groups.sorted.map { group in
                let sums = group.sums
                let counts = statuses.map { sums.counts[$0, default: 0] }
                return zip(selection.columns, group.columns).map { $0.reportValue($1) }
                    + ([counts.reduce(0, +)] + counts + [sums.mayStillCome, sums.untrusted]).map {
                        .integer($0)
                    }
            })
    }

    /// Ordered by the time of the first copy.
    private var recordTable: ReportTable {
        let columns: [ReportTable.Column] =
            [.init("status"), .init("first_seen")]
            + Reconciliation.columns[2...].map(\.reportColumn)
            + [
                .init("partition", isNumber: true), .init("network_offsets"),
                .init("network_values"), .init("developer_offsets"), .init("developer_values"),
            ]
        let ordered = records.enumerated().sorted {
            ($0.element.time, $0.offset) < ($1.element.time, $1.offset)
        }
        return ReportTable(columns: columns, rows: ordered.map(\.element.row))
    }

    private func record(
        _ postback: ReconciledPostback, _ values: [StoredValue]
    ) -> [ReportValue] {
        [.text(postback.status.rawValue), .time(postback.firstMilliseconds)]
            + zip(Reconciliation.columns, values).dropFirst(2).map { $0.reportValue($1) } + [
                .integer(Int128(postback.reported.partition)),
                Self.offsets(postback.network), Self.values(postback.network),
                Self.offsets(postback.developer), Self.values(postback.developer),
            ]
    }

    private static func offsets(_ copies: [StoredPostbackCopy]) -> ReportValue {
        .text(copies.map { "\($0.offset)" }.joined(separator: " "))
    }

    /// The values that Apple does not sign, for each copy.
    private static func values(_ copies: [StoredPostbackCopy]) -> ReportValue {
        .text(copies.map(\.valueWords).joined(separator: "; "))
    }
}

/// The network's and the developer's copies of one postback, compared.
struct ReconciledPostback {
    enum Status: String, CaseIterable {
        /// Both sides received it with the same values.
        case matched
        /// Both sides received it with different values.
        case differing
        /// Only the network received it.
        case missingDeveloperCopy = "missing_developer_copy"
        /// Only the developer received it.
        case missingNetworkCopy = "missing_network_copy"
        /// The network received it and did not win. Devices do not send a copy to developers.
        case losing
    }

    let status: Status
    /// The network's best copy, otherwise the developer's.
    let reported: StoredPostbackCopy
    let firstMilliseconds: Int64
    let network: [StoredPostbackCopy]
    let developer: [StoredPostbackCopy]

    /// Nil without a trusted copy.
    init?(_ copies: [StoredPostbackCopy]) {
        let sides = copies.reduce(
            into: (network: [StoredPostbackCopy](), developer: [StoredPostbackCopy]())
        ) {
            if $1.isDeveloperCopy { $0.developer.append($1) } else { $0.network.append($1) }
        }
        network = sides.network
        developer = sides.developer
        let best = (Self.best(of: network), Self.best(of: developer))
        guard let reported = best.0 ?? best.1 else { return nil }
        self.reported = reported
        firstMilliseconds = copies.map(\.timestampMilliseconds).min() ?? 0
        status =
            switch best {
            case (let network?, let developer?):
                network.hasValues(of: developer) ? .matched : .differing
            case (let network?, nil): network.didWin ? .missingDeveloperCopy : .losing
            case (nil, _): .missingNetworkCopy
            }
    }

    /// The first copy with the best verdict.
    private static func best(of copies: [StoredPostbackCopy]) -> StoredPostbackCopy? {
        copies.min { left, right in
            left.rank == right.rank ? left.offset < right.offset : left.rank > right.rank
        }
    }
}

extension StoredPostbackCopy {
    /// Whether the developer's endpoint received it. All other copies are from the network, direct or relayed.
    var isDeveloperCopy: Bool { route == "developer-copy" }

    /// `valid` ranks above `development`, which ranks above all others.
    var rank: Int {
        switch verdict {
        case "valid": 2
        case "development": 1
        default: 0
        }
    }

    func isTrusted(_ trustsDevelopment: Bool) -> Bool {
        rank == 2 || (rank == 1 && trustsDevelopment)
    }

    func isOfSamePostback(as other: StoredPostbackCopy) -> Bool {
        partition == other.partition && id == other.id
    }

    /// Whether the values that Apple does not sign are equal.
    func hasValues(of other: StoredPostbackCopy) -> Bool {
        conversionValue == other.conversionValue && coarseValue == other.coarseValue
            && StoredValue.text(country ?? "") == .text(other.country ?? "")
    }

    /// The values that Apple does not sign, for display: `fine 20 US`, `coarse low`, `null`.
    var valueWords: String {
        let value =
            conversionValue.map { "fine \($0)" } ?? coarseValue.map { "coarse \($0)" } ?? "null"
        return country.map { $0.isEmpty ? value : "\(value) \($0)" } ?? value
    }
}
