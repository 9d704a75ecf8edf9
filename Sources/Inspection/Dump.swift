import AggregateStore
import Pipelines
import Streams

/// The rows of a dump, in order of their columns.
public struct Dump: Sendable {
    /// A row: its columns' values and its exact sums.
    public struct Row: Sendable {
        /// One for each column; booleans are 0 and 1.
        public let columns: [StoredValue]
        /// One for each measure.
        public let measures: [Int128]
        /// Which ids the campaigns of the rows are that were put together.
        let campaignIDKinds: CampaignIDKinds
    }

    /// The columns, in the order in which rows are sorted.
    public let columns: [DumpColumn]
    /// Names of the measures.
    public let measures: [String]
    /// The rows; those of zeros are left out.
    public let rows: [Row]
}

extension StoreSet {
    /// Reads an aggregate from the stores.
    ///
    /// - Throws: `noStore` when there is none that could have it; `unknownDump`, `unknownColumn` and
    ///   `badCondition` for what cannot be asked.
    public func dump(_ query: DumpQuery) throws(InspectionError) -> Dump {
        let plan = try DumpPlan(query)
        return try view(of: plan.description.streams) { try $0.dump(plan) }
    }
}

extension StoreView {
    /// Reads an aggregate: sums over the partitions.
    func dump(_ plan: DumpPlan) throws -> Dump {
        let rule = CampaignIDRule(plan.description.columns)
        var places: [RowKeyBytes: Int] = [:]
        var groups: [Group] = []
        try forEachRow(plan) { values, measures in
            var key = RowKeyBytes()
            for place in plan.places { key.append(values[place]) }
            let place = places[key] ?? groups.count
            if place == groups.count {
                places[key] = place
                groups.append(Group(key: key, columns: plan.places.map { values[$0] }))
            }
            groups[place].add(measures, rule.kind(values))
        }
        let isCounted = !plan.measures.isEmpty
        let rows = groups.filter { !isCounted || $0.sums.contains { $0 != 0 } }
            .sorted { $0.key < $1.key }
            .map { group in
                Dump.Row(
                    columns: group.columns, measures: isCounted ? group.sums : [],
                    campaignIDKinds: group.kinds)
            }
        return Dump(columns: plan.columns, measures: plan.measures, rows: rows)
    }

    /// Calls `body` with each row that is asked for, of every copy, with the values of all columns.
    private func forEachRow(
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
        try copy.snapshot.forEachRow(of: table, partitions: copy.numbers) { _, columns, measures in
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
                    if plan.includes(values, timeMilliseconds: time) { body(values, [1]) }
                }
                guard let last = refusals.last else { break }
                next = last.offset + 1
            }
        }
    }

    /// So many refused records are held at once: there may be as many of them as records.
    private static let refusalsAtOnce = 500
}

extension StoredRefusal {
    /// The values of the columns of a dump of refused records.
    func columns(topic: String) -> [StoredValue] {
        let hour = Hour(containing: timestampMilliseconds).text
        return [
            .text(topic), .integer(Int64(partition)), .integer(offset),
            .integer(timestampMilliseconds), .text(hour),
            .text(String(hour.prefix { $0 != "T" })), .text(type), .text(reason), .text(detail),
        ]
    }
}

/// Rows that are put together.
private struct Group {
    let key: RowKeyBytes
    let columns: [StoredValue]
    private(set) var sums: [Int128] = []
    private(set) var kinds: CampaignIDKinds = []

    init(key: RowKeyBytes, columns: [StoredValue]) {
        self.key = key
        self.columns = columns
    }

    /// Adds sums of 64 bits: no store holds so many of them that 128 would overflow.
    mutating func add(_ measures: [Int64], _ kind: CampaignIDKind) {
        kinds.insert(CampaignIDKinds(kind))
        if sums.isEmpty { sums = Array(repeating: 0, count: measures.count) }
        for index in sums.indices { sums[index] += Int128(measures[index]) }
    }
}
