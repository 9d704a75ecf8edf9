import GRDB
import Streams

/// Writes the rows of one aggregate within a transaction.
///
/// A row's number consists of its hour's number, from `slots`, and its key's: rows of an hour of a partition are
/// adjacent.
final class AggregateRows {
    /// With the measures that the file has.
    private let table: AggregateTable
    /// Indices of these measures among those of the fold; nil for all.
    private let stored: [Int]?
    private let db: Database
    /// Statements that add to some of the measures, with these measures as bits.
    private var additions: [UInt64: StatementRow] = [:]
    // Most rows change in the same few measures as the previous one.
    private var lastAddition: (measures: UInt64, statement: StatementRow)?
    private var keyInsertion: StatementRow?
    private var keySelection: StatementRow?

    init(_ table: AggregateTable, _ layout: TableLayout, _ db: Database) {
        stored = layout.stored
        self.table =
            layout.stored.map {
                table.selecting(Array(table.columns.indices), measures: $0)
            } ?? table
        self.db = db
    }

    /// Adds a batch's sums: writes each affected row once, in order of their numbers.
    ///
    /// The tables are STRICT: a sum beyond 64 bits would become a floating-point number, which SQLite then rejects.
    /// This detects an overflow.
    ///
    /// - Returns: the rows in order of their numbers.
    @discardableResult
    func add(
        _ deltas: Deltas, _ symbols: SymbolTable, _ numbers: RowNumbers
    ) throws -> [(number: Int64, row: Int, isKnown: Bool)] {
        let cached = numbers.table(for: deltas)
        var order: [(number: Int64, row: Int, isKnown: Bool)] = []
        order.reserveCapacity(deltas.count)
        try deltas.forEachRow { row, _ in
            if let number = cached.numbers[row] {
                order.append((number, row, true))
            } else {
                let number = try self.number(ofRow: row, of: deltas, symbols, numbers, cached)
                cached.numbers[row] = number
                order.append((number, row, false))
            }
        }
        order.sort { $0.number < $1.number }
        let first = StatementRow(try db.cachedStatement(sql: table.firstSumsSQL))
        for (number, row, isKnown) in order {
            try deltas.withMeasures(ofRow: row) { measures in
                guard let stored else { return try add(measures, to: number, isKnown, first) }
                let measures = stored.map { measures[$0] }
                try measures.withUnsafeBufferPointer { try add($0, to: number, isKnown, first) }
            }
        }
        return order
    }

    private func add(
        _ measures: UnsafeBufferPointer<Int64>, to number: Int64, _ isKnown: Bool,
        _ first: StatementRow
    ) throws {
        if isKnown { return try add(measures, toRow: number) }
        first.begin()
        first.bind(number)
        for measure in measures { first.bind(measure) }
        try first.step()
    }

    private func number(
        ofRow row: Int, of deltas: Deltas, _ symbols: SymbolTable, _ numbers: RowNumbers,
        _ cached: RowNumberTable
    ) throws -> Int64 {
        let slot = try numbers.slot(of: deltas.partitionHour(ofRow: row), in: db)
        let like = deltas.firstRow(likeRow: row)
        let key = try cached.keys[like] ?? self.key(ofRow: row, of: deltas, symbols)
        cached.keys[like] = key
        return RowNumbers.number(slot: slot, key: key)
    }

    /// The number of a row's key; creates a missing key.
    private func key(
        ofRow row: Int, of deltas: Deltas, _ symbols: SymbolTable
    ) throws -> Int64 {
        let insertion =
            try keyInsertion ?? StatementRow(db.cachedStatement(sql: table.insertKeySQL))
        keyInsertion = insertion
        Self.bind(row, of: deltas, symbols, to: insertion)
        try insertion.step()
        guard db.changesCount == 0 else { return db.lastInsertedRowID }
        let select = try keySelection ?? StatementRow(db.cachedStatement(sql: table.keySQL))
        keySelection = select
        Self.bind(row, of: deltas, symbols, to: select)
        return try select.stepForInteger()
    }

    /// Adds to the sums of a row. Skips measures without a change.
    private func add(_ measures: UnsafeBufferPointer<Int64>, toRow number: Int64) throws {
        var changed: UInt64 = 0
        for index in measures.indices where measures[index] != 0 { changed |= 1 << UInt64(index) }
        guard changed != 0 else { return }
        let statement = try addition(to: changed)
        statement.begin()
        for measure in measures where measure != 0 { statement.bind(measure) }
        statement.bind(number)
        try statement.step()
    }

