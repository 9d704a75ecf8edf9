/// A column of an aggregate, which reads itself from rows. It is declared with a property of the key, so that a wrong
/// column name or table does not compile:
///
///     let verdict = PostbacksKey.column(\.verdict)
package struct TableColumn<Key: RowKey, Value>: Sendable {
    /// The index among the table's columns.
    package let index: Int

    fileprivate init(index: Int) {
        self.index = index
    }
}

/// Columns that are read together.
package protocol ReadColumns<Key>: Sendable {
    associatedtype Key: RowKey

    /// The indices among the table's columns.
    var indices: [Int] { get }
}

extension TableColumn: ReadColumns {
    package var indices: [Int] { [index] }
}

extension RowKey {
    /// The hour or day of rows.
    package static var time: TableColumn<Self, String> { TableColumn(index: 0) }

    package static func column(_ path: KeyPath<Self, Symbol>) -> TableColumn<Self, String> {
        TableColumn(index: columns.index(of: path))
    }

    package static func column(
        _ path: KeyPath<Self, some ColumnWord>
    ) -> TableColumn<Self, String> { TableColumn(index: columns.index(of: path)) }

    package static func column(_ path: KeyPath<Self, Int64>) -> TableColumn<Self, Int64> {
        TableColumn(index: columns.index(of: path))
    }

    package static func column(_ path: KeyPath<Self, Bool>) -> TableColumn<Self, Bool> {
        TableColumn(index: columns.index(of: path))
    }
}

extension ColumnWord {
    /// The word as stored in rows.
    package var text: String { "\(name)" }
}

extension KeyColumns {
    /// The index of a property's column in the table; the time of rows is the first column.
    fileprivate func index(of path: PartialKeyPath<Key>) -> Int {
        let start = Self.offset(of: path)
        guard let index = all.firstIndex(where: { $0.bytes.lowerBound == start }) else {
            preconditionFailure("\(path) is no column")
        }
        return index + 1
    }
}
