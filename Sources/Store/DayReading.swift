import DatabaseFiles
import Dispatch
import Foundation
import GRDB
import Streams

/// The keys of the rows to read.
enum WantedKeys: Sendable {
    case all
    /// So few that their rows are looked up one by one.
    case few([Int64])
    case many(Set<Int64>)

    /// Finding a row by its number takes about as long as reading this number of rows.
    private static let rowsASearch = 16

    init(_ keys: [Int64], of count: Int) {
        self = keys.count * Self.rowsASearch < count ? .few(keys) : .many(Set(keys))
    }
}

/// The wanted rows of slots.
struct SlotRows {
    /// Nil if the file lacks the aggregate.
    private let rows: StatementRow?
    private let layout: TableLayout
    private let keys: WantedKeys
    private let path: String

    init(
        of table: AggregateTable, _ keys: WantedKeys, _ db: Database, path: String
    ) throws {
        self.keys = keys
        self.path = path
        layout = try TableLayout(of: table, db)
        guard try db.tableExists("\(table.sqlName)_sums") else {
            rows = nil
            return
        }
        var condition = "number >= ?1 << 32 AND number < (?1 + 1) << 32"
        if case .few = keys { condition = "number = ?1 << 32 | ?2" }
        rows = StatementRow(
            try db.makeStatement(
                sql: """
                    SELECT \((["number & 4294967295"] + layout.measures).joined(separator: ", "))
                    FROM \(table.sqlName)_sums WHERE \(condition)
                    """))
    }

    /// Calls `body` with each wanted row of a slot: its key, and its measures.
    func forEach(in slot: Int64, _ body: (StatementRow) throws -> Void) throws {
        switch keys {
        case .all: try read(slot, key: nil, body)
        case .few(let keys): for key in keys { try read(slot, key: key, body) }
        case .many(let keys):
            try read(slot, key: nil) { row in
                if keys.contains(row.integer(0)) { try body(row) }
            }
        }
    }

    /// The sums of a row that `forEach` has passed.
    func sums(of row: StatementRow) -> StoredSums {
        StoredSums(layout.measures.indices.map { row.integer($0 + 1) }, unknown: unknown(in: row))
    }

    /// The unknown sums of a row, as bits.
    func unknown(in row: StatementRow) -> UInt64 {
        var unknown: UInt64 = 0
        var rest = layout.unknowable
        while rest != 0 {
            let index = rest.trailingZeroBitCount
            rest &= rest - 1
            if row.isNull(index + 1) { unknown |= 1 << UInt64(index) }
        }
        return unknown
    }

    private func read(
        _ slot: Int64, key: Int64?, _ body: (StatementRow) throws -> Void
    ) throws {
        guard let rows else { return }
        rows.begin()
        rows.bind(slot)
        if let key { rows.bind(key) }
        while try StoreError.naming("read", path, rows.next) { try body(rows) }
    }
}

/// The sums of a day's rows by key number.
package struct DaySums: Sendable {
    private let measureCount: Int
    /// For each key the position of its sums, from 1; otherwise 0.
    private var starts: [Int32] = []
    /// The keys of the sums; one may have several.
    package private(set) var keys: [Int64] = []
    /// The slots with rows.
    private(set) var slots: [Int64] = []
    private var sums: [Int64] = []
    /// The unknown sums of each key, as bits.
    private var unknown: [UInt64] = []

    init(of slots: [Int64], _ rows: SlotRows, measureCount: Int) throws {
        self.measureCount = measureCount
        for slot in slots {
            try rows.forEach(in: slot) { row in
                add(row, unknown: rows.unknown(in: row))
                if self.slots.last != slot { self.slots.append(slot) }
            }
        }
        starts = []
    }

    /// Calls `body` with the sums of each key as borrowed memory: the amounts, and the unknown ones as bits.
    package func forEachBorrowed(
        _ body: (_ key: Int64, _ amounts: UnsafeBufferPointer<Int64>, _ unknown: UInt64)
            throws -> Void
    ) rethrows {
        try sums.withUnsafeBufferPointer { sums in
            for (index, key) in keys.enumerated() {
                let start = index * measureCount
                let amounts = UnsafeBufferPointer(rebasing: sums[start..<start + measureCount])
                try body(key, amounts, unknown[index])
            }
        }
    }

    /// Calls `body` with the sums of each key, or with several for a key if a sum would not fit 64 bits.
    package func forEach(_ body: (_ key: Int64, _ sums: StoredSums) throws -> Void) rethrows {
        for (index, key) in keys.enumerated() {
            let amounts = Array(sums[index * measureCount..<(index + 1) * measureCount])
            try body(key, StoredSums(amounts, unknown: unknown[index]))
        }
    }

    private mutating func add(_ row: StatementRow, unknown bits: UInt64) {
        let number = Int(row.integer(0))
        while starts.count <= number { starts.append(0) }
        if starts[number] == 0 { return begin(row, number, unknown: bits) }
        let index = Int(starts[number]) - 1
        unknown[index] |= bits
        let start = index * measureCount
        for measure in 0..<measureCount {
            let (sum, overflow) = sums[start + measure]
                .addingReportingOverflow(row.integer(measure + 1))
            sums[start + measure] = sum
            guard overflow else { continue }
            for added in 0...measure { sums[start + added] &-= row.integer(added + 1) }
            return begin(row, number, unknown: bits)
        }
    }

    /// Begins sums with those of a row.
    private mutating func begin(_ row: StatementRow, _ number: Int, unknown bits: UInt64) {
        keys.append(row.integer(0))
        unknown.append(bits)
        starts[number] = Int32(keys.count)
        for measure in 0..<measureCount { sums.append(row.integer(measure + 1)) }
    }
}

