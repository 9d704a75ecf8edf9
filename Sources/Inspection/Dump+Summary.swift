extension Dump {
    /// The dump as a table for people who look at it for the first time: without some columns, and
    /// without measures that are 0 in every row.
    public func summary(leavingOut hidden: Set<String>) -> TextTable {
        let shownColumns = columns.indices.filter { !hidden.contains(columns[$0].name) }
        let shownMeasures = measures.indices.filter { index in
            !hidden.contains(measures[index]) && rows.contains { $0.measures[index] != 0 }
        }
        let places = shownColumns + shownMeasures.map { columns.count + $0 }
        let names = columns.map(\.name) + measures
        let isNumber = columns.map { $0.kind == .integer } + measures.map { _ in true }
        return TextTable(
            header: places.map { names[$0] }, isNumber: places.map { isNumber[$0] },
            rows: rows.map { row in
                let words = words(row)
                return places.map { words[$0] }
            })
    }
}
