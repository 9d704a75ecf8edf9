import ConfigurationValues
import Store
import Streams
import Synchronization

/// The sums of an aggregate's rows of a day or an hour, by the columns other than the time.
struct KeySums: Sendable {
    struct Content: Hashable, Sendable {
        let table: String
        /// The time zone of days.
        let zone: ReportTimeZone
    }

    private let measureCount: Int
    /// Numbers of columns.
    private var keys: [Int32] = []
    private var amounts: [Int64] = []
    /// The unknown sums of each row, as bits; empty while all are known.
    private var unknown: [UInt64] = []

    init(measureCount: Int) { self.measureCount = measureCount }

    /// Bytes in memory, about.
    var byteCount: Int { 128 + keys.count * 4 + amounts.count * 8 + unknown.count * 8 }

    mutating func append(_ key: Int32, _ sums: StoredSums) {
        if sums.unknown != 0, unknown.isEmpty {
            unknown = Array(repeating: 0, count: keys.count)
        }
        keys.append(key)
        amounts += sums.amounts
        if sums.unknown != 0 || !unknown.isEmpty { unknown.append(sums.unknown) }
    }

    func forEach(
        _ body: (_ key: Int, _ amounts: UnsafeBufferPointer<Int64>, _ unknown: UInt64) throws ->
            Void
    ) rethrows {
        try amounts.withUnsafeBufferPointer { amounts in
            for (index, key) in keys.enumerated() {
                let start = index * measureCount
                try body(
                    Int(key),
                    UnsafeBufferPointer(rebasing: amounts[start..<start + measureCount]),
                    unknown.isEmpty ? 0 : unknown[index])
            }
        }
    }
}

/// Numbers for the columns of rows, apart from their time. They stay the same while a process runs.
final class ColumnNumbers: Sendable {
    private struct Known {
        var numbers: [[StoredValue]: Int32] = [:]
        var columns: [[StoredValue]] = []
    }

    private let tables = Mutex<[String: Known]>([:])

    /// The columns of all numbers of an aggregate that were given so far.
    func columns(of table: String) -> [[StoredValue]] {
        tables.withLock { $0[table]?.columns ?? [] }
    }

    func number(of columns: [StoredValue], in table: String) -> Int32 {
        tables.withLock { tables in
            if let number = tables[table]?.numbers[columns] { return number }
            let number = Int32(tables[table]?.columns.count ?? 0)
            tables[table, default: Known()].numbers[columns] = number
            tables[table]?.columns.append(columns)
            return number
        }
    }
}

/// The sums of rows with equal values in the columns that are read.
struct SummedRow<Key: RowKey> {
    /// Its columns, with an hour of one of its rows.
    let row: TableRow<Key>
    private let sums: ExactSums
    private let indices: ReadIndices

    fileprivate init(_ columns: [StoredValue], _ sums: ExactSums, _ indices: ReadIndices) {
        row = TableRow(AnyTableRow(columns))
        self.sums = sums
        self.indices = indices
    }

    /// The sum of a measure. Throws `unknownSum`.
    func sum(_ measure: Key.Measure) throws(InspectionError) -> Int128 {
        try sums.known(measure.rawValue, of: indices.stored)
    }
}

extension ExactSums {
    /// The sum of a measure of a table. Throws `unknownSum`.
    func known(_ index: Int, of table: AggregateTable) throws(InspectionError) -> Int128 {
        if let sum = self[index] { return sum }
        throw .unknownSum(table: table.name, measure: table.measures[index])
    }
}

extension StoreSlice {
    /// Calls `body` with the sums of rows with equal values in the columns of a reader, apart from the time.
    ///
    /// - Parameter choice: also limits the time; nothing else does.
    func forEachSum<Key>(
        of reader: TableReader<Key>, _ choice: RowChoice, by hours: HourTexts,
        _ body: (SummedRow<Key>) throws -> Void
    ) throws {
        let indices = reader.indices
        try forEachSum(
            of: indices.stored, choice, by: hours, splitsDays: false,
            group: { columns in RowKeyBytes(indices.keyColumns.map { columns[$0] }) }
        ) { try body(SummedRow($0, $1, indices)) }
    }

