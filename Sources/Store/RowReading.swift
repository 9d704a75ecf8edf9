import GRDB
import Streams

/// Identifies a row of an aggregate in one store.
package struct RowNumber: Hashable, Sendable {
    package let slot: Int64
    package let key: Int64
}

/// The rows of an aggregate to read.
package struct RowChoice {
    /// Whether to read the rows of an hour.
    package var isHourWanted: (String) -> Bool
    /// Whether to read rows with these columns (their time is empty); nil for all.
    package var isKeyWanted: (([StoredValue]) -> Bool)?

    /// All rows by default.
    package init(
        isHourWanted: @escaping (String) -> Bool = { _ in true },
        isKeyWanted: (([StoredValue]) -> Bool)? = nil
    ) {
        self.isHourWanted = isHourWanted
        self.isKeyWanted = isKeyWanted
    }
}

/// Reads the rows of aggregates in one state of a store.
final class RowReading {
    private typealias Slot = (number: Int64, partition: Int32)
    /// One of the day's hours, and the slots of all.
    private typealias Day = (hour: String, slots: [Int64])

    private let db: Database
    private let path: String
    /// The hours of the store with their slots, once read.
    private var cachedHours: [(text: String, slots: [Slot])]?
    /// The positions of the hours in `cachedHours`.
    private var hourIndices: [String: Int] = [:]
    private var tables: [String: AggregateKeys] = [:]

    init(_ db: Database, path: String) {
        self.db = db
        self.path = path
    }

    /// The hours with rows, each with its number in each partition.
    func hours() throws -> [(text: String, slots: [(number: Int64, partition: Int32)])] {
        if let cachedHours { return cachedHours }
        var hours: [(text: String, slots: [Slot])] = []
        let row = StatementRow(
            try db.cachedStatement(sql: "SELECT hour, slot, partition FROM slots ORDER BY hour"))
        row.begin()
        while try StoreError.naming("read", path, row.next) {
            let slot: Slot = (row.integer(1), Int32(row.integer(2)))
            let text = row.text(0)
            if hours.last?.text == text {
                hours[hours.count - 1].slots.append(slot)
            } else {
                hours.append((text, [slot]))
            }
        }
        cachedHours = hours
        for (index, hour) in hours.enumerated() { hourIndices[hour.text] = index }
        return hours
    }

    /// Calls `body` with each key of an aggregate and its columns, with an empty time.
    func forEachKey(
        of table: AggregateTable, _ body: (_ key: Int64, _ columns: [StoredValue]) throws -> Void
    ) throws {
        try keys(of: table).forEach(body)
    }

    /// Calls `body` with the key of each row of an hour, and its measures.
    func forEach(
        of table: AggregateTable, partitions: Set<Int32>, inHour hour: String,
        _ body: (_ key: Int64, _ sums: StoredSums) throws -> Void
    ) throws {
        let hours = try hours()
        guard let index = hourIndices[hour] else { return }
        let keys = try keys(of: table)
        let rows = try SlotRows(of: table, .all, db, path: path)
        for slot in hours[index].slots where partitions.contains(slot.partition) {
            try rows.forEach(in: slot.number) { row in
                try keys.require(row.integer(0))
                try body(row.integer(0), rows.sums(of: row))
            }
        }
    }

    func forEach(
        of table: AggregateTable, partitions: Set<Int32>, _ choice: RowChoice,
        _ body: (
            _ number: RowNumber, _ partition: Int32, _ columns: [StoredValue], _ sums: StoredSums
        ) throws -> Void
    ) throws {
        let keys = try keys(of: table)
        let rows = try SlotRows(of: table, keys.wanted(by: choice), db, path: path)
        for hour in try hours() where choice.isHourWanted(hour.text) {
            let time = Self.time(of: hour.text, in: table)
            for slot in hour.slots where partitions.contains(slot.partition) {
                try rows.forEach(in: slot.number) { row in
                    let columns = try keys.columns(ofKey: row.integer(0), time: time)
                    try body(
                        RowNumber(slot: slot.number, key: row.integer(0)), slot.partition, columns,
                        rows.sums(of: row))
                }
            }
        }
    }

