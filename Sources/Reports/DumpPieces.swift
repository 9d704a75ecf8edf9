import Store
import Streams

// Dumps of any size. `SortedSums` sums and sorts the rows. They are handed over in pieces after the stores are closed,
// so that a slow reader does not block a worker's checkpoint.

/// Limits a dump to some of its rows.
package struct RowBound: Hashable, Sendable {
    /// The maximum number of rows.
    package let count: Int
    /// The column or measure to sort by, largest first; nil for the first rows.
    package let largest: String?

    package init(_ count: Int, largest: String? = nil) {
        self.count = count
        self.largest = largest
    }
}

extension OpenStores {
    /// Reads a dump in bounded memory. Calls `body` with some rows at a time, in the order of the dump; once without
    /// rows if the dump is empty.
    ///
    /// - Throws: as `dump`; `temporaryFile` when rows cannot be sorted; errors of `body`.
    package func forEachPiece(
        of request: ReportRequest, _ configuration: DumpConfiguration = DumpConfiguration(),
        memoryBytes: Int = SortedSums.defaultBytes, _ body: (Dump) throws -> Void
    ) throws {
        let pieces = try DumpPieces(request, configuration, memoryBytes: memoryBytes)
        try view(of: pieces.figure.streams) { try pieces.read($0) }
        try pieces.forEach(body)
    }

    /// Reads some rows of a dump in bounded memory.
    ///
    /// - Returns: the kept rows, and the total number of rows.
    package func dump(
        _ request: ReportRequest, _ configuration: DumpConfiguration = DumpConfiguration(),
        keeping bound: RowBound
    ) throws -> (dump: Dump, rowCount: Int) {
        var kept: KeptRows?
        try forEachPiece(of: request, configuration) { piece in
            if kept == nil { kept = KeptRows(piece, bound) }
            kept?.add(piece.rows)
        }
        guard let kept else { return (try dump(request, configuration), 0) }
        return (kept.dump, kept.rowCount)
    }

    /// Writes a dump as UTF-8, in large pieces and bounded memory.
    ///
    /// - Parameters:
    ///   - format: any but a table, because its widths depend on all rows.
    ///   - change: transforms some rows at a time.
    package func write(
        _ request: ReportRequest, _ configuration: DumpConfiguration = DumpConfiguration(),
        as format: DumpFormat,
        isRaw: Bool = false, memoryBytes: Int = SortedSums.defaultBytes,
        changing change: (Dump) throws -> Dump = { $0 }, to sink: ([UInt8]) throws -> Void
    ) throws {
        var writer: RowWriter?
        try forEachPiece(of: request, configuration, memoryBytes: memoryBytes) { piece in
            let piece = try change(piece)
            if writer == nil {
                writer = RowWriter(piece.reportColumns.map(\.name), format, isRaw: isRaw)
            }
            for row in piece.rows {
                writer?.append(piece.values(of: row))
                if let full = writer?.fullPiece() { try sink(full) }
            }
        }
        if let writer { try sink(writer.finish()) }
    }
}

/// The rows of a dump, read completely before they are handed over.
private final class DumpPieces {
    let figure: DumpFigure
    private let rule: CampaignIDRule
    private let memoryBytes: Int
    private let sums: SortedSums
    /// Index of an unrequested currency among all columns; nil without one.
    private let ownCurrency: Int?
    private let moneyIndices: [Int]
    /// The currencies of nonzero amounts; collecting stops at two.
    private var paid: Set<String> = []

    /// Rows per piece.
    private static let pieceRows = 1000

    init(
        _ request: ReportRequest, _ configuration: DumpConfiguration, memoryBytes: Int
    ) throws(InspectionError) {
        precondition(!request.maturity, "windows of postbacks are of a whole dump")
        let figure = try DumpFigure(request, configuration)
        self.figure = figure
        self.memoryBytes = memoryBytes
        rule = CampaignIDRule(figure.description.columns)
        let currency = figure.description.columns.firstIndex { $0.name == Dump.currency }
        let isOwn = request.tellsCurrenciesApart && !request.grouping.names(Dump.currency)
        ownCurrency =
            isOwn ? currency.flatMap { figure.selection.indices.contains($0) ? $0 : nil } : nil
        moneyIndices = figure.measures.indices.filter {
            MoneyByCurrency.isMoney(figure.measures[$0])
        }
        sums = SortedSums(measureCount: figure.measures.count, mostBytes: memoryBytes)
    }