    /// Calls `body` with sums of an aggregate's rows: at least, rows that differ only in the hour are added up.
    ///
    /// - Parameters:
    ///   - choice: decides about whole hours.
    ///   - splitsDays: whether sums of different days stay apart.
    ///   - group: rows of one group may be added up. Its columns have an empty time. Nil for rows that are not wanted,
    ///     which `body` gets nevertheless if there is no cache.
    ///   - body: gets the columns of one of the rows.
    func forEachSum(
        of table: AggregateTable, _ choice: RowChoice, by hours: HourTexts, splitsDays: Bool,
        group: (_ columns: [StoredValue]) -> RowKeyBytes?,
        _ body: (_ columns: [StoredValue], _ sums: ExactSums) throws -> Void
    ) throws {
        guard let cache, let folded = try cache.hours.hours(of: self) else {
            return try forEachDay(of: table, choice, by: hours) { try body($0, ExactSums($1)) }
        }
        let units = try SumReading(self, table, hours, cache, folded).sums(choice)
        var groups = KeyGroups(of: table, cache.columnNumbers)
        var day: String?
        for unit in units {
            let next = hours[unit.hour].day
            if splitsDays, next != day { try groups.empty(into: body) }
            day = next
            groups.add(unit.sums, at: unit.hour, choice, group)
        }
        try groups.empty(into: body)
    }
}

/// Reads the sums of days and hours, or takes them from the cache.
private struct SumReading {
    private struct Unit {
        let text: String
        /// One of its hours.
        let hour: String
        let isDay: Bool
        /// Nil if its sums must not be kept.
        let version: UnitVersion?
    }

    private let slice: StoreSlice
    private let table: AggregateTable
    private let hours: HourTexts
    private let cache: ReportCache
    private let folded: FoldedHours

    init(
        _ slice: StoreSlice, _ table: AggregateTable, _ hours: HourTexts, _ cache: ReportCache,
        _ folded: FoldedHours
    ) {
        self.slice = slice
        self.table = table
        self.hours = hours
        self.cache = cache
        self.folded = folded
    }

    /// The sums of the wanted hours, in order, each with one of its hours.
    func sums(_ choice: RowChoice) throws -> [(hour: String, sums: KeySums)] {
        let units = try units(choice)
        var found = units.map { unit in
            unit.version.flatMap { cache.sums.value(key(unit), $0) }
        }
        for isDay in [true, false] {
            let missing = units.indices.filter { found[$0] == nil && units[$0].isDay == isDay }
            guard !missing.isEmpty else { continue }
            let read = try read(Set(missing.map { units[$0].text }), areDays: isDay)
            for index in missing {
                let unit = units[index]
                let sums = read[unit.text] ?? KeySums(measureCount: table.measures.count)
                found[index] = sums
                if let version = unit.version {
                    cache.sums.keep(sums, byteCount: sums.byteCount, key(unit), version)
                }
            }
        }
        return zip(units, found).compactMap { unit, sums in sums.map { (unit.hour, $0) } }
    }

    private func key(_ unit: Unit) -> UnitCache<KeySums.Content, KeySums>.Key {
        let zone = table.hasDays || !unit.isDay ? .utc : hours.zone
        return UnitCache.Key(
            slice, KeySums.Content(table: table.name, zone: zone), time: unit.text)
    }

    private func units(_ choice: RowChoice) throws -> [Unit] {
        guard !table.hasDays else {
            // Any record may change rows of days.
            let version = UnitVersion(folded, of: slice)
            return try slice.snapshot.hourTexts()
                .filter { !$0.utf8.contains(UInt8(ascii: "T")) && choice.isHourWanted($0) }
                .map { Unit(text: $0, hour: $0, isDay: true, version: version) }
        }
        return folded.units(hours, choice.isHourWanted).map { unit, hour in
            Unit(
                text: unit.text, hour: hour, isDay: unit.isDay, version: UnitVersion(folded, unit))
        }
    }

