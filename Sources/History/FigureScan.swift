import Reports
import Store
import Streams

/// A partition of a stream.
struct StreamPartition: Hashable {
    var stream: String
    var partition: Int32
}

/// Exact amounts by a figure's measures, which become known one by one.
package struct FigureAmounts: Sendable {
    private(set) var amounts: [Int128] = []

    package init() {}

    /// The amount of a measure, by its index in the figure.
    package subscript(measure: Int) -> Int128 { measure < amounts.count ? amounts[measure] : 0 }

    var isZero: Bool { amounts.allSatisfy { $0 == 0 } }

    mutating func add(_ measures: [Int64], _ terms: [FigureTerm]) {
        measures.withUnsafeBufferPointer { add($0, terms) }
    }

    mutating func add(_ measures: UnsafeBufferPointer<Int64>, _ terms: [FigureTerm]) {
        for term in terms where measures[term.rowMeasure] != 0 {
            add(Int128(measures[term.rowMeasure]) * term.factor, to: term.measure)
        }
    }

    mutating func add(_ amount: Int128, to measure: Int) {
        while amounts.count <= measure { amounts.append(0) }
        amounts[measure] += amount
    }

    package mutating func add(_ other: FigureAmounts) {
        for (measure, amount) in other.amounts.enumerated() where amount != 0 {
            add(amount, to: measure)
        }
    }
}

/// A figure in the stores: its sums, and the hours of its rows.
struct FigureScan {
    typealias RowBody = (StreamPartition, AggregateTable, [StoredValue], StoredSums) throws -> Void

    private(set) var sums = FigureAmounts()
    /// The measures that are unknown in a row, by index in the figure.
    private(set) var unknown: Set<Int> = []
    private var hours: [StreamPartition: Set<Hour>] = [:]
    /// The rows, by the names of their tables, for the index of explanations.
    private var rows: [StreamPartition: [String: [FigureRows]]] = [:]
    /// The keys of other rows, with the slots of these.
    private var keys: [StreamPartition: [(keys: FigureKeys, slots: [Int64])]] = [:]
    /// The rejected records that count, in a dump of such records.
    private var refusals: [StreamPartition: OffsetSet] = [:]
    /// The first hour with records that may count on the days of its rows; nil without such rows.
    private var firstOfDays: Hour?
    /// The currencies of amounts of money, by the figure's measure.
    private(set) var currencies: [Int: Set<String>] = [:]

