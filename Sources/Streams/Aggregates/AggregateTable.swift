/// An aggregate: columns that name a row, and measures that add up.
///
/// It is declared once, by the `RowKey` of its rows. How rows are hashed, compared, stored and dumped, the
/// SQL of stores and the pages that list columns follow from that declaration:
///
///     struct LossReasonsKey: RowKey {
///         var seat: Symbol
///         var reason: Int64
///
///         enum Measure: Int, AggregateMeasure { case losses }
///
///         static let table = AggregateTable(
///             "loss-reasons", "Losses by OpenRTB's loss reason code.",
///             columns, measures: Measure.self)
///         static let columns: KeyColumns<Self> = [.text("seat", \.seat), .integer("reason", \.reason)]
///     }
///
/// Readers name properties of the key, as `LossReasonsKey.column(\.seat)`, and no places of columns.
package struct AggregateTable: Sendable {
    /// What a column holds.
    package enum ColumnKind: Sendable {
        /// An hour, as text.
        case hour
        /// A day in UTC, as text: `2026-11-21`; empty for none.
        case day
        /// UTF-8 text, compared as bytes.
        case text
        case integer
        /// True or false, stored as 1 or 0.
        case boolean

        /// Whether it is when a row counts, which its key does not say.
        package var isTime: Bool { self == .hour || self == .day }
    }

    /// What a number is counted in. Where nothing is declared it follows from the name: `_micros`, or a count.
    package enum Unit: String, Sendable {
        case count
        /// Millionths of a unit of the row's currency.
        case micros = "micros of the row's currency"
        /// The same, of prices for a thousand impressions.
        case cpmMicros = "micros of the row's currency, CPM"
        /// Since 1970.
        case milliseconds = "milliseconds since 1970"

        fileprivate init(ofMeasure name: String) {
            self = name.hasSuffix("_micros") ? .micros : .count
        }
    }

    /// What the name of a column or a measure does not say; may be empty.
    package struct Note: ExpressibleByStringLiteral, Sendable {
        package let text: String
        package let unit: Unit?
        /// Whether the schema of stores says it too. Notes that came later are on `docs/reference/dumps.md` alone: the
        /// text of a schema stays what it is in the stores that exist.
        package let isInSchema: Bool

        package init(_ text: String, unit: Unit? = nil, isInSchema: Bool = true) {
            self.text = text
            self.unit = unit
            self.isInSchema = isInSchema
        }

        package init(stringLiteral text: String) {
            self.init(text)
        }

        package static func page(_ text: String) -> Note {
            Note(text, isInSchema: false)
        }
    }

    /// A day on which rows count, by what their records say. It is empty where they say none.
    package struct Day: Sendable {
        /// Name of the column.
        let name: String
        let note: Note
        /// Whether no record comes earlier than the day before the one on which it counts.
        package let isAtMostTomorrow: Bool

        package init(_ name: String, _ note: Note, isAtMostTomorrow: Bool = false) {
            self.name = name
            self.note = note
            self.isAtMostTomorrow = isAtMostTomorrow
        }
    }

    /// A column of the row's key.
    package struct Column: Sendable {
        /// The name, in the store and in dumps.
        package let name: String
        package let kind: ColumnKind
        package let note: Note
        /// False for one that tells rows apart in the store, and that dumps show only when it is asked for.
        package let isDefault: Bool
        /// The texts of a column that counts up, in their order; empty for any other column. Stores sort them as texts.
        package let steps: [String]

        package init(
            _ name: String, _ kind: ColumnKind, _ note: Note = "", isDefault: Bool = true,
            steps: [String] = []
        ) {
            self.name = name
            self.kind = kind
            self.note = note
            self.isDefault = isDefault
            self.steps = steps
        }
    }

    /// Name of the dump, with dashes.
    package let name: String
    /// What its rows are.
    package let note: String
    /// The columns, in the order in which rows are sorted. The first is when a row counts: the hour of the record's
    /// timestamp, or a day that follows from what the record says.
    package private(set) var columns: [Column]
    /// Names of the measures: signed 64-bit sums.
    package private(set) var measures: [String]
    private let measureNotes: [String: Note]

    /// The day on which rows count, in place of the hour of their records; nil for those of hours.
    package let day: Day?

    /// Whether rows count on a day that follows from what their records say, and not in the hour of these.
    package var hasDays: Bool { day != nil }

    /// Name of the SQL view: the dump's name with underscores.
    package var sqlName: String { name.replacing("-", with: "_") }

    /// - Parameter day: of rows that count on one.
    package init<Key, Measure: AggregateMeasure>(
        _ name: String, _ note: String, _ columns: KeyColumns<Key>, measures: Measure.Type,
        notes: [Measure: Note] = [:], day: Day? = nil
    ) {
        self.name = name
        self.note = note
        self.day = day
        let time =
            day.map { Column($0.name, .day, $0.note) }
            ?? Column("hour", .hour, "of the record's timestamp, UTC")
        self.columns = [time] + columns.all.map(\.column)
        self.measures = measures.allCases.map(\.name)
        measureNotes = Dictionary(uniqueKeysWithValues: notes.map { ($0.key.name, $0.value) })
    }

    package func note(ofMeasure name: String) -> Note { measureNotes[name] ?? "" }

    package func unit(ofMeasure name: String) -> Unit {
        note(ofMeasure: name).unit ?? Unit(ofMeasure: name)
    }

    /// The same rows with only some of their columns and measures, by their places, in this order, for reading. Several
    /// of its rows may be alike.
    package func selecting(_ columns: [Int], measures: [Int]) -> AggregateTable {
        var selected = self
        selected.columns = columns.map { self.columns[$0] }
        selected.measures = measures.map { self.measures[$0] }
        return selected
    }
}

