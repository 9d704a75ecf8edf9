import AggregateStore
import Pipelines
import Streams

// Inspection answers questions about stores: what they hold (`dump`, `funnel`, `export`, `deadLetters`,
// `digest`), how two sets of them differ (`diff`), how numbers changed over time (`StoreChanges`), and what
// other conversion models would have made of them (`whatIf`). It reads one consistent state of the stores
// of some data directories, of each partition the copy that is folded furthest, and never writes.
//
//     let stores = try StoreSet(directories: ["data"])
//     let dump = try stores.dump(DumpQuery(name: "bids", grouping: .columns(["day", "seat"])))
//     try dump.write(as: .csv) { piece in print(String(decoding: piece, as: UTF8.self), terminator: "") }

/// The rows of a dump, in order of their columns.
package struct Dump: Sendable {
    /// A row: its columns' values and its exact sums.
    package struct Row: Sendable {
        /// One for each column; booleans are 0 and 1.
        package let columns: [StoredValue]
        /// One for each measure.
        package let measures: [Int128]
        /// The kinds of campaign ids in the rows of the group.
        let campaignIDKinds: CampaignIDKinds
        /// The kinds of postbacks that it counts, by day, with `DumpQuery.notesMaturity`.
        var windows: [String: PostbackKinds] = [:]
    }

    /// The columns, in the order in which rows are sorted.
    package let columns: [DumpColumn]
    /// Names of the measures.
    package let measures: [String]
    /// The rows; those of zeros are left out.
    package let rows: [Row]
    /// The largest timestamp of a folded postback, in milliseconds since 1970, with
    /// `DumpQuery.notesMaturity`.
    var watermarkMilliseconds: Int64?
}

extension StoreSet {
    /// Reads an aggregate from the stores.
    ///
    /// - Throws: `noStore` when there is none that could have it; `unknownDump`, `unknownColumn` and
    ///   `badCondition` for what cannot be asked.
    package func dump(_ query: DumpQuery) throws(InspectionError) -> Dump {
        let plan = try DumpPlan(query)
        return try view(of: plan.description.streams) { try $0.dump(plan) }
    }
}

extension StoreView {
    /// Reads an aggregate: sums over the partitions.
    func dump(_ plan: DumpPlan) throws -> Dump {
        var groups = RowGroups(plan)
        try forEachRow(plan) { values, measures in groups.add(values, measures) }
        var dump = groups.dump
        if plan.notesMaturity { dump.watermarkMilliseconds = postbacksWatermark }
        return dump
    }

    /// The largest timestamp of a record of postbacks that counts, in milliseconds since 1970.
    var postbacksWatermark: Int64? {
        copies.filter { $0.stream == PostbacksFold.streamName }
            .flatMap { copy in
                copy.partitions.map {
                    min($0.watermarkMilliseconds, copy.asOfMilliseconds ?? .max)
                }
            }.max()
    }

    /// Calls `body` with each selected row of every copy, with the values of all columns.
    func forEachRow(
        _ plan: DumpPlan, _ body: ([StoredValue], [Int64]) -> Void
    ) throws {
        for copy in copies where plan.description.streams.contains(copy.stream) {
            switch plan.description.source {
            case .aggregate(let table): try forEachRow(of: table, in: copy, plan, body)
            case .toldAndBrought(let table):
                if copy.stream == PostbacksFold.streamName {
                    try forEachBroughtValue(in: copy, plan, body)
                } else {
                    try forEachRow(of: table, in: copy, plan) { body($0, $1 + [0]) }
                }
            case .refusals(let kind): try forEachRefusal(kind, in: copy, plan, body)
            }
        }
    }

    private func forEachRow(
        of table: AggregateTable, in copy: Copy, _ plan: DumpPlan,
        _ body: ([StoredValue], [Int64]) -> Void
    ) throws {
        var hours = HourColumn()
        try copy.forEachRow(of: table) { _, columns, measures in
            var values: [StoredValue] = []
            values.reserveCapacity(columns.count + 1)
            var timeMilliseconds: Int64 = 0
            for (column, value) in zip(table.columns, columns) {
                values.append(value)
                guard column.kind == .hour, case .text(let text) = value else { continue }
                let hour = hours.hour(text)
                timeMilliseconds = hour.milliseconds
                values.append(.text(hour.day))
            }
            if plan.includes(values, timeMilliseconds: timeMilliseconds) { body(values, measures) }
        }
    }

    private func forEachRefusal(
        _ kind: RefusalKind, in copy: Copy, _ plan: DumpPlan,
        _ body: ([StoredValue], [Int64]) -> Void
    ) throws {
        for state in copy.partitions {
            var next = Int64.min
            while true {
                let refusals = try copy.snapshot.refused(
                    partition: state.partition, from: next, limit: Self.refusalsAtOnce)
                for refusal in refusals where kind.includes(reason: refusal.reason) {
                    let values = refusal.columns(topic: copy.snapshot.topic)
                    let time = refusal.timestampMilliseconds
                    guard copy.counts(timestampMilliseconds: time) else { continue }
                    if plan.includes(values, timeMilliseconds: time) { body(values, [1]) }
                }
                guard let last = refusals.last else { break }
                next = last.offset + 1
            }
        }
    }

    /// How many rejected records are held in memory: there may be as many of them as records.
    private static let refusalsAtOnce = 500
}

extension StoredRefusal {
    /// The values of the columns of a dump of rejected records.
    func columns(topic: String) -> [StoredValue] {
        let hour = Hour(containing: timestampMilliseconds).text
        return [
            .text(topic), .integer(Int64(partition)), .integer(offset),
            .integer(timestampMilliseconds), .text(hour),
            .text(String(hour.prefix { $0 != "T" })), .text(type), .text(reason), .text(detail),
        ]
    }
}

extension Dump {
    /// The dump as a report, with two more columns: `maturity`, the share of the windows of
    /// installs on the row's days that are closed, from 0 to 1, and `final_after`, after which no
    /// postback for such an install can arrive. As in the funnel: `docs/funnel.md`.
    ///
    /// The query needs `DumpQuery.notesMaturity`.
    package func withMaturity() -> ReportTable {
        ReportTable(
            columns: columns.map(\.reportColumn)
                + (measures + ["maturity", "final_after"]).map {
                    ReportTable.Column($0, isNumber: true)
                },
            rows: rows.map { row in
                zip(columns, row.columns).map { $0.reportValue($1) }
                    + row.measures.map { .integer($0) } + maturity(of: row)
            })
    }

    private func maturity(of row: Row) -> [ReportValue] {
        let end = PostbackKinds.finalAfterMilliseconds(of: row.windows)
        let share = watermarkMilliseconds.flatMap { watermark in
            let windows = PostbackKinds.windows(of: row.windows, closedAt: watermark)
            return ExactRatio(windows.closed, windows.all)
        }
        return [
            share.map { .decimal($0.text) } ?? .null,
            end.map { .text(UTC.text(milliseconds: $0)) } ?? .null,
        ]
    }
}
