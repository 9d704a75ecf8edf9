import Streams

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
