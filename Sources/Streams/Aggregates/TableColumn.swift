/// A column of an aggregate, which reads itself from rows. It is made of the property that the column shows, so that
/// the name of another column, or of one of another table, does not compile:
///
///     let verdict = PostbacksKey.column(\.verdict)
package struct TableColumn<Key: RowKey, Value>: Sendable {
    /// The place among the table's columns.
    package let place: Int

    fileprivate init(place: Int) {
        self.place = place
    }
}

/// Columns that are read together.
package protocol ReadColumns<Key>: Sendable {
    associatedtype Key: RowKey

    /// Their places among the table's columns.
    var places: [Int] { get }
}

extension TableColumn: ReadColumns {
    package var places: [Int] { [place] }
}

extension RowKey {
    /// The hour of rows, or their day.
    package static var time: TableColumn<Self, String> { TableColumn(place: 0) }

    package static func column(_ path: KeyPath<Self, Symbol>) -> TableColumn<Self, String> {
        TableColumn(place: columns.place(of: path))
    }

    package static func column(
        _ path: KeyPath<Self, some ColumnWord>
    ) -> TableColumn<Self, String> { TableColumn(place: columns.place(of: path)) }

    package static func column(_ path: KeyPath<Self, Int64>) -> TableColumn<Self, Int64> {
        TableColumn(place: columns.place(of: path))
    }

    package static func column(_ path: KeyPath<Self, Bool>) -> TableColumn<Self, Bool> {
        TableColumn(place: columns.place(of: path))
    }
}

extension ColumnWord {
    /// The word as it is in rows.
    package var text: String { "\(name)" }
}

extension KeyColumns {
    /// The place among the table's columns of the one that shows a property: the time of rows comes first.
    fileprivate func place(of path: PartialKeyPath<Key>) -> Int {
        let start = Self.offset(of: path)
        guard let index = all.firstIndex(where: { $0.bytes.lowerBound == start }) else {
            preconditionFailure("\(path) is no column")
        }
        return index + 1
    }
}
