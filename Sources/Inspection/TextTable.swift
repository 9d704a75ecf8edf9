import Pipelines

/// A table for people: aligned columns, numbers to the right.
package struct TextTable: Sendable {
    private let rows: [[String]]
    private let isNumber: [Bool]
    private let widths: [Int]

    /// Makes a table.
    ///
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

    private static let gap = 2
}
