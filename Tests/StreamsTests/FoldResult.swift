import EventLog
import Streams
import Testing

enum Field: Hashable, CustomStringConvertible, ExpressibleByStringLiteral,
    ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral
{
    case text(String)
    case integer(Int64)
    case boolean(Bool)

    init(stringLiteral value: String) { self = .text(value) }
    init(integerLiteral value: Int64) { self = .integer(value) }
    init(booleanLiteral value: Bool) { self = .boolean(value) }

    var description: String {
        switch self {
        case .text(let text): "\"\(text)\""
        case .integer(let integer): "\(integer)"
        case .boolean(let boolean): "\(boolean)"
        }
    }

    /// Empty text, 0 and false, which rows of tests leave out.
    var isDefault: Bool {
        switch self {
        case .text(let text): text.isEmpty
        case .integer(let integer): integer == 0
        case .boolean(let boolean): !boolean
        }
    }
}

/// The columns of a row as dumps show them, or columns and measures; without empty texts, zeros, false, and the hour
/// when it is that of `TestRecord.halfPastFive`.
typealias Row = [String: Field]

/// What a fold did, over all batches.
struct FoldResult: Equatable {
    /// A record that was kept instead of counted.
    struct Refused: Equatable, CustomStringConvertible {
        var partition: Int32
        var offset: Int64
        var type: String
        var reason: String
        var detail: String

        var description: String { "\(partition)/\(offset) \(type) \(reason): \(detail)" }
    }

    struct Published: Equatable {
        var partner: String
        var id: String
        var revision: Int64
        var partition: Int32
        var offset: Int64
        var document: String
    }

    /// Sums by aggregate, partition and columns.
    private(set) var sums: [String: [Int32: [Row: [String: Int64]]]] = [:]
    private(set) var refused: [Refused] = []
    private(set) var published: [Published] = []
    private(set) var nextOffsets: [Int32: Int64] = [:]
    private(set) var watermarks: [Int32: Int64] = [:]
    private(set) var records: Int64 = 0

    /// Folds a batch that was prepared, and takes what came of it.
    mutating func add<Fold: StreamFold>(
        _ prepared: Fold.Prepared, foldedBy fold: Fold
    ) throws {
        let batch = prepared.batch
        for index in 0..<batch.count { try fold.fold(index, of: prepared) }
        #expect(!fold.hasOverflowed)
        let effects = fold.effects
        for table in fold.deltas + [effects.outcomes] { add(table, effects.symbols) }
        for record in effects.refused {
            refused.append(
                Refused(
                    partition: batch[record.index].partition, offset: batch[record.index].offset,
                    type: record.type, reason: record.reason, detail: record.detail))
        }
        for progress in effects.progress {
            nextOffsets[progress.partition] = progress.nextOffset
            watermarks[progress.partition] = progress.watermarkMilliseconds
            records += progress.records
        }
        published += fold.outbox.map {
            Published(
                partner: $0.partner, id: $0.id, revision: $0.document.revision,
                partition: $0.partition,
                offset: $0.originOffset, document: $0.document.stored)
        }
    }

    private mutating func add(_ deltas: Deltas, _ symbols: SymbolTable) {
        let table = deltas.table
        deltas.forEachRow { index, measures in
            var row: Row = [:]
            var columns = table.columns.makeIterator()
            deltas.forEachColumn(ofRow: index) { value in
                guard let column = columns.next() else { return }
                let field = Self.field(value, symbols)
                if column.isDefault, !field.isDefault { row[column.name] = field }
            }
            if row["hour"] == "2026-11-21T05:00:00Z" { row["hour"] = nil }
            for (name, amount) in zip(table.measures, measures) where amount != 0 {
                sums[table.name, default: [:]][deltas.place(ofRow: index).partition, default: [:]][
                    row, default: [:]][name, default: 0] += amount
            }
        }
    }

    private static func field(_ value: ColumnValue, _ symbols: SymbolTable) -> Field {
        switch value {
        case .hour(let hour): .text(hour.text)
        case .day(let hour): .text(hour.day)
        case .symbol(let symbol): .text(symbols.text(symbol))
        case .text(let text): .text("\(text)")
        case .integer(let integer): .integer(integer)
        case .boolean(let boolean): .boolean(boolean)
        }
    }

    /// The rows of a dump, summed over partitions; columns and measures together.
    func rows(_ dump: String) -> Set<Row> {
        var total: [Row: [String: Int64]] = [:]
        for partition in (sums[dump] ?? [:]).values {
            for (row, measures) in partition {
                for (name, amount) in measures {
                    total[row, default: [:]][name, default: 0] += amount
                }
            }
        }
        return Set(
            total.map { row, measures in
                row.merging(measures.mapValues { Field.integer($0) }) { column, _ in column }
            })
    }

    /// The sum of a measure over all rows of a dump whose columns are these.
    func sum(_ dump: String, _ measure: String, where columns: Row = [:]) -> Int64 {
        rows(dump).filter { row in columns.allSatisfy { row[$0.key] == $0.value } }
            .reduce(0) { sum, row in
                if case .integer(let amount)? = row[measure] { sum + amount } else { sum }
            }
    }

    /// How many records had an outcome.
    func outcome(_ outcome: Outcome) -> Int64 {
        sum("outcomes", OutcomeKey.table.measures[outcome.rawValue])
    }

    /// The reasons of refused records, in order.
    var reasons: [String] { refused.map(\.reason) }
}
