import Synchronization

/// A part of a partition in a store. A snapshot copies it as a whole, and only if it has changed since the one before.
package enum Segment: Hashable, Sendable {
    /// The rows of a day in UTC: of aggregates, of their index of explanations, and the offsets of hours. Empty for
    /// rows without a day.
    case day(String)
    /// What is stored by offset, for a range of offsets: refused records, answers of the memory, and ids.
    case records(SegmentRange)
    /// The documents for partners in a range of sequences.
    case documents(SegmentRange)
    /// The keys of aggregates in a range of their numbers. Keys of other partitions may be among them.
    case keys(SegmentRange)
    /// Permanent memory that is not stored by offset.
    case memory
    /// How far the partition is folded, and its configurations.
    case state

    /// The name in files and manifests.
    package var name: String {
        switch self {
        case .day(let day): "day-\(day.isEmpty ? "none" : day)"
        case .records(let range): "records-\(range.name)"
        case .documents(let range): "documents-\(range.name)"
        case .keys(let range): "keys-\(range.name)"
        case .memory: "memory"
        case .state: "state"
        }
    }

    /// Reads a name; nil for one of another version.
    init?(name: String) {
        let parts = name.split(separator: "-", maxSplits: 1).map(String.init)
        switch (parts.first, parts.count > 1 ? parts[1] : nil) {
        case ("day", let day?): self = .day(day == "none" ? "" : day)
        case ("records", let range?):
            guard let range = SegmentRange(name: range) else { return nil }
            self = .records(range)
        case ("documents", let range?):
            guard let range = SegmentRange(name: range) else { return nil }
            self = .documents(range)
        case ("keys", let range?):
            guard let range = SegmentRange(name: range) else { return nil }
            self = .keys(range)
        case ("memory", nil): self = .memory
        case ("state", nil): self = .state
        default: return nil
        }
    }

    /// The day of an hour, or of a day, that a store has as text.
    static func day(ofHour text: String) -> Segment { .day(String(text.prefix { $0 != "T" })) }
}

/// A range of numbers that ascend with the log. Past numbers are in long ranges, which hardly change any more.
package struct SegmentRange: Hashable, Sendable {
    private static let long: Int64 = 1 << 20
    private static let short: Int64 = 1 << 16

    let first: Int64
    /// Exclusive.
    let end: Int64

    fileprivate var name: String { "\(first)-\(end)" }

    private init(first: Int64, end: Int64) {
        self.first = first
        self.end = end
    }

    fileprivate init?(name: String) {
        let bounds = name.split(separator: "-").map { Int64($0) }
        guard bounds.count == 2, let first = bounds[0], let end = bounds[1] else { return nil }
        self.init(first: first, end: end)
    }

    /// The ranges that cover the numbers from `first` up to `end`, which is exclusive.
    static func covering(_ first: Int64, _ end: Int64) -> [SegmentRange] {
        var ranges: [SegmentRange] = []
        var start = first / long * long
        let lastLong = end / long * long
        while start < lastLong {
            ranges.append(SegmentRange(first: start, end: start + long))
            start += long
        }
        while start < end {
            ranges.append(SegmentRange(first: start, end: start + short))
            start += short
        }
        return ranges.filter { $0.end > first }
    }

    func contains(_ number: Int64) -> Bool { number >= first && number < end }

    /// The first number of the short range with a number.
    static func short(containing number: Int64) -> Int64 { number / short * short }
}

/// Which segments of a partition have changed: for each, the offset that the partition reached with its last change.
struct ChangedSegments: Sendable {
    private var days: [String: Int64] = [:]
    /// Short ranges of offsets, by their first number.
    private var records: [Int64: Int64] = [:]
    private var memory: Int64?

    mutating func note(day: String, at next: Int64) { days[day] = max(days[day] ?? next, next) }

    mutating func note(offset: Int64, at next: Int64) {
        let first = SegmentRange.short(containing: offset)
        records[first] = max(records[first] ?? next, next)
    }

    mutating func noteMemory(at next: Int64) { memory = max(memory ?? next, next) }

    mutating func merge(_ other: ChangedSegments) {
        days.merge(other.days) { max($0, $1) }
        records.merge(other.records) { max($0, $1) }
        memory = [memory, other.memory].compactMap { $0 }.max()
    }

    /// Forgets changes that are part of a snapshot at an offset.
    mutating func forget(through next: Int64) {
        days = days.filter { $0.value > next }
        records = records.filter { $0.value > next }
        memory = memory.flatMap { $0 > next ? $0 : nil }
    }

    /// Whether a segment has changed, of a kind whose changes are noted.
    func contains(_ segment: Segment) -> Bool {
        switch segment {
        case .day(let day): days[day] != nil
        case .records(let range): records.keys.contains { range.contains($0) }
        case .memory: memory != nil
        case .documents, .keys, .state: true
        }
    }
}

/// The changed segments of the partitions of a store. Its worker notes changes before it commits them, and another
/// thread takes snapshots.
package final class SegmentChanges: Sendable {
    private let partitions = Mutex<[Int32: ChangedSegments]>([:])

    func note(_ changes: [Int32: ChangedSegments]) {
        partitions.withLock { partitions in
            for (partition, changes) in changes {
                partitions[partition, default: ChangedSegments()].merge(changes)
            }
        }
    }

    func changes(of partition: Int32) -> ChangedSegments {
        partitions.withLock { $0[partition] ?? ChangedSegments() }
    }

    /// Forgets the changes of a partition that a snapshot at an offset contains.
    func forget(_ partition: Int32, through next: Int64) {
        partitions.withLock { $0[partition]?.forget(through: next) }
    }
}
