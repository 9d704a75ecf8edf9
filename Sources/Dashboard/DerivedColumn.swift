import Reports

/// A column that a page computes from measures of each row. Files have the measures.
struct DerivedColumn: Sendable {
    let name: String
    /// The measures that it is computed from.
    let parts: [String]
    /// The measure that explains it.
    let explainedBy: String
    /// - Parameter values: those of the parts.
    let value: @Sendable (_ values: [ReportValue]) -> ReportValue

    /// An average is an amount of money, in millionths.
    static let averageCPM = DerivedColumn(
        name: DerivedMeasure.averageCPM.name, parts: DerivedMeasure.averageCPM.parts,
        explainedBy: DerivedMeasure.averageCPM.name
    ) { values in
        guard case .money(let prices) = values[0], case .integer(let ads) = values[1], ads > 0
        else { return .null }
        return .money(prices.divided(by: ads))
    }

    /// A number of measures, as its report computes it.
    static func of(_ measure: DerivedMeasure) -> DerivedColumn {
        DerivedColumn(
            name: measure.name, parts: measure.parts, explainedBy: measure.name,
            value: measure.value)
    }
}

extension PageAnswer {
    /// Adds columns after all others.
    mutating func add(_ columns: [DerivedColumn]) {
        for column in columns {
            let indices = column.parts.compactMap(index)
            guard indices.count == column.parts.count else { continue }
            add(
                ReportTable.Column(column.name, isNumber: true),
                explainedBy: column.explainedBy
            ) {
                row in column.value(indices.map { row[$0] })
            }
        }
    }
}
