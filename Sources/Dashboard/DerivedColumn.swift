import Reports

/// A column that a page computes from measures of each row. Files have the measures.
struct DerivedColumn: Sendable {
    let name: String
    /// The measures that it is computed from.
    let parts: [String]
    /// Whether it links to the explanation of its first part.
    var isLinked = true
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
            guard let integers = integers(values) else { return .null }
            let (counted, rest) = (integers.prefix(counts.count), integers.dropFirst(counts.count))
            let (taken, all) = (rest.prefix(others.count), rest.dropFirst(others.count))
            return .ratio(counted.reduce(0, +) - taken.reduce(0, +), all.reduce(0, +))
        }
    }

    /// The sum of some counts, without a link: each of them has an explanation of its own.
    static func sum(_ name: String, of counts: [String]) -> DerivedColumn {
        DerivedColumn(name: name, parts: counts, isLinked: false) { values in
            integers(values).map { .integer($0.reduce(0, +)) } ?? .null
        }
    }

    /// Nil if a value is unknown.
    private static func integers(_ values: [ReportValue]) -> [Int128]? {
        let integers = values.compactMap { value in
            if case .integer(let integer) = value { integer } else { Int128?.none }
        }
        return integers.count == values.count ? integers : nil
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
                explainedBy: column.isLinked ? column.parts[0] : nil
            ) {
                row in column.value(indices.map { row[$0] })
            }
        }
    }
}