    /// Calls `body` with the sums of each day's rows that differ only in hour and partition: one of the day's hours, and
    /// the sums by key. If a sum would not fit 64 bits, there are several.
    func forEachDay(
        of table: AggregateTable, partitions: Set<Int32>, _ choice: RowChoice,
        by ownDay: ((_ hour: String) -> String)?,
        _ body: (
            _ hour: String, _ sums: DaySums, _ columns: (_ key: Int64) throws -> [StoredValue]
        ) throws -> Void
    ) throws {
        let keys = try keys(of: table)
        // In order of their texts, so that the hours of a day are adjacent. A text without a day has an empty one.
        var days: [Day] = []
        let ownDay = table.hasDays ? nil : ownDay
        var last: String?
        for hour in try hours() where choice.isHourWanted(hour.text) {
            let name = ownDay?(hour.text) ?? String(Self.day(of: hour.text))
            if last != name { days.append((hour.text, [])) }
            last = name
            days[days.count - 1].slots += hour.slots.filter { partitions.contains($0.partition) }
                .map(\.number)
        }
        try forEachDay(of: table, keys.wanted(by: choice), days) { hour, sums in
            let time = Self.time(of: hour, in: table)
            try body(hour, sums) { try keys.columns(ofKey: $0, time: time) }
        }
    }

    /// Calls `body` with the sums of each day's rows of some keys in one partition.
    ///
    /// - Parameters:
    ///   - isHourWanted: whether to read the rows of an hour.
    ///   - isKeyWanted: whether to read the rows of a key.
    ///   - body: gets the hours and slots with such rows, and the sums.
    /// - Throws: `damaged` for rows without a key.
    func forEachDay(
        of table: AggregateTable, partition: Int32, isHourWanted: (String) -> Bool,
        isKeyWanted: (Int64) -> Bool,
        _ body: (_ slots: [(hour: String, slot: Int64)], _ sums: DaySums) throws -> Void
    ) throws {
        let keys = try keys(of: table)
        let numbers = try keys.numbers()
        let wanted = numbers.filter(isKeyWanted)
        let isEvery = wanted.count == numbers.count
        guard isEvery || !wanted.isEmpty else { return }
        var days: [Day] = []
        var texts: [Int64: String] = [:]
        for hour in try hours() where isHourWanted(hour.text) {
            let slots = hour.slots.filter { $0.partition == partition }.map(\.number)
            for slot in slots { texts[slot] = hour.text }
            if days.last.map({ Self.day(of: $0.hour) != Self.day(of: hour.text) }) ?? true {
                days.append((hour.text, []))
            }
            days[days.count - 1].slots += slots
        }
        let known = isEvery ? Set(numbers) : []
        try forEachDay(
            of: table, isEvery ? .all : WantedKeys(wanted, of: numbers.count), days
        ) { _, sums in
            if isEvery { for key in sums.keys where !known.contains(key) { try keys.require(key) } }
            try body(sums.slots.map { (texts[$0] ?? "", $0) }, sums)
        }
    }

    /// Calls `body` with the sums of each day.
    private func forEachDay(
        of table: AggregateTable, _ wanted: WantedKeys, _ days: [Day],
        _ body: (_ hour: String, _ sums: DaySums) throws -> Void
    ) throws {
        let days = days.filter { !$0.slots.isEmpty }
        let reading = DayReading(of: table, wanted, days: days.map(\.slots), path: path)
        if try reading.isLong(keys: keys(of: table).count()) { reading.readBeside(db) }
        defer { reading.end() }
        let rows = try SlotRows(of: table, wanted, db, path: path)
        for (index, day) in days.enumerated() { try body(day.hour, reading.take(index, rows)) }
    }

    private static func time(of hour: String, in table: AggregateTable) -> StoredValue {
        .text(table.hasDays ? String(day(of: hour)) : hour)
    }

    private static func day(of hour: String) -> Substring { hour.prefix { $0 != "T" } }

    private func keys(of table: AggregateTable) throws -> AggregateKeys {
        let name = "\(table.name) \(table.columns.map(\.name))"
        if let cached = tables[name] { return cached }
        let keys = try AggregateKeys(table, db, path: path)
        tables[name] = keys
        return keys
    }
}

