import GRDB
import Streams

// The index of explanations: for each row of an aggregate, the offsets of the records that added to it.
//
// A block of `contributions` has groups, each with a row's key, measures, and the offsets of the records that added to
// exactly these measures of the row. All numbers are unsigned LEB128. First the number of groups and the smallest
// offset. Then, for each group in order of keys and measures: the key minus the previous one, the measures as bits,
// and the length of its list in bytes. Then the lists. An item of a list is twice the number of skipped offsets, from
// the block's smallest on; if its lowest bit is set, a run of offsets begins, and the length of the run minus 2
// follows.

extension StoreSchema {
    static let contributions = "contributions"

    static let contributionsSchema = """
        CREATE TABLE \(contributions) (
          -- For rows of aggregates, the offsets of the records that added to them: docs/reference/stores.md
          slot INTEGER NOT NULL, -- of the rows
          aggregate TEXT NOT NULL, -- name of the dump
          block INTEGER NOT NULL, -- counts up; a small one also takes what follows
          partition INTEGER NOT NULL,
          last_hour INTEGER NOT NULL, -- latest hour of these records, hours since 1970: older blocks are deleted
          records INTEGER NOT NULL, -- sum of the lengths of all lists
          lists BLOB NOT NULL,
          PRIMARY KEY (slot, aggregate, block)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX contributions_by_hour ON \(contributions) (partition, last_hour);

        """
}

/// The records that added to the rows of one slot, row by row.
struct ContributionGroups {
    struct Group {
        var key: Int64
        /// As bits in the order of the file's columns, and `AddedMeasures.negative`.
        var measures: UInt64
        /// The end of its runs in `runs`.
        var end: Int
    }

    private(set) var groups: [Group] = []
    /// Within a group in order, and apart from each other.
    private(set) var runs: [OffsetRun] = []
    // Of one row, from its last record to its first.
    private var rowRuns: [OffsetRun] = []
    private var rowMeasures: [UInt64] = []
    private var differentMeasures: [UInt64] = []

    var isEmpty: Bool { groups.isEmpty }

    /// The sum of the lengths of all lists.
    var count: Int64 { runs.reduce(0) { $0 + Int64($1.count) } }

    mutating func removeAll() {
        groups.removeAll(keepingCapacity: true)
        runs.removeAll(keepingCapacity: true)
    }

    /// Begins a group after all others in order of keys and measures.
    private mutating func begin(_ key: Int64, _ measures: UInt64) {
        groups.append(Group(key: key, measures: measures, end: runs.count))
    }

    /// Adds a run to the last group, where no other begins later.
    @inline(__always)
    private mutating func append(_ run: OffsetRun) {
        let start = groups.count > 1 ? groups[groups.count - 2].end : 0
        if runs.count > start, let last = runs.last, run.first <= last.end {
            let end = max(last.end, run.end)
            runs[runs.count - 1] = OffsetRun(first: last.first, count: Int(end - last.first))
        } else {
            runs.append(run)
        }
        groups[groups.count - 1].end = runs.count
    }

    /// Adds the records of a row with a key that is larger than all others.
    ///
    /// - Parameter bits: for each measure of the table its bit in the file; nil if they are the same.
    mutating func add(_ key: Int64, ofRow row: Int, in deltas: Deltas, bits: [UInt64]?) {
        rowRuns.removeAll(keepingCapacity: true)
        rowMeasures.removeAll(keepingCapacity: true)
        differentMeasures.removeAll(keepingCapacity: true)
        deltas.forEachContribution(toRow: row) { first, count, added in
            rowRuns.append(OffsetRun(first: first, count: count))
            let measures = bits.map { Self.bits(added, $0) } ?? added.rawValue
            if rowMeasures.last != measures, !differentMeasures.contains(measures) {
                differentMeasures.append(measures)
            }
            rowMeasures.append(measures)
        }
        differentMeasures.sort()
        for measures in differentMeasures {
            begin(key, measures)
            for index in rowRuns.indices.reversed() where rowMeasures[index] == measures {
                append(rowRuns[index])
            }
        }
    }

    private static func bits(_ added: AddedMeasures, _ bits: [UInt64]) -> UInt64 {
        bits.indices.reduce(added.rawValue & AddedMeasures.negative.rawValue) { result, measure in
            added.contains(AddedMeasures(measure: measure)) ? result | bits[measure] : result
        }
    }

    /// These groups and others, each offset of a group once.
    func merging(_ other: ContributionGroups) -> ContributionGroups {
        var merged = ContributionGroups()
        var (left, right) = (0, 0)
        func isBefore(_ group: Group, _ other: Group) -> Bool {
            (group.key, group.measures) < (other.key, other.measures)
        }
        while left < groups.count || right < other.groups.count {
            let takesLeft =
                right == other.groups.count
                || (left < groups.count && !isBefore(other.groups[right], groups[left]))
            let takesRight =
                left == groups.count
                || (right < other.groups.count && !isBefore(groups[left], other.groups[right]))
            let group = takesLeft ? groups[left] : other.groups[right]
            merged.begin(group.key, group.measures)
            merged.append(
                merging: takesLeft ? slice(left) : [], takesRight ? other.slice(right) : [])
            if takesLeft { left += 1 }
            if takesRight { right += 1 }
        }
        return merged
    }

