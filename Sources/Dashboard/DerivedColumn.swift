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

/// The two counts of a share of independent events. The first is a part of the second.
struct ShareParts: Sendable {
    let over: [String]
    let under: [String]
    var underLess: [String] = []

    /// The column of its interval.
    static let column = "share_interval"

    static func of(_ measure: DerivedMeasure) -> ShareParts {
        ShareParts(over: measure.over, under: measure.under, underLess: measure.underLess)
    }

    /// Wilson's 95 % interval in words; nil if a count is unknown, or there is nothing to divide by.
    static func words(_ count: Int128, of total: Int128) -> String? {
        let interval = ShareInterval(count, of: total)
        guard interval.low != .null else { return nil }
        return [interval.low, interval.high].map {
            ShownValue.text($0, in: column, isKey: false)
        }.joined(separator: " to ")
    }
}

extension PageAnswer {
    /// The interval of a share in a row.
    func interval(_ share: ShareParts, of row: [ReportValue]) -> String? {
        func sum(_ names: [String]) -> Int128? {
            names.reduce(Int128?(0)) { sum, name in
                guard case .integer(let count) = value(row, name) else { return nil }
                return sum.map { $0 + count }
            }
        }
        guard let count = sum(share.over), let under = sum(share.under),
            let less = sum(share.underLess)
        else { return nil }
        return ShareParts.words(count, of: under - less)
    }

    /// Adds the interval of a share as a column.
    mutating func addInterval(_ share: ShareParts) {
        let all = self
        add(.init(ShareParts.column, isNumber: true), explainedBy: nil) { row in
            all.interval(share, of: row).map { .text($0) } ?? .null
        }
    }
}
