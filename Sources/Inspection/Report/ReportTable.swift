import Pipelines

/// The rows of a report, which can be written in any format.
package struct ReportTable: Sendable {
    package struct Column: Equatable, Sendable {
        package let name: String
        /// Whether tables align it to the right.
        package let isNumber: Bool

        package init(_ name: String, isNumber: Bool = false) {
            self.name = name
            self.isNumber = isNumber
        }
    }

    package let columns: [Column]
    /// The rows, with a value for each column.
    package let rows: [[ReportValue]]

    /// Makes a table; each row has a value for each column.
    package init(columns: [Column], rows: [[ReportValue]]) {
        self.columns = columns
        self.rows = rows
    }

    /// Writes the rows as UTF-8, in large pieces.
    ///
    /// - Parameter isRaw: whether CSV has every text as it is.
    package func write<Failure: Error>(
        as format: DumpFormat, isRaw: Bool = false, to sink: ([UInt8]) throws(Failure) -> Void
    ) throws(Failure) {
        switch format {
        case .table: try writeTable(to: sink)
        case .json: try writeArray(to: sink)
        case .ndjson: try writeLines(as: .ndjson, to: sink)
        case .csv: try writeLines(as: .csv(CSVLine(isRaw: isRaw)), to: sink)
        }
    }

    private func writeLines<Failure: Error>(
        as format: ReportLines.Format, to sink: ([UInt8]) throws(Failure) -> Void
    ) throws(Failure) {
        let lines = ReportLines(columns: columns.map(\.name), as: format)
        try sink(lines.header)
        try TextPieces.write(rows, to: sink) { row, text in lines.append(row, to: &text) }
    }

    private func writeArray<Failure: Error>(
        to sink: ([UInt8]) throws(Failure) -> Void
    ) throws(Failure) {
        guard !rows.isEmpty else { return try sink(Array("[]\n".utf8)) }
        let leads = Self.leads(of: columns.map(\.name))
        try TextPieces.write(rows.indices, to: sink) { index, text in
            JSONBytes.append(index == 0 ? "[" : ",\n ", to: &text)
            Self.append(rows[index], leads, to: &text)
        }
        try sink(Array("]\n".utf8))
    }

    private func writeTable<Failure: Error>(
        to sink: ([UInt8]) throws(Failure) -> Void
    ) throws(Failure) {
        guard !rows.isEmpty else { return try sink(Array("no rows\n".utf8)) }
        try TextTable(
            header: columns.map(\.name), isNumber: columns.map(\.isNumber),
            rows: rows.map { $0.map(\.words) }
        ).write(to: sink)
    }

    /// The text before each value of a JSON object with members of these names.
    static func leads(of names: [String]) -> [[UInt8]] {
        names.enumerated().map { index, name in
            var lead = [UInt8(ascii: index == 0 ? "{" : ",")]
            JSONBytes.appendString(name.utf8, to: &lead)
            return lead + [UInt8(ascii: ":")]
        }
    }

    /// Appends a row as a JSON object, with `leads` before its values.
    static func append(
        _ row: [ReportValue], _ leads: [[UInt8]], to json: inout [UInt8]
    ) {
        var object: [UInt8] = []
        for (lead, value) in zip(leads, row) {
            object.append(contentsOf: lead)
            value.append(to: &object)
        }
        object.append(UInt8(ascii: "}"))
        json.append(contentsOf: JSONBytes.shown(object))
    }
}

extension Dump {
    /// The measures that are not 0 in every row.
    package var countedMeasures: [String] {
        measures.indices.filter { index in rows.contains { $0.measures[index] != 0 } }
            .map { measures[$0] }
    }

    /// The dump with only these measures, in its own order. Throws `unknownMeasure`.
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
    /// The table with its key columns and only these measures. Throws `unknownMeasure`.
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
    /// The table with only the wanted columns.
    func limited(to isWanted: (String) -> Bool) -> ReportTable {
        let places = columns.indices.filter { isWanted(columns[$0].name) }
        return ReportTable(
            columns: places.map { columns[$0] },
            rows: rows.map { row in places.map { row[$0] } })
    }
}

/// A table for people: aligned columns, numbers to the right.
package struct TextTable: Sendable {
    private let rows: [[String]]
    private let isNumber: [Bool]
    private let widths: [Int]

    /// - Parameters:
    ///   - header: the names of the columns.
    ///   - isNumber: for each column, whether it is aligned to the right.
    ///   - rows: the cells; control characters and backslashes in them are shown as escapes.
    package init(header: [String], isNumber: [Bool], rows: [[String]]) {
        self.isNumber = isNumber
        let cells = ([header] + rows).map { $0.map(\.escaped) }
        widths = header.indices.map { column in
            cells.map { $0[column].unicodeScalars.count }.max() ?? 0
        }
        self.rows = cells
    }

    /// The header and the rows, without line ends.
    package var lines: [String] {
        rows.map { row in
            var line = ""
            var owed = 0
            for (column, cell) in row.enumerated() {
                let padding = widths[column] - cell.unicodeScalars.count
                if isNumber[column] { owed += padding }
                // Spaces are written before the next cell only, so that no line ends in any.
                if !cell.isEmpty {
                    line += String(repeating: " ", count: owed) + cell
                    owed = 0
                }
                owed += (isNumber[column] ? 0 : padding) + Self.gap
            }
            return line
        }
    }

    /// Hands the lines over, with their ends, in large pieces.
    func write<Failure: Error>(to sink: ([UInt8]) throws(Failure) -> Void) throws(Failure) {
        try TextPieces.write(lines, to: sink) { line, text in
            text.append(contentsOf: line.utf8)
            text.append(TextPieces.newline)
        }
    }

    private static let gap = 2
}