    /// The same groups under other keys, which are different for different ones.
    func mapping(_ newKey: (Int64) -> Int64?) -> ContributionGroups? {
        var order: [(key: Int64, measures: UInt64, index: Int)] = []
        for (index, group) in groups.enumerated() {
            guard let key = newKey(group.key) else { return nil }
            order.append((key, group.measures, index))
        }
        order.sort { ($0.key, $0.measures) < ($1.key, $1.measures) }
        var mapped = ContributionGroups()
        for (key, measures, index) in order {
            mapped.begin(key, measures)
            for run in slice(index) { mapped.append(run) }
        }
        return mapped
    }

    private mutating func append(
        merging one: ArraySlice<OffsetRun>, _ two: ArraySlice<OffsetRun>
    ) {
        var (left, right) = (one.startIndex, two.startIndex)
        while left < one.endIndex || right < two.endIndex {
            let takesLeft =
                right == two.endIndex
                || (left < one.endIndex && one[left].first <= two[right].first)
            append(takesLeft ? one[left] : two[right])
            if takesLeft { left += 1 } else { right += 1 }
        }
    }

    private func slice(_ index: Int) -> ArraySlice<OffsetRun> {
        runs[(index == 0 ? 0 : groups[index - 1].end)..<groups[index].end]
    }

    /// The content of a block.
    func encoded() -> [UInt8] {
        let base = runs.lazy.map(\.first).min() ?? 0
        var (directory, lists) = (NumberWriter(), NumberWriter())
        directory.append(UInt64(groups.count))
        directory.append(UInt64(bitPattern: base))
        var (key, start) = (Int64(0), 0)
        for group in groups {
            let before = lists.bytes.count
            var next = base
            for run in runs[start..<group.end] {
                let skipped = UInt64(run.first - next) << 1
                if run.count > 1 {
                    lists.append(skipped | 1)
                    lists.append(UInt64(run.count - 2))
                } else {
                    lists.append(skipped)
                }
                next = run.end
            }
            directory.append(UInt64(group.key - key))
            directory.append(group.measures.rotatedLeft)
            directory.append(UInt64(lists.bytes.count - before))
            (key, start) = (group.key, group.end)
        }
        return directory.bytes + lists.bytes
    }

    init() {}

    /// Reads a block; nil if it is damaged.
    init?(_ block: [UInt8]) {
        let isRead = ContributionBlock.read(block) { group in
            begin(group.key, group.measures)
            return group.forEachRun { append(OffsetRun(first: $0, count: $1)) }
        }
        guard isRead else { return nil }
    }
}

extension UInt64 {
    /// The highest bit as the lowest one, so that small numbers stay short.
    fileprivate var rotatedLeft: UInt64 { self << 1 | self >> 63 }

    fileprivate var rotatedRight: UInt64 { self >> 1 | self << 63 }
}

/// Writes unsigned numbers, with 7 bits in each byte.
private struct NumberWriter {
    var bytes: [UInt8] = []

    @inline(__always)
    mutating func append(_ number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }
}

/// Reads what `NumberWriter` wrote.
private struct NumberReader {
    let bytes: UnsafeBufferPointer<UInt8>
    var position: Int
    let end: Int

    @inline(__always)
    mutating func next() -> UInt64? {
        var (number, shift) = (UInt64(0), UInt64(0))
        while position < end, shift < 64 {
            let byte = bytes[position]
            position += 1
            number |= UInt64(byte & 0x7F) << shift
            if byte & 0x80 == 0 { return number }
            shift += 7
        }
        return nil
    }
}

/// A block of contributions in a file.
enum ContributionBlock {
    /// A block below this size also takes the next batch's contributions.
    static let sharedBytes = 4096

    /// A row's records that added to the same measures.
    struct Group {
        let key: Int64
        /// As bits in the order of the file's columns, and `AddedMeasures.negative`.
        let measures: UInt64
        fileprivate let base: Int64
        fileprivate let list: NumberReader

        /// Calls `body` with each run of consecutive offsets, in order. Returns false for a damaged list.
        @inline(__always)
        func forEachRun(_ body: (_ first: Int64, _ count: Int) -> Void) -> Bool {
            var list = list
            var next = base
            while list.position < list.end {
                guard let item = list.next() else { return false }
                var count: UInt64 = 1
                if item & 1 == 1 {
                    guard let more = list.next(), more < 1 << 40 else { return false }
                    count = more + 2
                }
                let (first, isLarge) = next.addingReportingOverflow(Int64(item >> 1))
                guard !isLarge, first <= .max - Int64(count) else { return false }
                body(first, Int(count))
                next = first + Int64(count)
            }
            return true
        }
    }

