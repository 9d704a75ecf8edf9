import AggregateStore
import Inspection
import Streams

/// What the stores hold of a cell: its sums, and the hours of its rows.
struct CellScan {
    struct Place: Hashable {
        var stream: String
        var partition: Int32
    }

    private(set) var sums = CellAmounts()
    private(set) var hours: [Place: Set<Hour>] = [:]
    /// The currencies of amounts of money, by the measure of the cell that they give to.
    private(set) var currencies: [Int: Set<String>] = [:]

    /// Looks at all rows of the copies.
    ///
    /// - Parameter body: called with each row that counts.
    init(
        _ cell: any Cell, _ copies: [StreamCopy],
        _ body: (Place, AggregateTable, [StoredValue], [Int64]) throws -> Void = { _, _, _, _ in }
    ) throws {
        for (stream, tables) in cell.sources {
            for copy in copies where copy.stream == stream {
                for table in tables { try add(table, of: copy, cell, body) }
                if tables.isEmpty { try addRefusals(of: copy, cell) }
            }
        }
    }

    private mutating func add(
        _ table: AggregateTable, of copy: StreamCopy, _ cell: any Cell,
        _ body: (Place, AggregateTable, [StoredValue], [Int64]) throws -> Void
    ) throws {
        let partitions = Set(copy.partitions.map(\.partition))
        let hourPlace = table.columns.firstIndex { $0.kind == .hour }
        let currencyPlace = table.columns.firstIndex { $0.name == "currency" }
        try copy.snapshot.forEachRow(of: table, partitions: partitions) {
            partition, columns, measures in
            guard measures.contains(where: { $0 != 0 }),
                let terms = cell.terms(of: table, columns: columns)
            else { return }
            cell.note(table, columns: columns)
            sums.add(measures, terms)
            if let currencyPlace, case .text(let currency) = columns[currencyPlace] {
                for term in terms
                where measures[term.rowMeasure] != 0
                    && Money.isMoney(table.measures[term.rowMeasure])
                {
                    currencies[term.cellMeasure, default: []].insert(currency)
                }
            }
            let place = Place(stream: copy.stream, partition: partition)
            if let hourPlace, case .text(let text) = columns[hourPlace],
                let milliseconds = UTC.milliseconds(text: text)
            {
                hours[place, default: []].insert(Hour(containing: milliseconds))
            }
            try body(place, table, columns, measures)
        }
    }

    /// So many refused records are held at once.
    private static let refusalsAtOnce = 500

    private mutating func addRefusals(of copy: StreamCopy, _ cell: any Cell) throws {
        for state in copy.partitions {
            let place = Place(stream: copy.stream, partition: state.partition)
            var next = Int64.min
            while true {
                let refusals = try copy.snapshot.refused(
                    partition: state.partition, from: next, limit: Self.refusalsAtOnce)
                for refusal in refusals
                where cell.counts(refusal, topic: copy.snapshot.topic) {
                    sums.add(1, to: 0)
                    hours[place, default: []].insert(
                        Hour(containing: refusal.timestampMilliseconds))
                }
                guard let last = refusals.last else { break }
                next = last.offset + 1
            }
        }
    }
}
