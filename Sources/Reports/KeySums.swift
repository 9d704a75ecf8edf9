import ConfigurationValues
import Store
import Streams
import Synchronization

/// The sums of an aggregate's rows of a day or an hour, by the columns other than the time.
struct KeySums: UnitValue {
    struct Content: Hashable, Sendable, CustomStringConvertible {
        let table: String
        /// The time zone of days.
        let zone: ReportTimeZone

        var description: String { "\(table) \(zone.rules)" }
    }

    private let measureCount: Int
    /// Numbers of columns.
    private var keys: [Int32] = []
    private var amounts: [Int64] = []
    /// The unknown sums of each row, as bits; empty while all are known.
    private var unknown: [UInt64] = []

    init(measureCount: Int) { self.measureCount = measureCount }

    var byteCount: Int { 128 + keys.count * 4 + amounts.count * 8 + unknown.count * 8 }

    mutating func append(_ key: Int32, _ sums: StoredSums) {
        if sums.unknown != 0, unknown.isEmpty {
            unknown = Array(repeating: 0, count: keys.count)
        }
        keys.append(key)
        amounts += sums.amounts
        if sums.unknown != 0 || !unknown.isEmpty { unknown.append(sums.unknown) }
    }

    var written: [UInt8]? {
        var writer = KeptWriter()
        writer.append(measureCount)
        writer.append(keys)
        writer.append(amounts)
        writer.append(unknown)
        return writer.bytes
    }

    init(_ reader: inout KeptReader) throws {
        measureCount = try reader.integer()
        keys = try reader.array()
        amounts = try reader.array()
        unknown = try reader.array()
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

/// Numbers for the columns of rows, apart from their time. They stay the same while a process runs, and in its file.
final class ColumnNumbers: Sendable {
    private final class Known: KeptList {
        private struct State {
            var numbers: [[StoredValue]: Int32] = [:]
            var columns: [[StoredValue]] = []
        }

        let name: String
        private let state = Mutex(State())

        init(name: String) { self.name = name }

        var columns: [[StoredValue]] { state.withLock { $0.columns } }

        func number(of columns: [StoredValue]) -> Int32 {
            state.withLock { state in
                if let number = state.numbers[columns] { return number }
                let number = Int32(state.columns.count)
                state.numbers[columns] = number
                state.columns.append(columns)
                return number
            }
        }

        func add(_ entry: [StoredValue]) { _ = number(of: entry) }

        func entries(from index: Int) -> ArraySlice<[StoredValue]> { columns[index...] }
    }

    private let file: SumsFile?
    private let tables = Mutex<[String: Known]>([:])

    init(in file: SumsFile?) { self.file = file }

    /// The columns of all numbers of an aggregate that were given so far.
    func columns(of table: String) -> [[StoredValue]] { known(table).columns }

    func number(of columns: [StoredValue], in table: String) -> Int32 {
        known(table).number(of: columns)
    }

    /// Reads the numbers of an aggregate in the file, if there is one.
    func prepare(_ table: String) { _ = known(table) }

    private func known(_ table: String) -> Known {
        tables.withLock { tables in
            if let known = tables[table] { return known }
            let known = Known(name: table)
            file?.keep(known)
            tables[table] = known
            return known
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
        let units = try sums(of: table, choice, by: hours, cache, folded)
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

extension StoreSlice {
    /// The sums of the wanted hours, in order, each with one of its hours.
    private func sums(
        of table: AggregateTable, _ choice: RowChoice, by hours: HourTexts, _ cache: ReportCache,
        _ folded: FoldedHours
    ) throws -> [(hour: String, sums: KeySums)] {
        var texts: [String] = []
        var units: [(text: String, version: UnitVersion?)] = []
        if table.hasDays {
            // Any record may change rows of days. An hour stands for its day.
            let version = UnitVersion(folded, of: self)
            for hour in try snapshot.hourTexts() where choice.isHourWanted(hour) {
                let day = Self.day(of: hour)
                guard texts.last != day else { continue }
                texts.append(day)
                units.append((day, version))
            }
        } else {
            for (unit, hour) in folded.units(hours, choice.isHourWanted) {
                texts.append(hour)
                units.append((unit.text, UnitVersion(folded, unit)))
            }
        }
        let content = KeySums.Content(
            table: table.name, zone: table.hasDays ? .utc : hours.zone)
        let sums = try cache.sums.values(
            of: self, content, units, empty: KeySums(measureCount: table.measures.count)
        ) { try read($0, of: table, hours, cache.columnNumbers) }
        return zip(texts, sums).map { ($0, $1) }
    }

    private static func day(of hour: String) -> String { String(hour.prefix { $0 != "T" }) }

    /// Reads the sums of days and hours, by their texts. Those without rows are left out.
    private func read(
        _ wanted: Set<String>, of table: AggregateTable, _ hours: HourTexts,
        _ columnNumbers: ColumnNumbers
    ) throws -> [String: KeySums] {
        func unit(_ hour: String) -> String? {
            guard table.hasDays else { return FoldedHours.unit(of: hour, in: wanted, hours) }
            let day = Self.day(of: hour)
            return wanted.contains(day) ? day : nil
        }
        let timeIndex = table.columns.firstIndex { $0.kind.isTime }
        var known: [Int64: Int32] = [:]
        var read: [String: KeySums] = [:]
        try snapshot.forEachDaySums(
            of: table, partitions: numbers, RowChoice(isHourWanted: { unit($0) != nil }),
            by: { unit($0) ?? "" }
        ) { hour, sums, columns in
            var own = KeySums(measureCount: table.measures.count)
            try sums.forEach { key, stored in
                if let number = known[key] { return own.append(number, stored) }
                var columns = try columns(key)
                if let timeIndex { columns[timeIndex] = .text("") }
                let number = columnNumbers.number(of: columns, in: table.name)
                known[key] = number
                own.append(number, stored)
            }
            if let unit = unit(hour) { read[unit] = own }
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
