import ConfigurationValues
import Store
import Streams

/// Sums of watched rows by hour.
struct WatchedSums: UnitValue {
    struct Sum: BitwiseCopyable {
        /// The number of the columns that name a row.
        let row: Int32
        /// Since 1970.
        let hour: Int64
        let amount: Int128
    }

    /// Which sums: their description tells them apart.
    struct Content: Hashable, CustomStringConvertible {
        let description: String

        init(_ figure: DumpFigure, _ measures: [Int], less: [Int], by columns: [Int]) {
            let conditions = figure.request.conditions.map { "\($0.column)=\($0.value)" }
            description = "\(figure.name) \(conditions) \(measures) \(less) \(columns)"
        }
    }

    /// The columns that name rows, as numbers are given to them.
    static let numbered = "watched rows"

    private(set) var sums: [Sum] = []

    var byteCount: Int { 64 + sums.count * MemoryLayout<Sum>.stride }

    init(_ sums: [Sum] = []) { self.sums = sums }

    var written: [UInt8]? {
        var writer = KeptWriter()
        writer.append(sums)
        return writer.bytes
    }

    init(_ reader: inout KeptReader) throws { sums = try reader.array() }
}

/// The sums of a rule in each hour of a row.
struct WatchedHourSums {
    let figure: DumpFigure
    let measures: [Int]
    /// The measures that are subtracted.
    let less: [Int]
    /// The indices of the columns that name a row.
    let columns: [Int]
    /// Since 1970.
    let hours: Range<Int64>

    /// Calls `body` with the sums, perhaps with several for an hour of a row.
    func forEach(
        in slices: [StoreSlice],
        _ body: (_ row: [StoredValue], _ hour: Int64, _ amount: Int128) -> Void
    ) throws {
        for slice in slices {
            for (stream, tables) in figure.sources where stream == slice.stream {
                guard !tables.isEmpty else {
                    try forEachRefusal(of: slice, body)
                    continue
                }
                let cache = slice.cache
                let numbers = cache?.columnNumbers ?? ColumnNumbers(in: nil)
                let all = try sums(of: slice, tables, cache, numbers)
                let rows = numbers.columns(of: WatchedSums.numbered)
                for sum in all.lazy.flatMap(\.sums) {
                    body(rows[Int(sum.row)], sum.hour, sum.amount)
                }
            }
        }
    }

    private func sums(
        of slice: StoreSlice, _ tables: [AggregateTable], _ cache: ReportCache?,
        _ numbers: ColumnNumbers
    ) throws -> [WatchedSums] {
        // Any record may change rows of days.
        guard !tables.contains(where: \.hasDays), let cache,
            let folded = try cache.hours.hours(of: slice)
        else {
            let all = try read(slice, tables, numbers) { isWanted($0) ? "" : nil }
            return Array(all.values)
        }
        let units = folded.units(figure.hours, isWanted).map { unit, _ in
            (text: unit.text, version: Optional(UnitVersion(folded, unit)))
        }
        return try cache.watched.values(
            of: slice, WatchedSums.Content(figure, measures, less: less, by: columns), units,
            empty: WatchedSums()
        ) { missing in
            try read(slice, tables, numbers) {
                FoldedHours.unit(of: $0, in: missing, figure.hours)
            }
        }
    }

    private func hour(_ text: String) -> Int64? {
        UTC.milliseconds(text: text).map { Hour(containing: $0).hoursSince1970 }
    }

    private func isWanted(_ text: String) -> Bool { hour(text).map(hours.contains) ?? false }

    /// Reads the sums of days and hours, by their texts.
    ///
    /// - Parameter unit: of an hour; nil if it is not wanted.
    private func read(
        _ slice: StoreSlice, _ tables: [AggregateTable], _ numbers: ColumnNumbers,
        _ unit: @escaping (String) -> String?
    ) throws -> [String: WatchedSums] {
        struct Key: Hashable {
            let row: Int32
            let hour: Int64
        }
        var known: [String: (unit: String, hour: Int64)?] = [:]
        func place(_ text: String) -> (unit: String, hour: Int64)? {
            if let place = known[text] { return place }
            let place = unit(text).flatMap { unit in hour(text).map { (unit, $0) } }
            known[text] = .some(place)
            return place
        }
        var sums: [String: [Key: Int128]] = [:]
        for table in tables {
            guard let time = table.columns.firstIndex(where: { $0.kind.isTime }) else { continue }
            let first = figure.firstMeasure(of: table)
            var choice = figure.choice(of: table)
            let isHourWanted = choice.isHourWanted
            choice.isHourWanted = { text in
                let time = table.hasDays ? String(text.prefix { $0 != "T" }) : text
                return isHourWanted(text) && place(time) != nil
            }
            try slice.forEachRow(of: table, choice) { _, stored, amounts in
                guard let (unit, hour) = place(stored[time].text),
                    let values = figure.values(of: table, stored)
                else { return }
                let amount = try amount(of: amounts, at: first)
                guard amount != 0 else { return }
                let row = numbers.number(
                    of: columns.map { values[$0] }, in: WatchedSums.numbered)
                sums[unit, default: [:]][Key(row: row, hour: hour), default: 0] += amount
            }
        }
        return sums.mapValues { sums in
            WatchedSums(
                sums.map { WatchedSums.Sum(row: $0.row, hour: $0.hour, amount: $1) })
        }
    }

    private func amount(
        of sums: StoredSums, at first: Int
    ) throws(InspectionError) -> Int128 {
        func sum(_ measures: [Int]) throws(InspectionError) -> Int128 {
            var sum = Int128(0)
            for index in measures where sums.indices.contains(index - first) {
                sum += Int128(try figure.amount(index, of: sums, at: first))
            }
            return sum
        }
        return try sum(measures) - sum(less)
    }

    private func forEachRefusal(
        of slice: StoreSlice, _ body: ([StoredValue], Int64, Int128) -> Void
    ) throws {
        try slice.forEachRefusal { refusal in
            let hour = Hour(containing: refusal.timestampMilliseconds).hoursSince1970
            if hours.contains(hour),
                let values = figure.values(of: refusal, topic: slice.snapshot.topic),
                slice.counts(timestampMilliseconds: refusal.timestampMilliseconds)
            {
                let amount = try amount(of: StoredSums([1]), at: 0)
                if amount != 0 { body(columns.map { values[$0] }, hour, amount) }
            }
            return true
        }
    }
}
