import Store
import Streams

/// The output format of rows.
package enum DumpFormat: String, CaseIterable, Sendable {
    /// Aligned columns under a header, for people.
    case table
    /// One array of objects, one row per line.
    case json
    /// One object per line.
    case ndjson
    /// RFC 4180: a header, CRLF, quotes only where required.
    case csv
}

/// The rows of a report, for output in any format.
package struct ReportTable: Sendable {
    package struct Column: Equatable, Sendable {
        package let name: String
        /// Whether tables align it to the right.
        package let isNumber: Bool
        /// The values of a step column, in order; empty for another column.
        let steps: [String]

        package init(_ name: String, isNumber: Bool = false, steps: [String] = []) {
            self.name = name
            self.isNumber = isNumber
            self.steps = steps
        }

        init(measure name: String) {
            self.init(name, isNumber: true)
        }

        /// Whether its values are amounts of money.
        var isMoney: Bool { isNumber && MoneyByCurrency.isMoney(name) }
    }

    package let columns: [Column]
    package let rows: [[ReportValue]]
    /// The number of leading columns that identify a row.
    package let keyCount: Int

    package init(columns: [Column], rows: [[ReportValue]], keyCount: Int = 0) {
        self.columns = columns
        self.rows = rows
        self.keyCount = keyCount
    }

    /// Writes the rows as UTF-8, in large pieces.
    ///
    /// - Parameter isRaw: whether CSV texts are written unchanged.
    package func write<Failure: Error>(
        as format: DumpFormat, isRaw: Bool = false, to sink: ([UInt8]) throws(Failure) -> Void
    ) throws(Failure) {
        let table = format == .table ? self : toldApartByCurrency
        try Self.write(table.rows, table.columns, as: format, isRaw: isRaw, to: sink) { $0 }
    }

    /// Writes rows and computes their values one row at a time, because a dump may have many.
    static func write<Row, Failure: Error>(
        _ rows: [Row], _ columns: [Column], as format: DumpFormat, isRaw: Bool,
        to sink: ([UInt8]) throws(Failure) -> Void, values: (Row) -> [ReportValue]
    ) throws(Failure) {
        let names = columns.map(\.name)
        guard format != .table else {
            guard !rows.isEmpty else { return try sink(Array("no rows\n".utf8)) }
            return try TextTable(
                header: names, isNumber: columns.map(\.isNumber),
                rows: rows.map { values($0).map(\.plainText) }
            ).write(to: sink)
        }
        var writer = RowWriter(names, format, isRaw: isRaw)
        for row in rows {
            writer.append(values(row))
            if let piece = writer.fullPiece() { try sink(piece) }
        }
        try sink(writer.finish())
    }

    /// The table with its key columns and only these measures. Throws `unknownMeasure`.
    package func limited(toMeasures names: [String]) throws(InspectionError) -> ReportTable {
        let all = columns.map(\.name)
        if let unknown = names.first(where: { !all.contains($0) }) {
            throw .unknownMeasure(unknown, valid: Array(all.dropFirst(keyCount)))
        }
        return limited(
            toIndices: columns.indices.filter { $0 < keyCount || names.contains(all[$0]) })
    }

    /// The table without rows in which every measure is zero. Unknown values are not zero.
    package var withoutZeroRows: ReportTable {
        guard keyCount < columns.count else { return self }
        return ReportTable(
            columns: columns,
            rows: rows.filter { row in
                row.dropFirst(keyCount).contains { $0 == .null || !$0.isZero }
            }, keyCount: keyCount)
    }

    /// Whether a value has amounts in more than one currency.
    package var mixesCurrencies: Bool {
        rows.contains { row in
            row.contains {
                if case .money(let money) = $0 { money.amounts.count > 1 } else { false }
            }
        }
    }

    /// The table with the columns at these indices, in this order.
    func limited(toIndices indices: [Int]) -> ReportTable {
        ReportTable(
            columns: indices.map { columns[$0] },
            rows: rows.map { row in indices.map { row[$0] } },
            keyCount: indices.prefix { $0 < keyCount }.count)
    }

    /// The table for programs: amounts are numbers of one currency, which a column names. A row of several currencies
    /// becomes one row per currency. Only the first of these keeps the values that are not money, so that every column
    /// can be summed.
    var toldApartByCurrency: ReportTable {
        let money = columns.indices.filter { columns[$0].isMoney }
        guard !money.isEmpty, !columns.contains(where: { $0.name == Dump.currency }) else {
            return self
        }
        var rows: [[ReportValue]] = []
        for row in self.rows {
            let amounts = money.map { (column: $0, amounts: row[$0].amounts) }
            let currencies = Set(amounts.flatMap { $0.amounts.map(\.currency) }).sorted {
                $0.utf8.lexicographicallyPrecedes($1.utf8)
            }
            for (index, currency) in (currencies.isEmpty ? [""] : currencies).enumerated() {
                var values =
                    index == 0
                    ? row
                    : row.prefix(keyCount) + row.dropFirst(keyCount).map { _ in ReportValue.null }
                for (column, amounts) in amounts {
                    values[column] =
                        amounts.first { $0.currency == currency }.map { .integer($0.micros) }
                        ?? .null
                }
                values.insert(.text(currency), at: keyCount)
                rows.append(values)
            }
        }
        var shown = columns
        shown.insert(Column(Dump.currency), at: keyCount)
        return ReportTable(columns: shown, rows: rows, keyCount: keyCount + 1)
    }
}

