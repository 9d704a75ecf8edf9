import AggregateStore
import Foundation
import Pipelines
import Streams

/// Groups rows that are equal in the shown columns.
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

/// Rows with the same key.
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

/// The values of a row's columns as bytes that sort as the values do: integers by value, texts by
/// their UTF-8 bytes. Large dumps are grouped and sorted by them.
struct RowKeyBytes: Hashable, Comparable {
    private var bytes: [UInt8] = []

    /// The key of these columns.
    init(_ values: [StoredValue] = []) {
        for value in values { append(value) }
    }

    /// The key of these columns in a partition.
    init(_ partition: Int32, _ values: some Sequence<StoredValue>) {
        append(.integer(Int64(partition)))
        for value in values { append(value) }
    }

    /// Appends the value of the next column.
    mutating func append(_ value: StoredValue) {
        switch value {
        case .integer(let integer):
            // Negative ones come first.
            let ordered = UInt64(bitPattern: integer) ^ 1 << 63
            withUnsafeBytes(of: ordered.bigEndian) { bytes.append(contentsOf: $0) }
        case .text(let text):
            for byte in text.utf8 {
                bytes.append(byte)
                if byte == 0 { bytes.append(0xFF) }
            }
            // Below whatever a longer text goes on with.
            bytes.append(0)
            bytes.append(1)
        }
    }

    func hash(into hasher: inout Hasher) {
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    }

    static func < (left: RowKeyBytes, right: RowKeyBytes) -> Bool {
        left.bytes.withUnsafeBytes { left in
            right.bytes.withUnsafeBytes { right in
                guard let start = left.baseAddress, let other = right.baseAddress else {
                    return left.count < right.count
                }
                let order = memcmp(start, other, min(left.count, right.count))
                return order != 0 ? order < 0 : left.count < right.count
            }
        }
    }
}

/// Reads the texts of an hour column, each once: there are few different ones.
struct HourColumn {
    private var known: [String: (milliseconds: Int64, day: String)] = [:]

    mutating func hour(_ text: String) -> (milliseconds: Int64, day: String) {
        if let hour = known[text] { return hour }
        // Years of five digits and more are later than whatever is asked for.
        let milliseconds = UTC.milliseconds(text: text) ?? .max
        let hour = (milliseconds, String(text.prefix { $0 != "T" }))
        known[text] = hour
        return hour
    }
}
