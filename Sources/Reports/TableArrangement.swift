/// The shown columns and rows of a table, and their order.
package struct TableArrangement: Hashable, Sendable {
    package struct Order: Hashable, Sendable {
        package let column: String
        package let isDescending: Bool
    }

    /// The columns to show, in this order; nil for all.
    package var columns: [String]?
    /// The sort columns in descending priority; if empty, rows keep their order.
    package var orders: [Order] = []
    /// The maximum number of rows.
    package var limit: Int?

    package init() {}

    /// - Parameters:
    ///   - columns: `column,column,...`
    ///   - sort: `column,column:desc,-column,...`
    /// - Throws: `badColumns` and `badOrder` for another text.
    package init(columns: String?, sort: String?, limit: Int?) throws(InspectionError) {
        func parts(_ text: String) throws(InspectionError) -> [String] {
            let parts = text.split(separator: ",", omittingEmptySubsequences: false).map(
                String.init)
            guard Set(parts).count == parts.count, !parts.contains("") else {
                throw .badColumns(text)
            }
            return parts
        }
        self.columns = try columns.map(parts)
        orders = try sort.map(parts)?.map { part throws(InspectionError) in try Order(part) } ?? []
        self.limit = limit
    }

    /// Whether a table stays unchanged.
    package var isEmpty: Bool { self == TableArrangement() }
}

extension TableArrangement.Order {
    /// Parses `column`, `column:asc`, `column:desc` or `-column`, which equals `column:desc`.
    fileprivate init(_ text: String) throws(InspectionError) {
        let isNegated = text.hasPrefix("-")
        let parts = text.dropFirst(isNegated ? 1 : 0).split(
            separator: ":", omittingEmptySubsequences: false
        ).map(String.init)
        guard !parts[0].isEmpty, !parts[0].hasPrefix("-"), parts.count <= (isNegated ? 1 : 2),
            parts.count == 1 || ["asc", "desc"].contains(parts[1])
        else { throw .badOrder(text) }
        column = parts[0]
        isDescending = isNegated || parts.count == 2 && parts[1] == "desc"
    }
}

extension ReportTable {
    /// The arranged table. A row of several currencies counts as one.
    ///
    /// - Parameters:
    ///   - name: of the dump, for errors.
    ///   - format: all formats except tables need the currency column with amounts.
    /// - Throws: `unknownColumn`.
    package func arranged(
        _ arrangement: TableArrangement, as format: DumpFormat, of name: String
    ) throws(InspectionError) -> ReportTable {
        func index(_ column: String) throws(InspectionError) -> Int {
            guard let index = columns.firstIndex(where: { $0.name == column }) else {
                throw .unknownColumn(column, dump: name, valid: columns.map(\.name))
            }
            return index
        }
        var orders: [(index: Int, isDescending: Bool)] = []
        for order in arrangement.orders {
            orders.append((try index(order.column), order.isDescending))
        }
        var table = orders.isEmpty ? self : sorted(by: orders)
        if let limit = arrangement.limit {
            table = ReportTable(
                columns: columns, rows: Array(table.rows.prefix(limit)), keyCount: keyCount)
        }
        guard let names = arrangement.columns else { return table }
        var indices: [Int] = []
        for name in names { indices.append(try index(name)) }
        let currency = columns.firstIndex { $0.name == Dump.currency }
        if format != .table, let currency, !indices.contains(currency),
            let money = indices.firstIndex(where: { columns[$0].isMoney })
        {
            indices.insert(currency, at: money)
        }
        return table.limited(toIndices: indices)
    }

    /// The rows in natural order of their keys: steps in step order, digits in texts by value.
    package var inNaturalOrder: ReportTable {
        sorted(by: (0..<keyCount).map { ($0, false) })
    }

