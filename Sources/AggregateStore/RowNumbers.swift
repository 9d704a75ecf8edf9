import Streams

/// The numbers of the rows that were written lately, by aggregate: writing to a row by its number saves
/// looking for its key.
///
/// Only numbers of committed rows, and of those of the transaction under way, are here: a rollback
/// forgets all.
final class RowNumbers {
    private var tables: [String: RowNumberTable] = [:]

    /// The numbers of an aggregate's rows, as far as they are known.
    func table<Key: RowKey>(for deltas: DeltaTable<Key>) -> RowNumberTable {
        if let table = tables[Key.table.name], table.generation === deltas.generation {
            return table
        }
        let table = RowNumberTable(deltas.generation)
        tables[Key.table.name] = table
        return table
    }

    func removeAll() {
        tables.removeAll()
    }
}

/// The row numbers of one aggregate, by the rows of one generation of its `DeltaTable`.
final class RowNumberTable {
    let generation: RowGeneration
    /// SQLite numbers rows from 1; 0 is a row whose number is not known.
    private var numbers: [Int64] = []

    init(_ generation: RowGeneration) {
        self.generation = generation
    }

    /// The number of a row, when it is known.
    subscript(row: Int) -> Int64? {
        get { row < numbers.count && numbers[row] != 0 ? numbers[row] : nil }
        set {
            while numbers.count <= row { numbers.append(0) }
            numbers[row] = newValue ?? 0
        }
    }
}