    /// Calls `body` with each group, in order of keys, until it returns false. Returns false then, and for a damaged
    /// block.
    static func read(_ block: [UInt8], _ body: (Group) -> Bool) -> Bool {
        block.withUnsafeBufferPointer { bytes in
            var directory = NumberReader(bytes: bytes, position: 0, end: bytes.count)
            guard let count = directory.next(), let base = directory.next(), base <= Int64.max,
                count <= bytes.count
            else { return false }
            // The lists begin after the directory, whose end is known once it is read.
            var lists = directory
            for _ in 0..<3 * count { guard lists.next() != nil else { return false } }
            var (start, key) = (lists.position, UInt64(0))
            for _ in 0..<count {
                guard let step = directory.next(), let measures = directory.next(),
                    let length = directory.next(), length <= bytes.count - start
                else { return false }
                key &+= step
                let end = start + Int(length)
                guard key < 1 << RowNumbers.keyBits else { return false }
                let group = Group(
                    key: Int64(key), measures: measures.rotatedRight, base: Int64(base),
                    list: NumberReader(bytes: bytes, position: start, end: end))
                guard body(group) else { return false }
                start = end
            }
            return start == bytes.count
        }
    }
}

extension StoreSnapshot {
    /// The slots of some hours of a partition, if the index has all records of these hours; otherwise nil.
    package func explainedSlots(
        of hours: [HourRange], partition: Int32
    ) throws -> [Int64]? {
        guard try db.tableExists(StoreSchema.contributions) else { return nil }
        let slots = try Dictionary(
            slots(of: partition).map { ($0.hour, $0.slot) }, uniquingKeysWith: { first, _ in first }
        )
        // Every record adds to one row of this table.
        let statement = StatementRow(
            try db.cachedStatement(
                sql: """
                    SELECT coalesce(sum(records), 0) FROM contributions
                    WHERE slot = ? AND aggregate = '\(OutcomeKey.table.name)'
                    """))
        var explained: [Int64] = []
        for range in hours {
            guard let slot = slots[range.hour.text] else { return nil }
            statement.begin()
            statement.bind(slot)
            guard try statement.stepForInteger() == range.records else { return nil }
            explained.append(slot)
        }
        return explained
    }

    /// The index of the rows of an aggregate.
    package func contributions(of table: AggregateTable) throws -> ContributionReading {
        try ContributionReading(of: table, db, path: path)
    }
}

/// Consecutive offsets of a partition.
package struct OffsetRun: Sendable {
    package let first: Int64
    package let count: Int

    /// The offset after the last one.
    package var end: Int64 { first + Int64(count) }

    package init(first: Int64, count: Int) {
        self.first = first
        self.count = count
    }
}

/// Reads which records added to rows of an aggregate.
package final class ContributionReading {
    private let name: String
    private let path: String
    /// As of `TableLayout`.
    private let bits: [UInt64]?
    private let blocks: StatementRow

    fileprivate init(of table: AggregateTable, _ db: Database, path: String) throws {
        name = table.name
        self.path = path
        bits = try TableLayout(of: table, db).bits
        blocks = StatementRow(
            try db.makeStatement(
                sql: """
                    SELECT lists FROM contributions WHERE slot = ? AND aggregate = ? ORDER BY block
                    """))
    }

    /// Calls `body` with the records that added to rows of a slot, in order of their keys: the row's key, the measures
    /// to which each of the records added, and the runs of their offsets, in order.
    ///
    /// - Parameter isWanted: whether to read the records that added to these measures of a row.
    /// - Throws: `StoreError.damaged`.
    package func forEach(
        inSlot slot: Int64, where isWanted: (_ key: Int64, _ measures: AddedMeasures) -> Bool,
        _ body: (_ key: Int64, _ measures: AddedMeasures, _ runs: ArraySlice<OffsetRun>) -> Void
    ) throws {
        var runs: [OffsetRun] = []
        blocks.begin()
        blocks.bind(slot)
        blocks.bind(name)
        while try StoreError.naming("read", path, blocks.next) {
            let isWhole = ContributionBlock.read(blocks.bytes(0)) { group in
                let measures = measures(group.measures)
                guard isWanted(group.key, measures) else { return true }
                runs.removeAll(keepingCapacity: true)
                guard group.forEachRun({ runs.append(OffsetRun(first: $0, count: $1)) })
                else { return false }
                body(group.key, measures, runs[...])
                return true
            }
            guard isWhole else {
                throw StoreError.damaged(
                    path: path, detail: "contributions of \(name) in slot \(slot)")
            }
        }
    }

    private func measures(_ stored: UInt64) -> AddedMeasures {
        guard let bits else { return AddedMeasures(rawValue: stored) }
        let sign = AddedMeasures(rawValue: stored).intersection(.negative)
        return bits.indices.reduce(into: sign) { result, measure in
            if bits[measure] & stored != 0 { result.formUnion(AddedMeasures(measure: measure)) }
        }
    }
}