    private func addition(to measures: UInt64) throws -> StatementRow {
        if let lastAddition, lastAddition.measures == measures { return lastAddition.statement }
        let statement =
            try additions[measures]
            ?? StatementRow(db.cachedStatement(sql: table.addSQL(measures)))
        additions[measures] = statement
        lastAddition = (measures, statement)
        return statement
    }

    private static func bind(
        _ row: Int, of deltas: Deltas, _ symbols: SymbolTable, to statement: StatementRow
    ) {
        statement.begin()
        deltas.forEachColumn(ofRow: row) { value in
            switch value {
            case .hour, .day: break
            case .symbol(let symbol): symbols.withBytes(of: symbol) { statement.bind(text: $0) }
            case .text(let text): statement.bind(text: text)
            case .integer(let integer): statement.bind(integer)
            case .boolean(let boolean): statement.bind(boolean ? 1 : 0)
            }
        }
    }
}

/// The numbers of recently written rows, by generation of a `Deltas`: writing to a row by its number saves the search
/// for its key.
///
/// It contains only numbers of committed rows and of rows that the running transaction has created: a rollback
/// forgets all.
final class RowNumbers {
    private struct PartitionHour: Hashable {
        let partition: Int32
        let hour: Hour
    }

    private var tables: [ObjectIdentifier: RowNumberTable] = [:]
    private var slots: [PartitionHour: Int64] = [:]
    /// By partition, the hour before which the index of explanations is deleted.
    var explainedFrom: [Int32: Int64] = [:]
    /// A year of hours of some partitions.
    private static let slotLimit = 100_000

    /// The bits of a row's number for its key; the higher bits are its slot's.
    static let keyBits: Int64 = 32

    static func number(slot: Int64, key: Int64) -> Int64 { slot << keyBits | key }

    /// The known numbers of the rows of a batch's table.
    func table(for deltas: Deltas) -> RowNumberTable {
        if let table = tables[ObjectIdentifier(deltas.generation)] { return table }
        // Without another reference, the generation has ended.
        tables = tables.filter { !$0.value.isLastToHoldGeneration }
        let table = RowNumberTable(deltas.generation)
        tables[ObjectIdentifier(deltas.generation)] = table
        return table
    }

    /// The number of an hour of a partition; creates a missing slot.
    func slot(of partitionHour: (partition: Int32, hour: Hour), in db: Database) throws -> Int64 {
        let key = PartitionHour(partition: partitionHour.partition, hour: partitionHour.hour)
        if let slot = slots[key] { return slot }
        let values: [MemoryValue] = [
            .integer(Int64(partitionHour.partition)), .text(partitionHour.hour.text),
        ]
        let insertion = StatementRow(
            try db.cachedStatement(
                sql: "INSERT INTO slots (partition, hour) VALUES (?, ?) ON CONFLICT DO NOTHING"))
        try insertion.run(values)
        var slot = db.lastInsertedRowID
        if db.changesCount == 0 {
            let select = StatementRow(
                try db.cachedStatement(
                    sql: "SELECT slot FROM slots WHERE partition = ? AND hour = ?"))
            select.begin()
            for value in values { select.bind(value) }
            slot = try select.stepForInteger()
        }
        if slots.count >= Self.slotLimit { slots.removeAll() }
        slots[key] = slot
        return slot
    }

    /// Number of generations with known rows.
    var generationCount: Int { tables.count }

    func removeAll() {
        tables.removeAll()
        slots.removeAll()
        explainedFrom.removeAll()
    }
}

/// The numbers of one aggregate's rows, by the rows of one generation of its `Deltas`.
final class RowNumberTable {
    /// Numbers from 1, by row; 0 means unknown.
    struct Numbers {
        private var all: [Int64] = []

        subscript(row: Int) -> Int64? {
            get { row < all.count && all[row] != 0 ? all[row] : nil }
            set {
                while all.count <= row { all.append(0) }
                all[row] = newValue ?? 0
            }
        }
    }

    private var generation: RowGeneration
    var numbers = Numbers()
    /// Numbers of keys, by the first row that has the key.
    var keys = Numbers()

    init(_ generation: RowGeneration) {
        self.generation = generation
    }

    /// Whether this is the last reference to the generation.
    var isLastToHoldGeneration: Bool { isKnownUniquelyReferenced(&generation) }
}
