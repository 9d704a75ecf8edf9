import Inspection

/// How a row stands to a cell.
struct CellStanding {
    /// What its measures give; nil when it is not asked for.
    let terms: [CellTerm]?
    /// Whether it would be asked for if it were trusted and winning.
    let concerns: Bool
}

extension AdditionRow {
    /// How the row stands to a cell. A row is only ever held against one.
    func standing(in cell: any Cell) -> CellStanding {
        if let standing { return standing }
        let found = CellStanding(
            terms: cell.terms(of: table, columns: columns),
            concerns: cell.concerns(table, columns: columns))
        standing = found
        return found
    }
}

/// Exact amounts by the measures of a cell, which become known one by one.
package struct CellAmounts: Sendable {
    private(set) var amounts: [Int128] = []

    /// The amount of a measure, by its place in the cell.
    package subscript(measure: Int) -> Int128 { measure < amounts.count ? amounts[measure] : 0 }

    mutating func add(_ measures: [Int64], _ terms: [CellTerm]) {
        for term in terms where measures[term.rowMeasure] != 0 {
            add(Int128(measures[term.rowMeasure]), to: term.cellMeasure)
        }
    }

    mutating func add(_ amount: Int128, to measure: Int) {
        while amounts.count <= measure { amounts.append(0) }
        amounts[measure] += amount
    }

    mutating func add(_ other: CellAmounts) {
        for (measure, amount) in other.amounts.enumerated() where amount != 0 {
            add(amount, to: measure)
        }
    }

    /// Forgets all, and keeps the room.
    mutating func removeAll() {
        for measure in amounts.indices { amounts[measure] = 0 }
    }
}
