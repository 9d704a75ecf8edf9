import ConfigurationValues
import JSON

/// A report in a line of a CSV file, read with a mapping.
package struct CostsLine: Equatable, Sendable {
    /// The line number in the file, from 1.
    package let line: Int
    /// The values by field. Days have the form `2026-11-20`; amounts and counts are JSON numbers.
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

    /// The amount in millionths of the currency's unit; nil if out of range.
    package var amountMicros: Int64? {
        var text = values[.amount] ?? "0"
        let amount = text.withUTF8 { DecimalMicros(UnsafeRawBufferPointer($0)) }
        return if case .micros(let micros) = amount { micros } else { nil }
    }
}

package struct CostsLineFault: Error, Equatable, Sendable, CustomStringConvertible {
    /// The line number, from 1.
    package let line: Int
    /// The column's header; nil if the whole line is faulty.
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

/// The reports in a CSV file of an ad platform or a finance department.
///
/// The header is the first line with all columns of the mapping; earlier lines are skipped.
package struct CostsTable: Sendable {
    /// The lines in order, each as a report or a fault, without the lines that the mapping skips.
    package private(set) var lines: [Result<CostsLine, CostsLineFault>] = []
    package private(set) var skippedLines = 0
    /// The mapping with this file's headers.
    package let mapping: CostMapping

    /// Throws if the header is missing, or if the file is not valid CSV.
    package init(_ bytes: [UInt8], _ mapping: CostMapping) throws(CostsLineFault) {
        var reader = try Self.reader(bytes, mapping)
        let found = try HeaderSearch(&reader, bytes, mapping).found
        self.mapping = found.mapping
        try read(&reader, Header(line: found.line, found.fields, found.mapping))
    }

    /// Reads a file with the fields' names as its header.
    package init(namedColumns bytes: [UInt8]) throws(CostsLineFault) {
        var mapping = CostMapping()
        var reader = try Self.reader(bytes, mapping)
        guard let (line, fields) = try Self.next(&reader) else {
            throw CostsLineFault(line: 1, "the file is empty: begin with a line of column names")
        }
        for name in fields.map(\.headerText) {
            guard let field = CostMapping.Field(rawValue: name) else {
                let known = CostMapping.Field.allCases.map(\.rawValue).joined(separator: ", ")
                throw CostsLineFault(line: line, column: name, "is unknown: use one of \(known)")
            }
            mapping.columns[field] = name
        }
        if let missing = CostMapping.Field.required.first(where: { mapping.columns[$0] == nil }) {
            throw CostsLineFault(line: line, column: missing.rawValue, "is missing")
        }
        self.mapping = mapping
        try read(&reader, Header(line: line, fields, mapping))
    }

    private mutating func read(
        _ reader: inout CSVReader, _ header: Header
    ) throws(CostsLineFault) {
        while let (line, fields) = try Self.next(&reader) {
            // From a concatenated file with the same columns.
            if header.isRepeated(by: fields) { continue }
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

    static func reader(
        _ bytes: [UInt8], _ mapping: CostMapping
    ) throws(CostsLineFault) -> CSVReader {
        do throws(CSVFault) {
            return try CSVReader(bytes, separator: mapping.separator)
        } catch {
            throw CostsLineFault(line: error.line, error.explanation)
        }
    }

    static func next(
        _ reader: inout CSVReader
    ) throws(CostsLineFault) -> (line: Int, fields: [String])? {
        do throws(CSVFault) {
            return try reader.next()
        } catch {
            throw CostsLineFault(line: error.line, error.explanation)
        }
    }

    /// Replaces several lines of a cell by the first, with the sums of all.
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
                    "has the same day, campaign, country and currency as line \(before) and would replace it: export one line for each, or write repeated_rows: add_up in the mapping"
                ))
        }
    }
}

extension CostsLine {
    /// The fields that identify its cell.
    fileprivate var cell: [CostMapping.Field: String] {
        values.filter { field, _ in
            field != .amount && field != .name && !CostMapping.Field.counts.contains(field)
        }
    }

    /// Adds another line of its cell; returns a fault, or nil on success.
    fileprivate mutating func add(_ other: CostsLine) -> CostsLineFault? {
        for line in [self, other] where line.amountMicros == nil {
            return CostsLineFault(
                line: line.line, "has an amount that is not between 0 and 1000000000")
        }
        // Each amount is at most 10^15.
        let before = values[.amount]
        values[.amount] = "\((amountMicros ?? 0) + (other.amountMicros ?? 0))e-6"
        guard amountMicros != nil else {
            values[.amount] = before
            return CostsLineFault(
                line: other.line,
                "raises the amount that line \(line) begins above 1000000000")
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
