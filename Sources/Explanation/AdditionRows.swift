import AggregateStore
import Streams

/// The rows of a fold's tables, made once for all the records that add to them.
final class AdditionRows {
    private final class Table {
        var generation: RowGeneration
        var rows: [AdditionRow?] = []

        init(_ generation: RowGeneration) { self.generation = generation }
    }

    private var tables: [ObjectIdentifier: Table] = [:]

    /// What a table of additions holds.
    func additions(in deltas: Deltas, symbols: SymbolTable, to additions: inout [Addition]) {
        guard deltas.count > 0 else { return }
        let known = table(deltas.generation)
        deltas.forEachRow { index, measures in
            guard measures.contains(where: { $0 != 0 }) else { return }
            while known.rows.count <= index { known.rows.append(nil) }
            let row =
                known.rows[index]
                ?? AdditionRow(deltas.table, Self.columns(ofRow: index, of: deltas, symbols))
            known.rows[index] = row
            additions.append(Addition(row: row, measures: Array(measures)))
        }
    }

    private func table(_ generation: RowGeneration) -> Table {
        if let table = tables[ObjectIdentifier(generation)] { return table }
        // A generation that nobody else holds has ended.
        tables = tables.filter { !isKnownUniquelyReferenced(&$0.value.generation) }
        let table = Table(generation)
        tables[ObjectIdentifier(generation)] = table
        return table
    }

    private static func columns(
        ofRow row: Int, of deltas: Deltas, _ symbols: SymbolTable
    ) -> [StoredValue] {
        var columns: [StoredValue] = []
        deltas.forEachColumn(ofRow: row) { value in
            switch value {
            case .hour(let hour): columns.append(.text(hour.text))
            case .symbol(let symbol): columns.append(.text(symbols.text(symbol)))
            case .text(let text): columns.append(.text("\(text)"))
            case .integer(let integer): columns.append(.integer(integer))
            case .boolean(let boolean): columns.append(.integer(boolean ? 1 : 0))
            }
        }
        return columns
    }
}