    /// The currency of a measure's amounts; nil for several or without a named one.
    func currency(of measure: Int) -> String? {
        guard let found = currencies[measure], found.count == 1 else { return nil }
        return found.first.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Scans all rows of the slices, and calls `body` with each that counts. Without `body` the rows of a day are added
    /// up first where all rows of a key mean the same.
    init(_ figure: any Figure, _ slices: [StoreSlice], _ body: RowBody?) throws {
        try figure.begin(slices)
        for (stream, tables) in figure.sources {
            for slice in slices where slice.stream == stream {
                for table in tables {
                    if body == nil, let phases = try Self.phases(of: table, slice, figure) {
                        for hours in phases { try addDays(table, of: slice, figure, hours) }
                    } else {
                        try add(table, of: slice, figure, body)
                    }
                }
                guard tables.isEmpty else { continue }
                try slice.forEachRefusal { refusal in
                    guard figure.counts(refusal, topic: slice.snapshot.topic) else { return true }
                    sums.add(1, to: 0)
                    let partition = StreamPartition(stream: stream, partition: refusal.partition)
                    hours[partition, default: []].insert(
                        Hour(containing: refusal.timestampMilliseconds))
                    refusals[partition, default: OffsetSet()].insert(
                        CollectionOfOne(OffsetRun(first: refusal.offset, count: 1)))
                    return true
                }
            }
        }
    }

    /// The maximum number of phases of which all keys are looked at.
    private static let mostPhases = 16

    /// The texts of the hours that may count, by phase. Nil if rows must be looked at one by one: their hour matters, or
    /// it is beyond the years of four digits, or there are many phases.
    private static func phases(
        of table: AggregateTable, _ slice: StoreSlice, _ figure: any Figure
    ) throws -> [[String]]? {
        guard !table.hasDays else { return nil }
        var phases: [[Int]: [String]] = [:]
        // Only rows of days may have none.
        for text in try slice.snapshot.hourTexts() where !text.isEmpty {
            guard let hour = Hour(text: text) else { return nil }
            guard figure.mayCount(in: hour) else { continue }
            guard let phase = figure.phase(of: table, in: hour) else { return nil }
            phases[phase, default: []].append(text)
        }
        guard phases.count <= mostPhases else { return nil }
        return phases.values.map { $0.sorted() }.sorted { $0[0] < $1[0] }
    }

    /// Adds the rows of hours of the same phase.
    private mutating func addDays(
        _ table: AggregateTable, of slice: StoreSlice, _ figure: any Figure, _ texts: [String]
    ) throws {
        let timeIndex = table.columns.firstIndex { $0.kind.isTime }
        var keys = FigureKeys(table)
        try slice.snapshot.forEachKey(of: table) { key, columns in
            var columns = columns
            if let timeIndex { columns[timeIndex] = .text(texts[0]) }
            if let terms = figure.terms(of: table, columns: columns) { keys.add(key, terms) }
        }
        let wantedHours = Set(texts)
        var slots: [Int32: [Int64]] = [:]
        for partition in slice.numbers.sorted() {
            let streamPartition = StreamPartition(stream: slice.stream, partition: partition)
            let wanted = keys
            try slice.snapshot.forEachDaySums(
                of: table, partition: partition, isHourWanted: wantedHours.contains,
                isKeyWanted: wanted.contains
            ) { found, day in
                guard keys.add(day, to: &sums, unknown: &unknown) else { return }
                for (text, slot) in found {
                    slots[partition, default: []].append(slot)
                    if let hour = Hour(text: text) {
                        hours[streamPartition, default: []].insert(hour)
                    }
                }
            }
        }
        for (partition, slots) in slots {
            let streamPartition = StreamPartition(stream: slice.stream, partition: partition)
            self.keys[streamPartition, default: []].append((keys, slots))
        }
        guard figure.observesRows || Self.currencyIndex(table) != nil else { return }
        try slice.snapshot.forEachKey(of: table) { key, columns in
            guard let (terms, measures) = keys.counted(key) else { return }
            figure.observe(table, columns: columns)
            addCurrency(of: columns, table, terms) { measures >> UInt64($0) & 1 == 1 }
        }
    }

    private static func currencyIndex(_ table: AggregateTable) -> Int? {
        table.columns.firstIndex { $0.name == "currency" }
    }

    /// Adds the currency of a row to the measures of money to which it adds.
    private mutating func addCurrency(
        of columns: [StoredValue], _ table: AggregateTable, _ terms: [FigureTerm],
        _ isAmount: (_ rowMeasure: Int) -> Bool
    ) {
        guard let index = Self.currencyIndex(table), case .text(let currency) = columns[index]
        else { return }
        for term in terms
        where MoneyByCurrency.isMoney(table.measures[term.rowMeasure]) && isAmount(term.rowMeasure)
        {
            currencies[term.measure, default: []].insert(currency)
        }
    }

    private mutating func add(
        _ table: AggregateTable, of slice: StoreSlice, _ figure: any Figure, _ body: RowBody?
    ) throws {
        let timeIndex = table.columns.firstIndex { $0.kind.isTime }
        var found: [Int32: FigureRows] = [:]
        // Rows of a slot are adjacent.
        var lastSlot: Int64?
        try slice.snapshot.forEachNumberedRow(
            of: table, partitions: slice.numbers, figure.choice(of: table)
        ) {
            number, partition, columns, row in
            guard !row.isZero, let terms = figure.terms(of: table, columns: columns)
            else { return }
            figure.observe(table, columns: columns)
            sums.add(row.amounts, terms)
            if row.unknown != 0 {
                for term in terms where row[term.rowMeasure] == nil { unknown.insert(term.measure) }
            }
            addCurrency(of: columns, table, terms) { row[$0] != 0 }
            let streamPartition = StreamPartition(stream: slice.stream, partition: partition)
            found[partition, default: FigureRows(table)].add(number, terms)
            if number.slot != lastSlot, let timeIndex, case .text(let text) = columns[timeIndex] {
                lastSlot = number.slot
                let hour = Hour(text: text)
                if let day = table.day {
                    let first = day.isAtMostTomorrow ? hour.map(\.dayBefore) : nil
                    firstOfDays = min(firstOfDays ?? first ?? .unknown, first ?? .unknown)
                } else if let hour {
                    hours[streamPartition, default: []].insert(hour)
                }
            }
            try body?(streamPartition, table, columns, row)
        }
        add(found, of: table, slice.stream)
    }

    private mutating func add(
        _ found: [Int32: FigureRows], of table: AggregateTable, _ stream: String
    ) {
        for (partition, found) in found {
            let streamPartition = StreamPartition(stream: stream, partition: partition)
            rows[streamPartition, default: [:]][table.name, default: []].append(found)
        }
    }
}

extension FigureScan {
    /// The records of the figure in one partition, from the index of its store.
    func records(
        of streamPartition: StreamPartition, _ snapshot: StoreSnapshot
    ) throws -> IndexedRecords {
        var records = IndexedRecords()
        for rows in (rows[streamPartition] ?? [:]).values.joined() {
            try rows.read(snapshot, into: &records)
        }
        for (keys, slots) in keys[streamPartition] ?? [] {
            try keys.read(slots, snapshot, into: &records)
        }
        if let refused = refusals[streamPartition] { records.add(refused) }
        return records
    }

