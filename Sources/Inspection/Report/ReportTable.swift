/// Rows of a report, ready to be written in any format.
package struct ReportTable: Sendable {
    /// A column.
    package struct Column: Equatable, Sendable {
        /// Its name.
        package let name: String
        /// Whether tables align it to the right.
        package let isNumber: Bool

        /// Names a column.
        package init(_ name: String, isNumber: Bool = false) {
            self.name = name
            self.isNumber = isNumber
        }
    }

    /// The columns.
    package let columns: [Column]
    /// The rows, with a value for each column.
    package let rows: [[ReportValue]]

    /// Makes a table; each row has a value for each column.
    package init(columns: [Column], rows: [[ReportValue]]) {
        self.columns = columns
        self.rows = rows
    }

    /// Writes the rows, and hands the text, which is UTF-8, over in large pieces.
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
        let table = TextTable(
            header: columns.map(\.name), isNumber: columns.map(\.isNumber),
            rows: rows.map { $0.map(\.words) })
        try TextPieces.write(table.lines, to: sink) { line, text in
            text.append(contentsOf: line.utf8)
            text.append(TextPieces.newline)
        }
    }

    /// What stands before each value of a JSON object with members of these names.
    static func leads(of names: [String]) -> [[UInt8]] {
        names.enumerated().map { index, name in
            var lead = [UInt8(ascii: index == 0 ? "{" : ",")]
            JSONBytes.appendString(name.utf8, to: &lead)
            return lead + [UInt8(ascii: ":")]
        }
    }

    /// Appends a row as a JSON object, whose values come behind `leads`.
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