    func read(_ view: StoreView) throws {
        try view.forEachSum(of: figure) { values, row, first in
            var key = RowKeyBytes()
            for index in figure.selection.indices { key.append(values[index]) }
            try sums.add(key, kinds: CampaignIDKinds(rule.kind(values))) {
                $0.add(row, at: first)
            }
            guard let ownCurrency, paid.count < 2 else { return }
            for index in row.indices
            where row[index] != 0 && moneyIndices.contains(first + index) {
                paid.insert(values[ownCurrency].text)
            }
        }
    }

    func forEach(_ body: (Dump) throws -> Void) throws {
        var indices = figure.selection.indices
        var sums = sums
        // If all amounts have one currency, rows do not need to be split by currency.
        if let ownCurrency, paid.count < 2, let own = indices.firstIndex(of: ownCurrency) {
            let kinds = figure.selection.columns.map(\.kind)
            indices.remove(at: own)
            let joined = SortedSums(measureCount: figure.measures.count, mostBytes: memoryBytes)
            try sums.forEach { group in
                guard isShown(group) else { return }
                var values = group.key.values(of: kinds)
                values.remove(at: own)
                try joined.add(RowKeyBytes(values), kinds: group.kinds) {
                    $0.add(group.measures)
                }
            }
            sums = joined
        }
        let columns = indices.map { figure.description.columns[$0] }
        let measures = figure.shownMeasures
        var piece = Dump(columns: columns, measures: measures, rows: [])
        piece.thousandPrices = figure.thousandPrices
        if indices.count < figure.selection.indices.count { piece.onlyCurrency = paid.first }
        let kinds = columns.map(\.kind)
        var isFirst = true
        try sums.forEach { group in
            guard isShown(group) else { return }
            var row = Dump.Row(
                columns: group.key.values(of: kinds),
                measures: measures.isEmpty ? [] : group.measures)
            row.campaignIDKinds = group.kinds
            piece.rows.append(row)
            guard piece.rows.count >= Self.pieceRows else { return }
            try body(piece)
            isFirst = false
            piece.rows.removeAll(keepingCapacity: true)
        }
        if isFirst || !piece.rows.isEmpty { try body(piece) }
    }

    /// Skips rows of zeros.
    private func isShown(_ group: SortedSums.Group) -> Bool {
        figure.shownMeasures.isEmpty || !group.measures.isZero
    }
}

/// The rows that a bound keeps.
private struct KeptRows {
    private(set) var rowCount = 0
    private var kept: Dump
    /// The index of each kept row in the whole dump.
    private var numbers: [Int] = []
    private let bound: RowBound
    private let column: Int?
    private let measure: Int?

    /// - Parameter empty: has the columns and measures of the dump.
    init(_ empty: Dump, _ bound: RowBound) {
        kept = empty
        kept.rows = []
        self.bound = bound
        measure = bound.largest.flatMap { empty.measures.firstIndex(of: $0) }
        column = bound.largest.flatMap { name in
            empty.columns.firstIndex { $0.name == name && $0.kind == .integer }
        }
    }

    mutating func add(_ rows: [Dump.Row]) {
        for row in rows {
            if isOrdered || kept.rows.count < bound.count {
                kept.rows.append(row)
                numbers.append(rowCount)
            }
            rowCount += 1
        }
        if kept.rows.count > 2 * bound.count + 1000 { trim() }
    }

    /// The kept rows, largest first.
    var dump: Dump {
        var copy = self
        copy.trim()
        return copy.kept
    }

    private var isOrdered: Bool { measure != nil || column != nil }

    /// Unknown amounts come last.
    private func amount(_ row: Dump.Row) -> Int128 {
        if let measure { return row.measures[measure] ?? .min }
        return column.map { Int128(row.columns[$0].integer) } ?? 0
    }

    private mutating func trim() {
        guard isOrdered else { return }
        let amounts = kept.rows.map(amount)
        let order = kept.rows.indices.sorted {
            amounts[$0] == amounts[$1] ? numbers[$0] < numbers[$1] : amounts[$0] > amounts[$1]
        }.prefix(bound.count)
        (kept.rows, numbers) = (order.map { kept.rows[$0] }, order.map { numbers[$0] })
    }
}