/// Adds up the rows of days. Other threads read the next days while one is taken.
///
/// The other threads have their own connections. They read only if they see the same state of the same file; the
/// taker reads the rest.
///
/// `@unchecked Sendable`: `condition` guards all mutable state.
final class DayReading: @unchecked Sendable {
    /// With fewer rows, additional connections cost more than they save.
    private static let rowsWorthIt = 200_000

    fileprivate enum Day {
        case waiting, underWay
        case read(DaySums)
        case taken
    }

    private let table: AggregateTable
    private let wanted: WantedKeys
    /// Numbers of the slots of each day.
    private let slots: [[Int64]]
    private let path: String
    private let threadCount = max(1, ProcessInfo.processInfo.activeProcessorCount - 1)
    private let group = DispatchGroup()
    private let condition = NSCondition()
    private var days: [Day]
    /// The last day that was taken.
    private var taken = 0
    private var isOver = false

    init(of table: AggregateTable, _ wanted: WantedKeys, days: [[Int64]], path: String) {
        self.table = table
        self.wanted = wanted
        slots = days
        self.path = path
        self.days = days.map { _ in .waiting }
    }

    /// Whether there are enough rows, of this number of keys, to share them among threads.
    func isLong(keys: Int) -> Bool {
        if case .few = wanted { return false }
        return slots.count > 1 && slots.reduce(0) { $0 + $1.count } * keys > Self.rowsWorthIt
    }

    /// Begins to read on other threads.
    ///
    /// - Parameter db: the taker's connection, within a transaction.
    func readBeside(_ db: Database) {
        // If the file is not in place, the others would open a different one.
        guard let file = FileIdentity(path), (try? CheckedPages.requireInPlace(db)) != nil,
            let state = try? StoreReader.partitionStates(db)
        else { return }
        for _ in 0..<threadCount {
            group.enter()
            // A new thread inherits the priority of its creator.
            Thread.detachNewThread {
                self.read(file, state)
                self.group.leave()
            }
        }
    }

    /// A commit that changes a sum also changes the progress of the partitions.
    private func read(_ file: FileIdentity, _ state: [PartitionState]) {
        try? CheckedPages.openToRead(path).read { db in
            guard try StoreReader.partitionStates(db) == state else { return }
            try CheckedPages.requireInPlace(db)
            guard FileIdentity(path) == file else { return }
            let rows = try SlotRows(of: table, wanted, db, path: path)
            while let day = claim(orWait: true), read(day, rows) {}
        }
    }

    /// Claims the next unclaimed day within the read-ahead.
    ///
    /// - Parameter orWait: whether to wait for one; then nil means the end.
    private func claim(orWait: Bool) -> Int? {
        condition.withLock { () -> Int? in
            while !isOver {
                let ahead = taken + 1..<min(taken + 3 + threadCount, days.count)
                guard !ahead.isEmpty else { return nil }
                if let day = ahead.first(where: { days[$0].isWaiting }) {
                    days[day] = .underWay
                    return day
                }
                guard orWait else { return nil }
                condition.wait()
            }
            return nil
        }
    }

    /// Reads a claimed day; false on a failure, and then the taker reads it.
    private func read(_ day: Int, _ rows: SlotRows) -> Bool {
        let sums = try? DaySums(of: slots[day], rows, measureCount: table.measures.count)
        condition.withLock {
            days[day] = sums.map { .read($0) } ?? .waiting
            condition.broadcast()
        }
        return sums != nil
    }

    /// The sums of a day; call it with each day in order.
    ///
    /// - Parameter rows: those of the taker's connection.
    func take(_ day: Int, _ rows: SlotRows) throws -> DaySums {
        condition.withLock {
            taken = day
            condition.broadcast()
        }
        // While another thread reads the day, this one reads a later day.
        while isUnderWay(day), let other = claim(orWait: false), read(other, rows) {}
        let cached: DaySums? = condition.withLock {
            while days[day].isUnderWay { condition.wait() }
            defer { days[day] = .taken }
            if case .read(let sums) = days[day] { return sums }
            return nil
        }
        return try cached ?? DaySums(of: slots[day], rows, measureCount: table.measures.count)
    }

    private func isUnderWay(_ day: Int) -> Bool { condition.withLock { days[day].isUnderWay } }

    /// Waits until all other threads have stopped.
    func end() {
        condition.withLock {
            isOver = true
            condition.broadcast()
        }
        group.wait()
    }
}

extension DayReading.Day {
    fileprivate var isWaiting: Bool { if case .waiting = self { true } else { false } }

    fileprivate var isUnderWay: Bool { if case .underWay = self { true } else { false } }
}

/// Distinguishes a file from another one at the same path.
private struct FileIdentity: Equatable {
    private let device: UInt
    private let inode: UInt

    /// Nil if the file is missing.
    init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        device = UInt(status.st_dev)
        inode = UInt(status.st_ino)
    }
}