/// The measures of an aggregate, in the table's order: their raw values count from 0.
package protocol AggregateMeasure: CaseIterable, RawRepresentable<Int>, Hashable, Sendable {}

extension AggregateMeasure {
    /// The measure's name in stores and dumps: `price_micros` for the case `priceMicros`.
    package var name: String {
        "\(self)".reduce(into: "") { name, character in
            name += character.isUppercase ? "_" + character.lowercased() : String(character)
        }
    }
}

/// A value of a column, borrowed from a row's key.
package enum ColumnValue {
    case hour(Hour)
    /// The day that an hour begins.
    case day(Hour)
    /// A text of the fold's symbol table.
    case symbol(Symbol)
    case text(StaticString)
    case integer(Int64)
    case boolean(Bool)
}

/// The key of an aggregate's row, beside the partition and the hour or day that every row has.
///
/// All its stored properties are columns.
package protocol RowKey: Equatable, Sendable {
    associatedtype Measure: AggregateMeasure

    static var table: AggregateTable { get }
    /// The columns after the hour or day.
    static var columns: KeyColumns<Self> { get }
}

/// A word that stands in a column; its type has no payload and a case a word.
package protocol ColumnWord: Sendable {
    /// The word as it is stored and printed.
    var name: StaticString { get }
}

/// Columns that are stored properties of a key. Their values are read from the key's memory: a key path
/// costs more than the rest of a row's work.
package struct KeyColumns<Key>: Sendable, ExpressibleByArrayLiteral {
    struct Field: Sendable {
        let column: AggregateTable.Column
        /// The place and the size of the property in the key's memory.
        var bytes: Range<Int>
        let value: @Sendable (UnsafeRawPointer) -> ColumnValue
    }

    let all: [Field]

    private init(_ all: [Field]) {
        self.all = all
    }

    package init(arrayLiteral parts: KeyColumns...) {
        all = parts.flatMap(\.all)
    }

    package static func text(
        _ name: String, _ path: KeyPath<Key, Symbol>, _ note: AggregateTable.Note = "",
        steps: [String] = []
    ) -> KeyColumns {
        field(.init(name, .text, note, steps: steps), path) { .symbol($0) }
    }

    package static func word(
        _ name: String, _ path: KeyPath<Key, some ColumnWord>, _ note: AggregateTable.Note = "",
        steps: [String] = []
    ) -> KeyColumns {
        field(.init(name, .text, note, steps: steps), path) { .text($0.name) }
    }

    package static func integer(
        _ name: String, _ path: KeyPath<Key, Int64>, _ note: AggregateTable.Note = ""
    ) -> KeyColumns {
        field(.init(name, .integer, note), path) { .integer($0) }
    }

    package static func boolean(
        _ name: String, _ path: KeyPath<Key, Bool>, _ note: AggregateTable.Note = "",
        isDefault: Bool = true
    ) -> KeyColumns {
        field(.init(name, .boolean, note, isDefault: isDefault), path) { .boolean($0) }
    }

    /// The columns of a property that several keys have in common.
    package static func group<Group>(
        _ path: KeyPath<Key, Group>, _ columns: KeyColumns<Group>
    ) -> KeyColumns {
        let start = offset(of: path)
        return KeyColumns(
            columns.all.map { field in
                Field(
                    column: field.column,
                    bytes: start + field.bytes.lowerBound..<start + field.bytes.upperBound,
                    value: { field.value($0 + start) })
            })
    }

    private static func field<Value>(
        _ column: AggregateTable.Column, _ path: KeyPath<Key, Value>,
        _ make: @escaping @Sendable (Value) -> ColumnValue
    ) -> KeyColumns {
        let start = offset(of: path)
        return KeyColumns([
            Field(
                column: column, bytes: start..<start + MemoryLayout<Value>.size,
                value: { make($0.loadUnaligned(fromByteOffset: start, as: Value.self)) })
        ])
    }

    static func offset(of path: PartialKeyPath<Key>) -> Int {
        guard let offset = MemoryLayout<Key>.offset(of: path) else {
            preconditionFailure("a column of \(Key.self) is no stored property")
        }
        return offset
    }

    /// The bytes of the columns, as few ranges as there can be; padding lies between them.
    var ranges: [Range<Int>] {
        all.map(\.bytes).sorted { $0.lowerBound < $1.lowerBound }.reduce(into: []) { ranges, next in
            if let last = ranges.last, last.upperBound == next.lowerBound {
                ranges[ranges.count - 1] = last.lowerBound..<next.upperBound
            } else {
                ranges.append(next)
            }
        }
    }
}