/// A table for people: aligned columns, numbers right-aligned.
package struct TextTable: Sendable {
    /// The lines of the header, then those of the rows.
    let rows: [[String]]
    let isNumber: [Bool]
    let widths: [Int]
    /// The number of leading columns that identify a row.
    let keyCount: Int
    let headerLines: Int

    /// - Parameters:
    ///   - isNumber: for each column, whether it is right-aligned.
    ///   - rows: the cells; control characters and backslashes in them are shown as escapes.
    ///   - keyCount: the number of leading columns that identify a row.
    package init(header: [String], isNumber: [Bool], rows: [[String]], keyCount: Int = 0) {
        self.init(
            cells: ([header] + rows).map { $0.map(\.escaped) }, isNumber: isNumber,
            keyCount: keyCount)
    }

    /// - Parameter cells: texts without control characters, those of the header first.
    init(cells: [[String]], isNumber: [Bool], keyCount: Int = 0, headerLines: Int = 1) {
        rows = cells
        self.isNumber = isNumber
        self.keyCount = keyCount
        self.headerLines = headerLines
        widths = isNumber.indices.map { column in
            cells.map { $0[column].unicodeScalars.count }.max() ?? 0
        }
    }

    /// The column names of a one-line header.
    var names: [String] { rows.first ?? [] }

    /// The header and the rows, without line ends.
    package var lines: [String] {
        rows.map { row in
            var line = ""
            var owed = 0
            for (column, cell) in row.enumerated() {
                let padding = widths[column] - cell.unicodeScalars.count
                if isNumber[column] { owed += padding }
                // Spaces are written only before a nonempty cell, so that lines do not end with spaces.
                if !cell.isEmpty {
                    line += String(repeating: " ", count: owed) + cell
                    owed = 0
                }
                owed += (isNumber[column] ? 0 : padding) + Self.gap
            }
            return line
        }
    }

    fileprivate func write<Failure: Error>(
        to sink: ([UInt8]) throws(Failure) -> Void
    ) throws(Failure) {
        var piece: [UInt8] = []
        for line in lines {
            piece += line.utf8
            piece.append(UInt8(ascii: "\n"))
            guard piece.count >= RowWriter.pieceBytes else { continue }
            try sink(piece)
            piece.removeAll(keepingCapacity: true)
        }
        try sink(piece)
    }

    static let gap = 2
}