    /// Reads days or hours, by their texts. Those without rows are left out.
    private func read(_ wanted: Set<String>, areDays: Bool) throws -> [String: KeySums] {
        func time(_ hour: String) -> String {
            areDays && !table.hasDays ? hours[hour].day : hour
        }
        let timeIndex = table.columns.firstIndex { $0.kind.isTime }
        var numbers: [Int64: Int32] = [:]
        var read: [String: KeySums] = [:]
        try slice.snapshot.forEachDaySums(
            of: table, partitions: slice.numbers,
            RowChoice(isHourWanted: { wanted.contains(time($0)) }), by: time
        ) { hour, sums, columns in
            var own = KeySums(measureCount: table.measures.count)
            try sums.forEach { key, stored in
                if let number = numbers[key] { return own.append(number, stored) }
                var columns = try columns(key)
                if let timeIndex { columns[timeIndex] = .text("") }
                let number = cache.columnNumbers.number(of: columns, in: table.name)
                numbers[key] = number
                own.append(number, stored)
            }
            read[time(hour)] = own
        }
        return read
    }
}

/// Adds up the sums of rows by group.
private struct KeyGroups {
    private static let unresolved: Int32 = -2
    private static let excluded: Int32 = -1

    private let measureCount: Int
    private let timeIndex: Int?
    /// By number.
    private let columns: [[StoredValue]]
    /// By number of columns.
    private var groups: [Int32]
    private var indices: [RowKeyBytes: Int32] = [:]
    /// By group: the number of the first columns.
    private var firsts: [Int] = []
    private var sums: [Int128] = []
    private var unknown: [UInt64] = []
    /// By group: an hour of its rows; nil without rows.
    private var hours: [String?] = []
    private var filled: [Int] = []

    init(of table: AggregateTable, _ numbers: ColumnNumbers) {
        measureCount = table.measures.count
        timeIndex = table.columns.firstIndex { $0.kind.isTime }
        columns = numbers.columns(of: table.name)
        groups = Array(repeating: Self.unresolved, count: columns.count)
    }

    mutating func add(
        _ added: KeySums, at hour: String, _ choice: RowChoice,
        _ group: ([StoredValue]) -> RowKeyBytes?
    ) {
        added.forEach { key, amounts, bits in
            if groups[key] == Self.unresolved { resolve(key, choice, group) }
            guard groups[key] >= 0 else { return }
            let index = Int(groups[key])
            if hours[index] == nil {
                hours[index] = hour
                filled.append(index)
            }
            let start = index * measureCount
            for measure in 0..<measureCount where amounts[measure] != 0 {
                sums[start + measure] += Int128(amounts[measure])
            }
            unknown[index] |= bits
        }
    }

    private mutating func resolve(
        _ key: Int, _ choice: RowChoice, _ group: ([StoredValue]) -> RowKeyBytes?
    ) {
        let own = columns[key]
        guard choice.isKeyWanted?(own) ?? true, let bytes = group(own) else {
            groups[key] = Self.excluded
            return
        }
        if let index = indices[bytes] {
            groups[key] = index
            return
        }
        let index = Int32(firsts.count)
        indices[bytes] = index
        groups[key] = index
        firsts.append(key)
        sums += Array(repeating: 0, count: measureCount)
        unknown.append(0)
        hours.append(nil)
    }

    /// Calls `body` with the sums of each group with rows, and clears them.
    mutating func empty(
        into body: (_ columns: [StoredValue], _ sums: ExactSums) throws -> Void
    ) rethrows {
        for index in filled {
            guard let hour = hours[index] else { continue }
            var own = columns[firsts[index]]
            if let timeIndex { own[timeIndex] = .text(hour) }
            let range = index * measureCount..<(index + 1) * measureCount
            try body(own, ExactSums(Array(sums[range]), unknown: unknown[index]))
            for measure in range { sums[measure] = 0 }
            unknown[index] = 0
            hours[index] = nil
        }
        filled.removeAll(keepingCapacity: true)
    }
}
