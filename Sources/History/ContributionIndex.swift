import Reports
import Store
import Streams

/// Offsets of records in a partition.
struct OffsetSet {
    private static let chunkBits = 16
    private static let wordCount = 1 << chunkBits / UInt64.bitWidth

    /// The bits of all chunks, one after the other.
    private var words: [UInt64] = []
    /// The first words of chunks, by the higher bits of their offsets.
    private var starts: [Int64: Int] = [:]
    // Most offsets are in the chunk of the previous one.
    private var last: (number: Int64, start: Int) = (-1, 0)

    var isEmpty: Bool { words.isEmpty }

    var count: Int64 { words.reduce(0) { $0 + Int64($1.nonzeroBitCount) } }

    /// Adds runs of consecutive offsets; returns whether none was in the set.
    @discardableResult
    mutating func insert(_ runs: some Sequence<OffsetRun>) -> Bool {
        var isNew = true
        for run in runs {
            var (offset, rest) = (run.first, run.count)
            while rest > 0 {
                let bit = Int(offset & (1 << Int64(Self.chunkBits) - 1))
                let word = start(of: offset >> Int64(Self.chunkBits)) + bit / UInt64.bitWidth
                let shift = bit % UInt64.bitWidth
                let length = min(rest, UInt64.bitWidth - shift)
                let mask = (UInt64.max >> UInt64(UInt64.bitWidth - length)) << UInt64(shift)
                if words[word] & mask != 0 { isNew = false }
                words[word] |= mask
                offset += Int64(length)
                rest -= length
            }
        }
        return isNew
    }

    @inline(__always)
    private mutating func start(of number: Int64) -> Int {
        last.number == number ? last.start : find(number)
    }

    private mutating func find(_ number: Int64) -> Int {
        let start = starts[number] ?? words.count
        if start == words.count {
            starts[number] = start
            words.append(contentsOf: repeatElement(0, count: Self.wordCount))
        }
        last = (number, start)
        return start
    }

    mutating func formUnion(_ other: OffsetSet) {
        for (number, theirs) in other.starts {
            let own = start(of: number)
            for word in 0..<Self.wordCount { words[own + word] |= other.words[theirs + word] }
        }
    }

    mutating func subtract(_ other: OffsetSet) {
        for (number, own) in starts {
            guard let theirs = other.starts[number] else { continue }
            for word in 0..<Self.wordCount { words[own + word] &= ~other.words[theirs + word] }
        }
    }

    func contains(_ offset: Int64) -> Bool {
        guard let start = starts[offset >> Int64(Self.chunkBits)] else { return false }
        let bit = Int(offset & (1 << Int64(Self.chunkBits) - 1))
        return words[start + bit / UInt64.bitWidth] >> UInt64(bit % UInt64.bitWidth) & 1 == 1
    }

    func intersects(_ other: OffsetSet) -> Bool {
        starts.contains { number, own in
            guard let theirs = other.starts[number] else { return false }
            return (0..<Self.wordCount).contains {
                words[own + $0] & other.words[theirs + $0] != 0
            }
        }
    }

    /// The first offsets, in order.
    func first(_ count: Int) -> [Int64] {
        var offsets: [Int64] = []
        for (number, start) in starts.sorted(by: { $0.key < $1.key }) {
            for word in 0..<Self.wordCount where words[start + word] != 0 {
                var bits = words[start + word]
                while bits != 0 {
                    guard offsets.count < count else { return offsets }
                    let bit = word * UInt64.bitWidth + bits.trailingZeroBitCount
                    offsets.append(number << Int64(Self.chunkBits) + Int64(bit))
                    bits &= bits - 1
                }
            }
        }
        return offsets
    }
}

/// The records of a figure in one partition, from the index of its store.
struct IndexedRecords {
    /// By the figure's measure: the records that add to it.
    private(set) var adding: [Int: OffsetSet] = [:]
    private var subtracting: [Int: OffsetSet] = [:]
    /// Records that would be in the figure if they were trusted or had won.
    private(set) var concerned = OffsetSet()
    /// Records of these hours that were not accepted, for any number.
    private(set) var notAccepted = OffsetSet()
    /// Whether a record adds to a measure and subtracts from it: only its amounts say whether it counts.
    private(set) var isAmbiguous = false

    private mutating func add(_ measure: Int, isNegative: Bool, _ runs: ArraySlice<OffsetRun>) {
        guard isNegative else {
            adding[measure, default: OffsetSet()].insert(runs)
            return
        }
        let isNew = subtracting[measure, default: OffsetSet()].insert(runs)
        if !isNew { isAmbiguous = true }
    }

