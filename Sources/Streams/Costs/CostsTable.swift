import ConfigurationFiles
import JSON

/// A report in a line of a CSV file, read by a mapping.
package struct CostsLine: Equatable, Sendable {
    /// The number of the line in its file, from 1.
    package let line: Int
    /// What it says, by field. Days are written `2026-11-20`, amounts and counts as JSON numbers.
    package internal(set) var values: [CostMapping.Field: String]

    /// The event `cost.reported` of the line, as JSON.
    package var event: [UInt8] {
        var json = JSONText()
        json.object { json in
            for field in [CostMapping.Field.source, .day, .name, .country, .currency] {
                if let value = values[field] { json.member(field.rawValue, value) }
            }
            let campaign: [(CostMapping.Field, String)] = [
                (.network, "ad_network_id"), (.campaign, "source_identifier"), (.app, "app_id"),
                (.sourceApp, "source_app_id"),
            ]
            if campaign.contains(where: { values[$0.0] != nil }) {
                json.object("campaign") { json in
                    for (field, name) in campaign {
                        if let value = values[field] { json.member(name, value) }
                    }
                }
            }
            for field in [CostMapping.Field.amount] + CostMapping.Field.counts {
                guard let value = values[field] else { continue }
                json.name(field.rawValue)
                json.raw(value)
            }
        }
        return json.bytes
    }

    /// The amount in millionths of the currency's unit; nil when it is out of range.
    package var amountMicros: Int64? {
        var text = values[.amount] ?? "0"
        let amount = text.withUTF8 { DecimalMicros(UnsafeRawBufferPointer($0)) }
        return if case .micros(let micros) = amount { micros } else { nil }
    }
}

/// What is wrong with a line of a CSV file.
package struct CostsLineFault: Error, Equatable, Sendable, CustomStringConvertible {
    /// From 1.
    package let line: Int
    /// The header of the column; nil where the whole line is at fault.
    package let column: String?
    package let explanation: String

    package init(line: Int, column: String? = nil, _ explanation: String) {
        self.line = line
        self.column = column
        self.explanation = explanation
    }

    package var description: String {
        column.map { "column '\($0)' \(explanation)" } ?? explanation
    }
}

/// The reports in a CSV file of an ad platform or of finance.
///
/// What comes before the header is passed over: it is the first line that has all columns of the mapping.
package struct CostsTable: Sendable {
    /// The lines, in order, each as a report or as what is wrong with it; lines that the mapping skips are left out.
    package private(set) var lines: [Result<CostsLine, CostsLineFault>] = []
    package private(set) var skippedLines = 0

    /// How many lines are looked at for the header.
    private static let headerLines = 100

    /// Throws when there is no header, or the file is no CSV from some line on.
    package init(_ bytes: [UInt8], _ mapping: CostMapping) throws(CostsLineFault) {
        var reader = try Self.reader(bytes, mapping)
        let header = try Self.header(&reader, mapping)
        try read(&reader, header, mapping)
    }

    /// Reads a file whose header has the names of the fields.
    package init(namedColumns bytes: [UInt8]) throws(CostsLineFault) {
        var mapping = CostMapping()
        var reader = try Self.reader(bytes, mapping)
        guard let (line, fields) = try Self.next(&reader) else {
            throw CostsLineFault(line: 1, "the file is empty: begin with a line of column names")
        }
        for name in fields.map(\.trimmedCell) {
            guard let field = CostMapping.Field(rawValue: name) else {
                let known = CostMapping.Field.allCases.map(\.rawValue).joined(separator: ", ")
                throw CostsLineFault(line: line, column: name, "is not known: there are \(known)")
            }
            mapping.columns[field] = name
        }
        if let missing = CostMapping.Field.required.first(where: { mapping.columns[$0] == nil }) {
            throw CostsLineFault(line: line, column: missing.rawValue, "is missing")
        }
        try read(&reader, Header(line: line, fields, mapping), mapping)
    }

    private mutating func read(
        _ reader: inout CSVReader, _ header: Header, _ mapping: CostMapping
    ) throws(CostsLineFault) {
        while let (line, fields) = try Self.next(&reader) {
            let cells = fields.map(\.trimmedCell)
            if header.isSkipped(cells, mapping) {
                skippedLines += 1
                continue
            }
            do throws(CostsLineFault) {
                lines.append(.success(try header.line(line, cells, mapping)))
            } catch {
                lines.append(.failure(error))
            }
        }
        if mapping.repeatedRows == .addUp {
            addUpRepeated()
        } else {
            refuseRepeated()
        }
    }

    private static func reader(
        _ bytes: [UInt8], _ mapping: CostMapping
    ) throws(CostsLineFault) -> CSVReader {
        do throws(CSVFault) {
            return try CSVReader(bytes, separator: mapping.separator)
        } catch {
            throw CostsLineFault(line: error.line, error.explanation)
        }
    }

    private static func next(
        _ reader: inout CSVReader
    ) throws(CostsLineFault) -> (line: Int, fields: [String])? {
        do throws(CSVFault) {
            return try reader.next()
        } catch {
            throw CostsLineFault(line: error.line, error.explanation)
        }
    }

    private static func header(
        _ reader: inout CSVReader, _ mapping: CostMapping
    ) throws(CostsLineFault) -> Header {
        let wanted = mapping.headers
        var closest: (line: Int, missing: [String])?
        for _ in 0..<headerLines {
            guard let (line, fields) = try next(&reader) else { break }
            let missing = wanted.subtracting(fields.map(\.trimmedCell))
            if missing.isEmpty { return try Header(line: line, fields, mapping) }
            if missing.count < closest?.missing.count ?? .max { closest = (line, missing.sorted()) }
        }
        guard let closest else { throw CostsLineFault(line: 1, "the file is empty") }
        let names = closest.missing.map { "'\($0)'" }.joined(separator: ", ")
        throw CostsLineFault(
            line: closest.line,
            "no line has all columns of the mapping; this one comes closest and lacks \(names)")
    }

    /// Keeps the first of several lines of a cell, with the sums of all.
    private mutating func addUpRepeated() {
        var places: [[CostMapping.Field: String]: Int] = [:]
        var kept: [Result<CostsLine, CostsLineFault>] = []
        for line in lines {
            guard case .success(let report) = line, let place = places[report.cell],
                case .success(var first) = kept[place]
            else {
                if case .success(let report) = line { places[report.cell] = kept.count }
                kept.append(line)
                continue
            }
            kept[place] = first.add(report).map { .failure($0) } ?? .success(first)
        }
        lines = kept
    }

    private mutating func refuseRepeated() {
        var first: [[CostMapping.Field: String]: Int] = [:]
        for (place, line) in lines.enumerated() {
            guard case .success(let report) = line else { continue }
            guard let before = first[report.cell] else {
                first[report.cell] = report.line
                continue
            }
            lines[place] = .failure(
                CostsLineFault(
                    line: report.line,
                    "has the day, campaign, country and currency of line \(before), and would take its place: export a line each, or say repeated_rows: add_up in the mapping"
                ))
        }
    }
}