    /// Adds the rows of postbacks in some hours that would count if they were trusted or had won.
    mutating func addConcerned(
        _ figure: any Figure, _ slice: StoreSlice, _ ranges: [StreamPartition: RecordRanges]
    ) throws {
        guard slice.stream == PostbacksFold.streamName else { return }
        let hours = ranges.filter { $0.key.stream == slice.stream }
            .reduce(into: Set<String>()) { $0.formUnion($1.value.hours.map(\.text)) }
        for table in PostbacksFold.tables {
            guard let trust = TrustColumns(table) else { continue }
            let choice = RowChoice(
                isHourWanted: hours.contains, isKeyWanted: { trust.reasonNotTrusted($0) != nil })
            var found: [Int32: FigureRows] = [:]
            try slice.snapshot.forEachNumberedRow(
                of: table, partitions: slice.numbers, choice
            ) { number, partition, columns, row in
                guard !row.isZero, figure.terms(of: table, columns: columns) == nil,
                    figure.concerns(table, columns: columns)
                else { return }
                found[partition, default: FigureRows(table)].add(number, nil)
            }
            add(found, of: table, slice.stream)
        }
    }
}

/// The columns that tell rows of trusted and winning postbacks from others.
struct TrustColumns {
    private let verdict: Int
    private let didWin: Int?

    /// Nil for a table without verdicts.
    init?(_ table: AggregateTable) {
        guard let verdict = table.columns.firstIndex(where: { $0.name == "verdict" }) else {
            return nil
        }
        self.verdict = verdict
        didWin = table.columns.firstIndex { $0.name == "did_win" }
    }

    /// The reason why the postbacks of a row count in no row of trusted and winning ones; nil for those.
    func reasonNotTrusted(_ columns: [StoredValue]) -> String? {
        if case .text(let text) = columns[verdict], text != "valid" { return "verdict \(text)" }
        return didWin.map { columns[$0] } == .integer(0) ? "did not win" : nil
    }
}

/// The part of a partition that may contain records of a figure.
struct RecordRanges {
    let hours: Set<Hour>
    let hourRanges: [HourRange]
    /// In order and disjoint.
    let offsets: [Range<Int64>]
    /// The number of folded records in the hours.
    let records: Int64

    /// The number of offsets.
    var length: Int64 { offsets.reduce(0) { $0 + Int64($1.count) } }

    fileprivate init(_ hourRanges: [HourRange]) {
        self.hourRanges = hourRanges
        hours = Set(hourRanges.map(\.hour))
        records = hourRanges.reduce(0) { $0 + $1.records }
        offsets = hourRanges.sorted { $0.firstOffset < $1.firstOffset }.reduce(into: []) {
            ranges, next in
            let range = next.firstOffset..<next.lastOffset + 1
            if let last = ranges.last, range.lowerBound <= last.upperBound {
                ranges[ranges.count - 1] =
                    last.lowerBound..<max(last.upperBound, range.upperBound)
            } else {
                ranges.append(range)
            }
        }
    }
}

extension FigureScan {
    /// The maximum number of hours to search completely for a limited time: records that were left out may be in other
    /// hours than the rows.
    private static let wholeHours = 48

    /// The ranges of records that may belong to the figure: the hours of its rows. Rows of days need all hours or, if
    /// records never arrive earlier than the day before, the hours since the day before the first one.
    func ranges(
        _ figure: any Figure, _ slices: [StoreSlice]
    ) throws -> [StreamPartition: RecordRanges] {
        var relevant: [StreamPartition: [HourRange]] = [:]
        var ofDays: [StreamPartition: [HourRange]] = [:]
        for slice in slices {
            let hasDays = figure.sources.contains {
                $0.stream == slice.stream && $0.tables.contains(where: \.hasDays)
            }
            for partition in slice.numbers {
                let streamPartition = StreamPartition(stream: slice.stream, partition: partition)
                let ranges = try slice.snapshot.hours(of: partition)
                if hasDays {
                    ofDays[streamPartition] = ranges.filter { mayNameDays($0.hour) }
                } else {
                    relevant[streamPartition] = ranges.filter { figure.mayCount(in: $0.hour) }
                }
            }
        }
        let asked = Set(relevant.values.joined().map(\.hour))
        let isWhole =
            hasNoRows || (figure.isLimitedInTime && asked.count <= Self.wholeHours)
        let counted = hours.values.reduce(into: Set<Hour>()) { $0.formUnion($1) }
        return relevant.mapValues { $0.filter { isWhole || counted.contains($0.hour) } }
            .merging(ofDays) { $0 + $1 }
            .compactMapValues { $0.isEmpty ? nil : RecordRanges($0) }
    }

    private var hasNoRows: Bool { hours.isEmpty && firstOfDays == nil }

    private func mayNameDays(_ hour: Hour) -> Bool {
        guard let firstOfDays else { return hasNoRows }
        return hour >= firstOfDays
    }
}

extension Hour {
    fileprivate var dayBefore: Hour { Hour(hoursSince1970: hoursSince1970 - 24) }
}
