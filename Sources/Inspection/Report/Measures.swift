extension Dump {
    /// The measures that are not 0 in every row.
    package var countedMeasures: [String] {
        measures.indices.filter { index in rows.contains { $0.measures[index] != 0 } }
            .map { measures[$0] }
    }

    /// The dump with these measures only, in the order of its own. Throws `unknownMeasure`.
    package func limited(toMeasures names: [String]) throws(InspectionError) -> Dump {
        if let unknown = names.first(where: { !measures.contains($0) }) {
            throw .unknownMeasure(unknown, known: measures)
        }
        let places = measures.indices.filter { names.contains(measures[$0]) }
        return Dump(
            columns: columns, measures: places.map { measures[$0] },
            rows: rows.map { row in
                Row(
                    columns: row.columns, measures: places.map { row.measures[$0] },
                    campaignIDKinds: row.campaignIDKinds, windows: row.windows)
            }, watermarkMilliseconds: watermarkMilliseconds)
    }
}

extension Funnel {
    /// The table with these measures only behind the columns that rows are put together by. Throws
    /// `unknownMeasure`.
    package func table(ofMeasures names: [String]) throws(InspectionError) -> ReportTable {
        let keys = Set(Self.columns.map(\.name))
        let measures = table.columns.map(\.name).filter { !keys.contains($0) }
        if let unknown = names.first(where: { !measures.contains($0) }) {
            throw .unknownMeasure(unknown, known: measures)
        }
        return table.limited { keys.contains($0) || names.contains($0) }
    }
}

extension ReportTable {
    /// The table with the columns that are wanted.
    func limited(to isWanted: (String) -> Bool) -> ReportTable {
        let places = columns.indices.filter { isWanted(columns[$0].name) }
        return ReportTable(
            columns: places.map { columns[$0] },
            rows: rows.map { row in places.map { row[$0] } })
    }
}
