import GRDB
import Streams

/// Writes the rows of one aggregate within a transaction.
final class AggregateRows {
    private let table: AggregateTable
    private let db: Database
    private let keys: StatementRow
    private let firstSums: StatementRow
    /// Statements that add to some of the measures, by these measures as bits.
    private var additions: [UInt64: StatementRow] = [:]
    // Most rows change in the same few measures as the one before.
    private var lastAddition: (measures: UInt64, statement: StatementRow)?

    init(_ table: AggregateTable, _ db: Database) throws {
        self.table = table
        self.db = db
        keys = StatementRow(try db.cachedStatement(sql: table.insertKeySQL))
        firstSums = StatementRow(try db.cachedStatement(sql: table.insertSumsSQL))
    }

    /// Makes the row of a key, without sums yet; false when it is there already.
    func insert(
        _ row: Int, of deltas: Deltas, _ symbols: SymbolTable, _ hourText: (Hour) -> [UInt8]
    ) throws -> Bool {
        keys.begin()
        Self.bind(row, of: deltas, symbols, hourText, to: keys)
        try keys.step()
        return db.changesCount == 1
    }

    /// The number of a row that is there.
    func number(
        ofRow row: Int, of deltas: Deltas, _ symbols: SymbolTable, _ hourText: (Hour) -> [UInt8]
    ) throws -> Int64 {
        let select = StatementRow(try db.cachedStatement(sql: table.rowNumberSQL))
        select.begin()
        Self.bind(row, of: deltas, symbols, hourText, to: select)
        return try select.stepForInteger()
    }

    /// Gives a row that was just made its sums.
    func insertSums(_ measures: UnsafeBufferPointer<Int64>, asRow number: Int64) throws {
        firstSums.begin()
        firstSums.bind(number)
        for measure in measures { firstSums.bind(measure) }
        try firstSums.step()
    }

    /// Adds to the sums of a row. Measures that nothing is added to are left as they are.
    func add(_ measures: UnsafeBufferPointer<Int64>, toRow number: Int64) throws {
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
        _ row: Int, of deltas: Deltas, _ symbols: SymbolTable, _ hourText: (Hour) -> [UInt8],
        to statement: StatementRow
    ) {
        statement.bind(Int64(deltas.partition(ofRow: row)))
        deltas.forEachColumn(ofRow: row) { value in
            switch value {
            case .hour(let hour): statement.bind(hourText(hour))
            case .symbol(let symbol): symbols.withBytes(of: symbol) { statement.bind(text: $0) }
            case .text(let text): statement.bind(text: text)
            case .integer(let integer): statement.bind(integer)
            case .boolean(let boolean): statement.bind(boolean ? 1 : 0)
            }
        }
    }
}

/// The numbers of the rows that were written lately, by generation of a `Deltas`: writing to a row by its number saves
/// looking for its key.
///
/// Only numbers of committed rows, and of those of the transaction under way, are here: a rollback
/// forgets all.
final class RowNumbers {
    private var tables: [ObjectIdentifier: RowNumberTable] = [:]

    /// The numbers of the rows that a batch's table knows, as far as they are known themselves.
    func table(for deltas: Deltas) -> RowNumberTable {
        if let table = tables[ObjectIdentifier(deltas.generation)] { return table }
        // A generation that nobody else holds has ended.
        tables = tables.filter { !$0.value.isLastToHoldGeneration }
        let table = RowNumberTable(deltas.generation)
        tables[ObjectIdentifier(deltas.generation)] = table
        return table
    }

    /// Number of generations whose rows are known.
    var generationCount: Int { tables.count }

    func removeAll() {
        tables.removeAll()
    }
}

/// The row numbers of one aggregate, by the rows of one generation of its `Deltas`.
final class RowNumberTable {
    private var generation: RowGeneration
    /// SQLite numbers rows from 1; 0 is a row whose number is not known.
    private var numbers: [Int64] = []

    init(_ generation: RowGeneration) {
        self.generation = generation
    }

    /// Whether no `Deltas` has this generation any more.
    var isLastToHoldGeneration: Bool { isKnownUniquelyReferenced(&generation) }

    /// The number of a row, when it is known.
    subscript(row: Int) -> Int64? {
        get { row < numbers.count && numbers[row] != 0 ? numbers[row] : nil }
        set {
            while numbers.count <= row { numbers.append(0) }
            numbers[row] = newValue ?? 0
        }
    }
}
