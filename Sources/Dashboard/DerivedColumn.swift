import Reports

/// A column that a page computes from measures of each row. Files have the measures.
struct DerivedColumn: Sendable {
    let name: String
    /// The measures that it is computed from. It links to the explanation of the first.
    let parts: [String]
    /// - Parameter values: those of the parts.
    let value: @Sendable (_ values: [ReportValue]) -> ReportValue

    static let winRate = share("win_rate", of: ["wins"], in: ["bids"])

    /// The billed amount, as a publisher calls it.
    static let earnings = DerivedColumn(
        name: "earnings_micros", parts: ["billed_price_micros"]
    ) { values in
        guard case .money(let prices) = values[0] else {
            return values[0].isZero ? .integer(0) : .null
        }
        return .money(prices.divided(by: 1000))
    }

    /// The sum of CPM prices divided by the ads that it is for.
    static let averageCPM = DerivedColumn(
        name: "average_cpm", parts: ["billed_price_micros", "billed"]
    ) { values in
        guard case .money(let prices) = values[0], case .integer(let ads) = values[1], ads > 0
        else { return .null }
        return .money(prices.divided(by: ads))
    }

    /// The sum of some counts, less that of others, divided by the sum of a whole. Unknown if a part is.
    static func share(
        _ name: String, of counts: [String], less others: [String] = [], in whole: [String]
    ) -> DerivedColumn {
        DerivedColumn(name: name, parts: counts + others + whole) { values in
            var integers = values.compactMap { value in
                if case .integer(let integer) = value { integer } else { Int128?.none }
            }[...]
            guard integers.count == values.count else { return .null }
            func sum(_ count: Int) -> Int128 {
                defer { integers = integers.dropFirst(count) }
                return integers.prefix(count).reduce(0, +)
            }
            let part = sum(counts.count) - sum(others.count)
            return .ratio(part, sum(whole.count))
        }
    }
}

extension PageAnswer {
    /// Adds columns after all others.
    mutating func add(_ columns: [DerivedColumn]) {
        for column in columns {
            let indices = column.parts.compactMap(index)
            guard indices.count == column.parts.count else { continue }
            add(ReportTable.Column(column.name, isNumber: true), explainedBy: column.parts[0]) {
                row in column.value(indices.map { row[$0] })
            }
        }
    }
}