/// The keys of an aggregate's rows, each read at its first row.
private final class AggregateKeys {
    private let table: AggregateTable
    private let path: String
    private let kinds: [AggregateTable.ColumnKind]
    /// The index of the hour or day column, which belongs to the slot.
    private let timeIndex: Int?
    private let db: Database
    /// What to select from the keys; nil if the file lacks the aggregate.
    private let selected: String?
    private let row: StatementRow?
    private var cached: [Int64: [StoredValue]] = [:]
    /// The most cached keys; about fifty megabytes.
    private static let mostCached = 100_000

    init(_ table: AggregateTable, _ db: Database, path: String) throws {
        self.table = table
        self.path = path
        self.db = db
        kinds = table.columns.map(\.kind)
        timeIndex = kinds.firstIndex { $0.isTime }
        let found = try StoreSchema.columns(of: "\(table.sqlName)_keys", in: db)
        let missing = Set(table.keyNames).subtracting(found)
        guard found.isEmpty || missing.isEmpty else {
            throw StoreError.otherColumns(
                path: path, table: table.name, columns: missing.sorted())
        }
        guard !found.isEmpty else {
            (selected, row) = (nil, nil)
            return
        }
        let names = table.columns.map { $0.kind.isTime ? "''" : $0.name }
        let selected =
            "SELECT \((["key"] + names).joined(separator: ", ")) FROM \(table.sqlName)_keys"
        self.selected = selected
        row = StatementRow(try db.makeStatement(sql: "\(selected) WHERE key = ?"))
    }

    /// The columns of a key's row in a slot.
    ///
    /// - Parameter time: the hour or the day of the slot.
    func columns(ofKey key: Int64, time: StoredValue) throws -> [StoredValue] {
        var columns = try cached[key] ?? read(key)
        if let timeIndex { columns[timeIndex] = time }
        return columns
    }

    func wanted(by choice: RowChoice) throws -> WantedKeys {
        guard let isWanted = choice.isKeyWanted else { return .all }
        var (wanted, count): ([Int64], Int) = ([], 0)
        try forEach { key, columns in
            count += 1
            guard isWanted(columns) else { return }
            wanted.append(key)
            keep(columns, ofKey: key)
        }
        return WantedKeys(wanted, of: count)
    }

    /// Calls `body` with each key and its columns, with an empty time, in order of the keys.
    func forEach(_ body: (_ key: Int64, _ columns: [StoredValue]) throws -> Void) throws {
        guard let selected else { return }
        let row = StatementRow(try db.makeStatement(sql: "\(selected) ORDER BY key"))
        row.begin()
        while try StoreError.naming("read", path, row.next) {
            try body(row.integer(0), columns(of: row))
        }
    }

    func count() throws -> Int {
        guard row != nil else { return 0 }
        return try Int.fetchOne(db, sql: "SELECT count(*) FROM \(table.sqlName)_keys") ?? 0
    }

    /// Throws `damaged` for a missing key.
    func require(_ key: Int64) throws {
        if cached[key] == nil { _ = try read(key) }
    }

    /// All keys, in order.
    func numbers() throws -> [Int64] {
        guard row != nil else { return [] }
        return try Int64.fetchAll(db, sql: "SELECT key FROM \(table.sqlName)_keys ORDER BY key")
    }

    private func read(_ key: Int64) throws -> [StoredValue] {
        row?.begin()
        row?.bind(key)
        guard let row, try StoreError.naming("read", path, row.next) else {
            throw StoreError.damaged(
                path: path,
                detail: "\(table.sqlName)_keys has no key \(key), but a row of sums uses it")
        }
        let columns = columns(of: row)
        keep(columns, ofKey: key)
        return columns
    }

    private func columns(of row: StatementRow) -> [StoredValue] {
        kinds.indices.map { index in
            switch kinds[index] {
            case .hour, .day, .text: .text(row.text(index + 1))
            case .integer, .boolean: .integer(row.integer(index + 1))
            }
        }
    }

    private func keep(_ columns: [StoredValue], ofKey key: Int64) {
        if cached.count >= Self.mostCached { cached.removeAll(keepingCapacity: true) }
        cached[key] = columns
    }
}