    /// Adds records of a row.
    ///
    /// - Parameter measures: those to which each record added.
    mutating func add(
        _ runs: ArraySlice<OffsetRun>, _ measures: AddedMeasures, _ terms: [FigureTerm]
    ) {
        for term in terms
        where term.factor != 0 && measures.contains(AddedMeasures(measure: term.rowMeasure)) {
            add(
                term.measure, isNegative: measures.contains(.negative) || term.factor < 0, runs)
        }
    }

    mutating func addConcerned(_ runs: ArraySlice<OffsetRun>) { concerned.insert(runs) }

    /// Adds the records of hours that were not accepted.
    mutating func addNotAccepted(in slots: [Int64], _ snapshot: StoreSnapshot) throws {
        let outcomes = try snapshot.contributions(of: OutcomeKey.table)
        for slot in slots {
            let accepted = AddedMeasures(measure: Outcome.accepted.rawValue)
            try outcomes.forEach(
                inSlot: slot, where: { _, measures in !measures.contains(accepted) }
            ) { _, _, runs in
                notAccepted.insert(runs)
            }
        }
    }

    /// Adds the records of a dump of rejected records.
    mutating func add(_ refused: OffsetSet) { adding[0] = refused }

    /// Puts all records of a measure together.
    mutating func settle() {
        for (measure, records) in subtracting {
            if adding[measure]?.intersects(records) == true { isAmbiguous = true }
            adding[measure, default: OffsetSet()].formUnion(records)
        }
        subtracting = [:]
    }

    /// The records that add to some measures; to any of them for nil.
    func counted(_ wanted: [Int]?) -> OffsetSet {
        adding.reduce(into: OffsetSet()) { counted, measure in
            if wanted?.contains(measure.key) ?? true { counted.formUnion(measure.value) }
        }
    }
}

/// The first records of a partition, to read.
struct IndexedPage {
    /// In order.
    let counted: [Int64]
    /// Records that were or may have been left out of the figure, in order.
    let leftOut: [Int64]
    /// Whether records count or were left out, on the page or not.
    let hasRecords: Bool
    /// The number of further records that were left out.
    let moreLeftOut: Int64
    /// The number of further records that were not accepted, for any number.
    let unexamined: Int64

    /// The distance of records to read together.
    private static let gap: Int64 = 32

    var offsets: [Int64] { (counted + leftOut).sorted() }

    /// Ranges with all offsets.
    var ranges: [Range<Int64>] {
        offsets.reduce(into: []) { ranges, offset in
            if let last = ranges.last, offset - last.upperBound < Self.gap {
                ranges[ranges.count - 1] = last.lowerBound..<offset + 1
            } else {
                ranges.append(offset..<offset + 1)
            }
        }
    }
}

extension IndexedRecords {
    /// - Parameters:
    ///   - wanted: the measures of the figure; nil for all.
    ///   - test: the measure of test events, which other measures leave out.
    ///   - countedLimit: the most records that count.
    ///   - leftOutLimit: the most others.
    func page(
        _ wanted: [Int]?, test: Int?, counted countedLimit: Int, leftOut leftOutLimit: Int
    ) -> IndexedPage {
        let counted = counted(wanted)
        var leftOut = concerned
        leftOut.subtract(self.counted(nil))
        if let test, var tests = adding[test] {
            tests.subtract(counted)
            leftOut.formUnion(tests)
        }
        var others = notAccepted
        others.subtract(counted)
        others.subtract(leftOut)
        var all = leftOut
        all.formUnion(others)
        let examined = all.first(leftOutLimit)
        let examinedOthers = Int64(examined.count { others.contains($0) })
        return IndexedPage(
            counted: counted.first(countedLimit), leftOut: examined,
            hasRecords: counted.count + leftOut.count > 0,
            moreLeftOut: leftOut.count - (Int64(examined.count) - examinedOthers),
            unexamined: others.count - examinedOthers)
    }
}

/// The rows of a figure in one table of a store, and what they mean for it.
struct FigureRows {
    private struct Row {
        let number: RowNumber
        /// The index of its terms; nil for a row that only concerns the figure.
        let terms: Int?
    }

    let table: AggregateTable
    private var rows: [Row] = []
    private var terms = TermSets()

    init(_ table: AggregateTable) { self.table = table }

    /// - Parameter terms: nil for a row that only concerns the figure.
    mutating func add(_ number: RowNumber, _ terms: [FigureTerm]?) {
        rows.append(Row(number: number, terms: terms.map { self.terms.index(of: $0) }))
    }