extension CostsLine {
    /// What tells its cell from others.
    fileprivate var cell: [CostMapping.Field: String] {
        values.filter { field, _ in
            field != .amount && field != .name && !CostMapping.Field.counts.contains(field)
        }
    }

    /// Adds another line of its cell; returns what is wrong with that, and nil when it is added.
    fileprivate mutating func add(_ other: CostsLine) -> CostsLineFault? {
        for line in [self, other] where line.amountMicros == nil {
            return CostsLineFault(
                line: line.line, "has an amount that is not between 0 and 1000000000")
        }
        // Each is at most 10^15.
        let before = values[.amount]
        values[.amount] = "\((amountMicros ?? 0) + (other.amountMicros ?? 0))e-6"
        guard amountMicros != nil else {
            values[.amount] = before
            return CostsLineFault(
                line: other.line,
                "brings the amount of its cell, which begins in line \(line), above 1000000000")
        }
        for field in CostMapping.Field.counts where other.values[field] != nil {
            let (sum, overflow) = (Int64(values[field] ?? "0") ?? 0).addingReportingOverflow(
                Int64(other.values[field] ?? "0") ?? 0)
            guard !overflow else {
                return CostsLineFault(line: other.line, "has a count that is too large")
            }
            values[field] = "\(sum)"
        }
        return nil
    }
}

/// Which column of a file has what.
private struct Header {
    private let names: [String]
    private let places: [String: Int]
    /// What the mapping takes, from left to right: of several faults in a line the first is named.
    private let columns: [(field: CostMapping.Field, name: String, place: Int)]

    /// Throws for a column of the mapping that is there twice.
    init(line: Int, _ fields: [String], _ mapping: CostMapping) throws(CostsLineFault) {
        names = fields.map(\.trimmedCell)
        var places: [String: Int] = [:]
        for (place, name) in names.enumerated() where mapping.headers.contains(name) {
            guard places.updateValue(place, forKey: name) == nil else {
                throw CostsLineFault(line: line, column: name, "is there twice: keep one")
            }
        }
        self.places = places
        columns = mapping.columns.compactMap { field, name in
            places[name].map { (field, name, $0) }
        }.sorted { ($0.place, $0.field.rawValue) < ($1.place, $1.field.rawValue) }
    }

    func isSkipped(_ cells: [String], _ mapping: CostMapping) -> Bool {
        mapping.skip.contains { skip in
            let place = places[skip.column] ?? cells.count
            return skip.includes(place < cells.count ? cells[place] : "")
        }
    }

