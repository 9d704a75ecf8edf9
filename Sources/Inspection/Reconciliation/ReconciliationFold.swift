import AggregateStore
import Streams

/// Puts the copies of each postback together, and counts what came of them.
struct ReconciliationFold {
    private struct Group {
        let key: RowKeyBytes
        let columns: [StoredValue]
        var counts: [ReconciledPostback.Status: Int128] = [:]
        var mayStillCome = Int128(0)
        var untrusted = Int128(0)
    }

    private let question: ReconciliationQuery
    private let selection: RowSelection
    private let watermarkMilliseconds: Int64
    private var hours = HourColumn()
    private var places: [RowKeyBytes: Int] = [:]
    private var groups: [Group] = []
    private var records: [(time: Int64, row: [ReportValue])] = []
    private var hasDeveloperCopies = false
    private var isAnything = false

    init(
        _ question: ReconciliationQuery, _ selection: RowSelection, watermarkMilliseconds: Int64
    ) {
        self.question = question
        self.selection = selection
        self.watermarkMilliseconds = watermarkMilliseconds
    }

    /// Adds the postbacks of a store, whose copies of one postback follow each other.
    mutating func add(_ copy: StoreView.Copy) throws {
        var gathered: [StoredPostbackCopy] = []
        try copy.snapshot.forEachPostbackCopy(partitions: copy.numbers) { sighting in
            guard copy.counts(timestampMilliseconds: sighting.timestampMilliseconds) else { return }
            if let last = gathered.last, !last.isOfSamePostback(as: sighting) {
                add(gathered)
                gathered.removeAll(keepingCapacity: true)
            }
            gathered.append(sighting)
        }
        add(gathered)
    }

    private mutating func add(_ copies: [StoredPostbackCopy]) {
        let trusted = copies.filter { $0.isTrusted(question.trustsDevelopment) }
        if let postback = ReconciledPostback(trusted) { add(postback) }
        for copy in copies where !copy.isTrusted(question.trustsDevelopment) {
            guard let place = place(of: copy, copy.timestampMilliseconds) else { continue }
            groups[place].untrusted += 1
        }
    }

    private mutating func add(_ postback: ReconciledPostback) {
        guard let place = place(of: postback.reported, postback.firstMilliseconds) else { return }
        isAnything = true
        if !postback.developer.isEmpty { hasDeveloperCopies = true }
        groups[place].counts[postback.status, default: 0] += 1
        if mayStillCome(postback) { groups[place].mayStillCome += 1 }
        guard question.showsRecords else { return }
        let isFound = postback.status == .matched || postback.status == .losing
        guard !isFound || question.showsMatched else { return }
        records.append((postback.firstMilliseconds, record(postback)))
    }

    /// Devices try for nine days to deliver a copy.
    private func mayStillCome(_ postback: ReconciledPostback) -> Bool {
        switch postback.status {
        case .missingDeveloperCopy, .missingNetworkCopy:
            postback.firstMilliseconds + Self.retryMilliseconds > watermarkMilliseconds
        case .matched, .differing, .losing: false
        }
    }

    private static let retryMilliseconds = 9 * 24 * Hour.milliseconds

    private mutating func place(of copy: StoredPostbackCopy, _ time: Int64) -> Int? {
        let values = values(of: copy, time)
        guard selection.includes(values, timeMilliseconds: time) else { return nil }
        let key = RowKeyBytes(selection.places.map { values[$0] })
        let place = places[key] ?? groups.count
        if place == groups.count {
            places[key] = place
            groups.append(Group(key: key, columns: selection.places.map { values[$0] }))
        }
        return place
    }

    private mutating func values(of copy: StoredPostbackCopy, _ time: Int64) -> [StoredValue] {
        let text = Hour(containing: time).text
        return [
            .text(text), .text(hours.hour(text).day), .text(copy.adNetworkID),
            .text(copy.campaign), .integer(copy.appID), .integer(copy.sourceAppID),
            .integer(copy.sequenceIndex), .integer(copy.hasSourceIdentifier ? 1 : 0),
        ]
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
            "no developer copy came at all: records that the collector takes on the developers' paths "
                + "carry ce_via: developer-copy, docs/analysis.md says more"
        ]
    }

    private var countTable: ReportTable {
        let statuses = ReconciledPostback.Status.allCases
        let names =
            ["postbacks"] + statuses.map(\.rawValue) + ["may_still_come", "untrusted_copies"]
        return ReportTable(
            columns: selection.columns.map(\.reportColumn)
                + names.map { ReportTable.Column($0, isNumber: true) },
            rows: groups.sorted { $0.key < $1.key }.map { group in
                let counts = statuses.map { group.counts[$0, default: 0] }
                return zip(selection.columns, group.columns).map { $0.reportValue($1) }
                    + ([counts.reduce(0, +)] + counts + [group.mayStillCome, group.untrusted]).map {
                        .integer($0)
                    }
            })
    }

    /// In the order in which the first copies came.
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

    private mutating func record(_ postback: ReconciledPostback) -> [ReportValue] {
        let values = values(of: postback.reported, postback.firstMilliseconds)
        return [
            .text(postback.status.rawValue),
            .text(UTC.text(milliseconds: postback.firstMilliseconds)),
        ] + zip(Reconciliation.columns, values).dropFirst(2).map { $0.reportValue($1) } + [
            .integer(Int128(postback.reported.partition)),
            Self.offsets(postback.network), Self.values(postback.network),
            Self.offsets(postback.developer), Self.values(postback.developer),
        ]
    }

    private static func offsets(_ copies: [StoredPostbackCopy]) -> ReportValue {
        .text(copies.map { "\($0.offset)" }.joined(separator: " "))
    }

    /// What each copy brought that Apple does not sign.
    private static func values(_ copies: [StoredPostbackCopy]) -> ReportValue {
        .text(copies.map(\.valueWords).joined(separator: "; "))
    }
}