package enum ReportValue: Equatable, Sendable {
    /// null in JSON, an empty field elsewhere.
    case null
    case text(String)
    case integer(Int128)
    /// A decimal number as digits.
    case decimal(String)
    case boolean(Bool)
    case money(MoneyByCurrency)

    /// The quotient with six decimals, rounded half away from zero, without floating-point numbers; null when the
    /// denominator is 0.
    ///
    /// Scaled sums of 64-bit sums do not overflow 128 bits.
    package static func ratio(_ numerator: Int128, _ denominator: Int128) -> ReportValue {
        guard denominator != 0 else { return .null }
        let divisor = denominator.magnitude
        // Half away from zero; an odd divisor does not have a half.
        let millionths = (numerator.magnitude * 1_000_000 + divisor / 2) / divisor
        let isNegative = (numerator < 0) != (denominator < 0) && millionths != 0
        return .decimal(
            "\(isNegative ? "-" : "")\(millionths / 1_000_000).\(sixDigits(millionths % 1_000_000))"
        )
    }

    /// Whether it is a decimal number above 1.
    var isAboveOne: Bool {
        if case .decimal(let digits) = self { (Double(digits) ?? 0) > 1 } else { false }
    }

    /// The digits of millionths.
    fileprivate static func sixDigits(_ millionths: UInt128) -> String {
        let digits = millionths.description
        return String(repeating: "0", count: 6 - digits.count) + digits
    }

    static func time(_ milliseconds: Int64?) -> ReportValue {
        milliseconds.map { .text(UTC.text(milliseconds: $0)) } ?? .null
    }

    /// The value for people and for CSV.
    package var plainText: String {
        switch self {
        case .null: ""
        case .text(let text), .decimal(let text): text
        // Formatting 128 bits is slow.
        case .integer(let integer):
            Int64(exactly: integer).map { String($0) } ?? integer.description
        case .boolean(let boolean): boolean ? "true" : "false"
        case .money(let money): money.plainText
        }
    }

    /// The currencies of an amount; empty for other values.
    package var currencies: [String] { amounts.map(\.currency) }

    /// The amounts of money; empty for other values.
    fileprivate var amounts: [MoneyByCurrency.Amount] {
        if case .money(let money) = self { money.amounts } else { [] }
    }

    /// The value in a CSV line. Money is in millionths; a column has the currency.
    var field: CSVLine.Field {
        switch self {
        case .text(let text): .text(text)
        case .money(let money): .own(money.micros)
        case .null, .decimal, .integer, .boolean: .own(plainText)
        }
    }

    func append(to json: inout [UInt8]) {
        switch self {
        case .null: JSONBytes.append("null", to: &json)
        case .text(let text): JSONBytes.appendString(text.utf8, to: &json)
        case .money(let money):
            JSONBytes.append(money.amounts.isEmpty ? "null" : money.micros, to: &json)
        case .integer(let integer) where Int64(exactly: integer) != nil:
            // Twice as fast as a 128-bit integer.
            JSONBytes.append(String(Int64(truncatingIfNeeded: integer)), to: &json)
        case .integer, .decimal, .boolean: JSONBytes.append(plainText, to: &json)
        }
    }
}

/// Amounts of money in millionths of their unit. Different currencies are never added.
package struct MoneyByCurrency: Equatable, Sendable {
    /// The amounts, by currency in bytewise order.
    package let amounts: [Amount]
    /// Whether they are sums of prices per thousand impressions, a thousand times the paid amount.
    let isOfThousand: Bool

    package struct Amount: Equatable, Sendable {
        package let currency: String
        /// Millionths of its unit.
        package let micros: Int128
    }

    /// Whether a measure is an amount, in millionths of the unit of its row's currency.
    package static func isMoney(_ measure: String) -> Bool { measure.hasSuffix("_micros") }

    /// Currencies as a list for error messages.
    package static func list(_ currencies: some Sequence<String>) -> String {
        currencies.sorted().map { $0.isEmpty ? "no currency" : $0 }.joined(separator: " and ")
    }

    init(_ micros: [StoredValue: Int128], isOfThousand: Bool = false) {
        self.isOfThousand = isOfThousand
        amounts = micros.sorted { $0.key < $1.key }.map { currency, micros in
            guard case .text(let text) = currency else {
                return Amount(currency: "", micros: micros)
            }
            return Amount(currency: text, micros: micros)
        }
    }

    /// The amounts divided by a number above 0, truncated to millionths. They are not marked as CPM prices.
    package func divided(by divisor: Int128) -> MoneyByCurrency {
        MoneyByCurrency(
            Dictionary(
                uniqueKeysWithValues: amounts.map { (.text($0.currency), $0.micros / divisor) }))
    }

    /// `EUR 0.50; USD 1.23`: two decimals or more if needed. Sums of CPM prices are marked: `USD 40.76 CPM`.
    package var plainText: String {
        amounts.map { amount in
            let text = Self.units(micros: amount.micros) + (isOfThousand ? " CPM" : "")
            return amount.currency.isEmpty ? text : "\(amount.currency) \(text)"
        }.joined(separator: "; ")
    }

    /// The millionths of the only amount, for programs; empty without one.
    fileprivate var micros: String {
        precondition(amounts.count < 2, "amounts of several currencies are no number")
        return amounts.first?.micros.description ?? ""
    }

    private static func units(micros: Int128) -> String {
        var fraction = ReportValue.sixDigits(micros.magnitude % 1_000_000)[...]
        while fraction.count > 2, fraction.last == "0" { fraction = fraction.dropLast() }
        return "\(micros < 0 ? "-" : "")\(micros.magnitude / 1_000_000).\(fraction)"
    }
}