    func line(
        _ line: Int, _ cells: [String], _ mapping: CostMapping
    ) throws(CostsLineFault) -> CostsLine {
        guard cells.count == names.count else {
            throw CostsLineFault(
                line: line, "has \(cells.count) fields, and the header has \(names.count)")
        }
        var values = mapping.fixed
        for (field, name, place) in columns {
            let cell = mapping.empty.contains(cells[place]) ? "" : cells[place]
            do throws(CellFault) {
                values[field] = try CostsCell(mapping: mapping, field: field).value(of: cell)
            } catch {
                throw CostsLineFault(line: line, column: name, error.explanation)
            }
        }
        return CostsLine(line: line, values: values)
    }
}

private struct CellFault: Error {
    let explanation: String
}

/// Reads the cells of a field.
private struct CostsCell {
    let mapping: CostMapping
    let field: CostMapping.Field

    /// Nil for an empty cell of a field that may be absent.
    func value(of cell: String) throws(CellFault) -> String? {
        guard !cell.isEmpty else {
            guard !CostMapping.Field.required.contains(field) else {
                throw CellFault(explanation: "is empty, and has to say the \(field.rawValue)")
            }
            return nil
        }
        switch field {
        case .day:
            guard let day = mapping.dayFormat.isoDay(cell), isDay(day) else {
                throw CellFault(
                    explanation: "has '\(cell)', which is no day as \(mapping.dayFormat)")
            }
            return day
        case .amount:
            guard let number = number(cell) else { throw CellFault(explanation: noNumber(cell)) }
            // Beyond what JSON numbers can say.
            guard Double(number)?.isFinite == true else {
                throw CellFault(explanation: "has '\(cell)', which is not between 0 and 1000000000")
            }
            return number
        case .impressions, .clicks, .installs:
            guard let digits = whole(cell[...]) else {
                throw CellFault(explanation: "has '\(cell)', which is no count")
            }
            return digits
        case .network: return cell.asciiLowercased
        default: return cell
        }
    }

    private func isDay(_ day: String) -> Bool {
        var day = day
        return day.withUTF8 { UTC.day(UnsafeRawBufferPointer($0)) } != nil
    }

    private func noNumber(_ cell: String) -> String {
        let thousands = mapping.thousands.map { ", '\($0)' between thousands" } ?? ""
        return
            "has '\(cell)', which is no amount with the decimal point '\(mapping.decimalPoint)'\(thousands)"
    }

    /// A JSON number: an optional sign, digits, a fraction and an exponent.
    private func number(_ cell: String) -> String? {
        var text = cell
        for symbol in mapping.symbols where !symbol.isEmpty {
            text = text.replacing(symbol, with: "")
        }
        text = text.trimmedCell
        let isNegative = text.hasPrefix("-")
        if isNegative { text.removeFirst() }
        let halves = text.trimmedCell.split(
            maxSplits: 1, omittingEmptySubsequences: false, whereSeparator: { "eE".contains($0) })
        let parts = halves[0].split(
            separator: mapping.decimalPoint, omittingEmptySubsequences: false)
        let fraction = parts.count > 1 ? parts[1] : "0"
        guard (1...2).contains(parts.count),
            let whole = whole(parts.count == 2 && parts[0].isEmpty ? "0" : parts[0]),
            isDigits(fraction),
            let exponent = halves.count == 1 ? 0 : Int32(halves[1])
        else { return nil }
        let power = Int64(exponent) - (mapping.isInMicros ? 6 : 0)
        return (isNegative ? "-" : "") + whole + (parts.count == 2 ? "." + fraction : "")
            + (power == 0 ? "" : "e\(power)")
    }

    /// The digits before the decimal point, without marks between thousands and zeros at the front. The last
    /// group has three digits: else a comma may be a decimal point that the mapping does not know.
    private func whole(_ text: Substring) -> String? {
        var digits = String(text)
        if let thousands = mapping.thousands, text.contains(thousands) {
            let groups = text.split(separator: thousands, omittingEmptySubsequences: false)
            guard groups.dropFirst().allSatisfy({ (2...3).contains($0.count) }),
                groups.last?.count == 3, (1...3).contains(groups[0].count)
            else { return nil }
            digits = groups.joined()
        }
        guard isDigits(digits[...]) else { return nil }
        let significant = digits.drop { $0 == "0" }
        return significant.isEmpty ? "0" : String(significant)
    }

    private func isDigits(_ text: Substring) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
    }
}

extension String {
    /// Without spaces at both ends, those that do not break among them.
    fileprivate var trimmedCell: String {
        let spaces: Set<Character> = [" ", "\t", "\u{A0}", "\u{202F}", "\r"]
        var rest = self[...]
        while let first = rest.first, spaces.contains(first) { rest.removeFirst() }
        while let last = rest.last, spaces.contains(last) { rest.removeLast() }
        return String(rest)
    }
}
