import Streams

/// An aggregate is kept as two tables: its keys, and its sums under the same row numbers. Most rows that a
/// batch touches are there already, so SQLite reads and writes short rows of sums. The view that joins
/// them has the aggregate's name.
extension AggregateTable {
    private var keyNames: [String] { ["partition"] + columns.map(\.name) }

    /// Makes the row of a key, unless it is there.
    var insertKeySQL: String {
        """
        INSERT INTO \(sqlName)_keys (\(keyNames.joined(separator: ", ")))
        VALUES (\(Self.places(keyNames.count)))
        ON CONFLICT (\(keyNames.joined(separator: ", "))) DO NOTHING
        """
    }

    /// The number of a key's row.
    var rowNumberSQL: String {
        let conditions = keyNames.map { "\($0) = ?" }
        return "SELECT row FROM \(sqlName)_keys WHERE \(conditions.joined(separator: " AND "))"
    }

    /// The first sums of a row that was just made: its number, then every measure.
    var insertSumsSQL: String {
        """
        INSERT INTO \(sqlName)_sums (row, \(measures.joined(separator: ", ")))
        VALUES (\(Self.places(1 + measures.count)))
        """
    }

    /// Adds to some measures, given as bits, of the row of a number: the measures in order, then the
    /// number.
    func addSQL(_ changed: UInt64) -> String {
        let sums = measures.enumerated().filter { changed >> UInt64($0.offset) & 1 == 1 }
            .map { "\($0.element) = \($0.element) + ?" }
        return "UPDATE \(sqlName)_sums SET \(sums.joined(separator: ", ")) WHERE row = ?"
    }

    private static func places(_ count: Int) -> String {
        Array(repeating: "?", count: count).joined(separator: ", ")
    }
}