    /// The rows in another order. Equal rows keep their order, and null comes last.
    func sorted(by orders: [(index: Int, isDescending: Bool)]) -> ReportTable {
        let sorted = rows.enumerated().sorted { left, right in
            for (index, isDescending) in orders {
                let order = columns[index].order(of: left.element[index], right.element[index])
                switch order {
                case .never: continue
                case .always(let isFirst): return isFirst
                case .ascending(let isFirst): return isFirst != isDescending
                }
            }
            return left.offset < right.offset
        }
        return ReportTable(columns: columns, rows: sorted.map(\.element), keyCount: keyCount)
    }
}

/// The order of two values.
private enum ValueOrder {
    /// They are equal.
    case never
    /// Whether the first comes first, in either direction.
    case always(Bool)
    /// Whether the first comes first in ascending order.
    case ascending(Bool)

    init<Value: Comparable>(_ left: Value, _ right: Value) {
        self = left == right ? .never : .ascending(left < right)
    }
}

extension ReportTable.Column {
    /// Amounts of different currencies are not compared: such rows are ordered by currency in both directions.
    fileprivate func order(of left: ReportValue, _ right: ReportValue) -> ValueOrder {
        if left.isNothing != right.isNothing { return .always(right.isNothing) }
        switch (left, right) {
        case (.money(let left), .money(let right)):
            let (names, others) = (left.amounts.map(\.currency), right.amounts.map(\.currency))
            guard names == others else { return .always(names.lexicographicallyPrecedes(others)) }
            let (sizes, otherSizes) = (left.amounts.map(\.micros), right.amounts.map(\.micros))
            return sizes == otherSizes
                ? .never : .ascending(sizes.lexicographicallyPrecedes(otherSizes))
        case (.text(let left), .text(let right)):
            guard steps.isEmpty else {
                return ValueOrder(
                    steps.firstIndex(of: left) ?? -1, steps.firstIndex(of: right) ?? -1)
            }
            return left == right ? .never : .ascending(left.precedesAsRead(right))
        case (.boolean(let left), .boolean(let right)):
            return ValueOrder(left ? 1 : 0, right ? 1 : 0)
        default: return ValueOrder(left.millionths, right.millionths)
        }
    }
}

extension ReportValue {
    /// Whether it is empty: null, or money without an amount.
    var isNothing: Bool { self == .null || self == .money(MoneyByCurrency([:])) }

    /// A number for comparisons; 0 for other values. Scaled sums of 64-bit sums do not overflow 128 bits.
    fileprivate var millionths: Int128 {
        switch self {
        case .integer(let integer): integer.multipliedReportingOverflow(by: 1_000_000).partialValue
        // Decimals always have six digits after the point.
        case .decimal(let text): Int128(text.filter { $0 != "." }) ?? 0
        case .null, .text, .boolean, .money: 0
        }
    }

    /// Whether it is zero or empty.
    package var isZero: Bool {
        switch self {
        case .null: true
        case .text(let text): text.isEmpty
        case .integer, .decimal: millionths == 0
        case .boolean(let boolean): !boolean
        case .money(let money): money.amounts.allSatisfy { $0.micros == 0 }
        }
    }
}

extension String {
    /// Natural order of texts: empty first, then digits by value, then other texts.
    fileprivate func precedesAsRead(_ other: String) -> Bool {
        guard isEmpty == other.isEmpty else { return isEmpty }
        guard isDigits == other.isDigits else { return isDigits }
        if isDigits {
            let (number, otherNumber) = (drop { $0 == "0" }, other.drop { $0 == "0" })
            guard number.utf8.count == otherNumber.utf8.count else {
                return number.utf8.count < otherNumber.utf8.count
            }
            if number != otherNumber {
                return number.utf8.lexicographicallyPrecedes(otherNumber.utf8)
            }
        }
        return utf8.lexicographicallyPrecedes(other.utf8)
    }

    private var isDigits: Bool { !isEmpty && utf8.allSatisfy { (0x30...0x39).contains($0) } }
}
