import AggregateStore
import Pipelines

/// Puts rows together that are the same in the columns to show.
struct RowGroups {
    private let plan: DumpPlan
    private let rule: CampaignIDRule
    /// Place of the day, of rows that have one.
    private let dayPlace: Int?
    private var places: [RowKeyBytes: Int] = [:]
    private var groups: [Group] = []

    init(_ plan: DumpPlan) {
        self.plan = plan
        rule = CampaignIDRule(plan.description.columns)
        dayPlace = plan.description.columns.firstIndex { $0.name == "day" }
    }

    /// Adds a row.
    ///
    /// - Parameters:
    ///   - values: one for each of the description's columns.
    ///   - measures: sums of 64 bits, or products of two: no store holds so many of them that 128
    ///     would overflow.
    mutating func add<Measure: FixedWidthInteger>(_ values: [StoredValue], _ measures: [Measure]) {
        var key = RowKeyBytes()
        for place in plan.places { key.append(values[place]) }
        let place = places[key] ?? groups.count
        if place == groups.count {
            places[key] = place
            groups.append(Group(key: key, columns: plan.places.map { values[$0] }))
        }
        let kind = rule.kind(values)
        groups[place].add(measures, kind)
        if plan.notesMaturity, let dayPlace {
            groups[place].note(day: values[dayPlace].text, PostbackKinds(kind))
        }
    }

    /// The rows in order of their columns, without those of zeros.
    var dump: Dump {
        let isCounted = !plan.measures.isEmpty
        let rows = groups.filter { !isCounted || $0.sums.contains { $0 != 0 } }
            .sorted { $0.key < $1.key }
            .map { group in
                Dump.Row(
                    columns: group.columns, measures: isCounted ? group.sums : [],
                    campaignIDKinds: group.kinds, windows: group.windows)
            }
        return Dump(columns: plan.columns, measures: plan.measures, rows: rows)
    }
}

/// Rows that are put together.
private struct Group {
    let key: RowKeyBytes
    let columns: [StoredValue]
    private(set) var sums: [Int128] = []
    private(set) var kinds: CampaignIDKinds = []
    private(set) var windows: [String: PostbackKinds] = [:]

    init(key: RowKeyBytes, columns: [StoredValue]) {
        self.key = key
        self.columns = columns
    }

    mutating func add<Measure: FixedWidthInteger>(_ measures: [Measure], _ kind: CampaignIDKind) {
        kinds.insert(CampaignIDKinds(kind))
        if sums.isEmpty { sums = Array(repeating: 0, count: measures.count) }
        for index in sums.indices { sums[index] += Int128(measures[index]) }
    }

    mutating func note(day: String, _ kinds: PostbackKinds) {
        windows[day, default: []].formUnion(kinds)
    }
}
