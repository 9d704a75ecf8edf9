import ConfigurationFiles

/// How rows are written.
package enum DumpFormat: String, CaseIterable, Sendable {
    /// Aligned columns under a header, for people.
    case table
    /// One array of objects, a row a line.
    case json
    /// An object a line.
    case ndjson
    /// RFC 4180: a header, CRLF, quotes where they are needed.
    case csv
}

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
        try Self.write(rows, columns, as: format, isRaw: isRaw, to: sink) { $0 }
    }

    /// Writes rows whose values are made one row at a time: a dump may have many.
    static func write<Row, Failure: Error>(
        _ rows: [Row], _ columns: [Column], as format: DumpFormat, isRaw: Bool,
        to sink: ([UInt8]) throws(Failure) -> Void, values: (Row) -> [ReportValue]
    ) throws(Failure) {
        let names = columns.map(\.name)
        var writer: RowWriter
        switch format {
        case .table:
            guard !rows.isEmpty else { return try sink(Array("no rows\n".utf8)) }
            return try TextTable(
                header: names, isNumber: columns.map(\.isNumber),
                rows: rows.map { values($0).map(\.plainText) }
            ).write(to: sink)
        case .json: writer = RowWriter(names, as: .array)
        case .ndjson: writer = RowWriter(names, as: .lines)
        case .csv: writer = RowWriter(names, as: .csv(isRaw: isRaw))
        }
        for row in rows {
            writer.append(values(row))
            if let piece = writer.fullPiece() { try sink(piece) }
        }
        try sink(writer.finish())
    }

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

    private static let gap = 2
}