    /// Adds the records of the rows.
    func read(_ snapshot: StoreSnapshot, into records: inout IndexedRecords) throws {
        let rows = rows.sorted {
            ($0.number.slot, $0.number.key) < ($1.number.slot, $1.number.key)
        }
        let index = try snapshot.contributions(of: table)
        var start = 0
        while start < rows.count {
            let slot = rows[start].number.slot
            let end = rows[start...].firstIndex { $0.number.slot != slot } ?? rows.count
            var (next, last) = (start, Int64(0))
            try index.forEach(inSlot: slot) { key, _ in
                // The next block begins again.
                if key < last { next = start }
                last = key
                while next < end, rows[next].number.key < key { next += 1 }
                return next < end && rows[next].number.key == key
            } _: { _, measures, runs in
                guard let pattern = rows[next].terms else { return records.addConcerned(runs) }
                records.add(runs, measures, terms[pattern])
            }
            start = end
        }
    }
}

/// Keys of one table of a store of which every row in the same hours counts, and what the rows mean for a figure.
struct FigureKeys {
    let table: AggregateTable
    /// By key, the number of its terms from 1; otherwise 0.
    private var termNumbers: [Int32] = []
    private var terms = TermSets()
    /// By key, the measures with sums that are not 0, as bits.
    private var counted: [UInt64] = []

    init(_ table: AggregateTable) { self.table = table }

    /// Adds a key after all smaller ones.
    mutating func add(_ key: Int64, _ keyTerms: [FigureTerm]) {
        while termNumbers.count < key { termNumbers.append(0) }
        termNumbers.append(Int32(terms.index(of: keyTerms) + 1))
    }

    @inline(__always)
    private func termNumber(ofKey key: Int64) -> Int {
        key < termNumbers.count ? Int(termNumbers[Int(key)]) : 0
    }

    func contains(_ key: Int64) -> Bool { termNumber(ofKey: key) != 0 }

    /// The terms of a key with sums that are not 0, and the measures of these sums, as bits; nil for another key.
    func counted(_ key: Int64) -> (terms: [FigureTerm], measures: UInt64)? {
        guard key < counted.count, counted[Int(key)] != 0, contains(key) else { return nil }
        return (terms[termNumber(ofKey: key) - 1], counted[Int(key)])
    }

    /// Adds the sums of a day to those of a figure.
    ///
    /// - Returns: whether the day has rows of these keys.
    mutating func add(
        _ day: DaySums, to sums: inout FigureAmounts, unknown: inout Set<Int>
    ) -> Bool {
        if counted.isEmpty { counted = Array(repeating: 0, count: termNumbers.count) }
        var isCounted = false
        day.forEachBorrowed { key, amounts, unknownBits in
            let number = termNumber(ofKey: key)
            var bits = unknownBits
            for measure in amounts.indices where amounts[measure] != 0 {
                bits |= 1 << UInt64(measure)
            }
            guard number != 0 else { return }
            // Amounts of different hours may add up to 0, and their records count all the same.
            isCounted = true
            guard bits != 0 else { return }
            counted[Int(key)] |= bits
            let terms = terms[number - 1]
            sums.add(amounts, terms)
            guard unknownBits != 0 else { return }
            for term in terms where unknownBits >> UInt64(term.rowMeasure) & 1 == 1 {
                unknown.insert(term.measure)
            }
        }
        return isCounted
    }

    /// Adds the records of the keys' rows in some slots.
    func read(
        _ slots: [Int64], _ snapshot: StoreSnapshot, into records: inout IndexedRecords
    ) throws {
        let index = try snapshot.contributions(of: table)
        for slot in slots {
            try index.forEach(inSlot: slot, where: { key, _ in contains(key) }) {
                key, measures, runs in
                records.add(runs, measures, terms[termNumber(ofKey: key) - 1])
            }
        }
    }
}

/// Different lists of terms. Most rows of a table have the same one.
private struct TermSets {
    private var sets: [[FigureTerm]] = []

    subscript(index: Int) -> [FigureTerm] { sets[index] }

    mutating func index(of terms: [FigureTerm]) -> Int {
        if let index = sets.lastIndex(where: { Self.areEqual($0, terms) }) { return index }
        sets.append(terms)
        return sets.count - 1
    }

    private static func areEqual(_ terms: [FigureTerm], _ others: [FigureTerm]) -> Bool {
        terms.count == others.count
            && zip(terms, others).allSatisfy {
                $0.rowMeasure == $1.rowMeasure && $0.measure == $1.measure
                    && $0.factor == $1.factor
            }
    }
}
