import Streams

extension AggregateTable {
    /// Adds to the row of a key, which is made when it is not there; returns its number.
    var upsertSQL: String {
        let keys = ["partition"] + columns.map(\.name)
        let places = Array(repeating: "?", count: keys.count + measures.count)
        let sums = measures.map { "\($0) = \($0) + excluded.\($0)" }
        return """
            INSERT INTO \(sqlName) (\((keys + measures).joined(separator: ", ")))
            VALUES (\(places.joined(separator: ", ")))
            ON CONFLICT (\(keys.joined(separator: ", ")))
            DO UPDATE SET \(sums.joined(separator: ", "))
            RETURNING row
            """
    }

    /// Adds to some measures, given as bits, of the row of a number.
    func updateSQL(_ changed: UInt64) -> String {
        let sums = measures.enumerated().filter { changed >> UInt64($0.offset) & 1 == 1 }
            .map { "\($0.element) = \($0.element) + ?" }
        // A row that nothing is added to is written as it is.
        let list = sums.isEmpty ? "row = row" : sums.joined(separator: ", ")
        return "UPDATE \(sqlName) SET \(list) WHERE row = ?"
    }
}
