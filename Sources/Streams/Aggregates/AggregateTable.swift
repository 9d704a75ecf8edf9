/// An aggregate: key columns that identify a row, and measures that add up.
///
/// The `RowKey` of its rows declares it once. Hashing, comparison, storage and dumps of rows, the SQL of stores and the
/// column lists of pages follow from that declaration:
///
///     struct LossReasonsKey: RowKey {
///         var seat: Symbol
///         var reason: Int64
///
///         enum Measure: Int, AggregateMeasure { case losses }
///
///         static let table = AggregateTable(
///             "loss-reasons", "Losses by OpenRTB's loss reason code.", columns, measures: Measure.self)
///         static let columns: KeyColumns<Self> = [.text("seat", \.seat), .integer("reason", \.reason)]
///     }
///
/// Readers refer to properties of the key, as in `LossReasonsKey.column(\.seat)`, not to column indices.
package struct AggregateTable: Sendable {
    package enum ColumnKind: Sendable {
        /// An hour, as text.
        case hour
        /// A day in UTC as text: `2026-11-21`; empty if unknown.
        case day
        /// UTF-8 text, compared as bytes.
        case text
        case integer
        /// Stored as 1 or 0.
        case boolean

        /// Whether the column is the time of the row, which is not part of the key.
        package var isTime: Bool { self == .hour || self == .day }
    }

    /// The unit of a number. Without a declaration it follows from the name: `_micros`, or a count.
    package enum Unit: String, Sendable {
        case count
        /// Millionths of a unit of the row's currency.
        case micros = "micros of the row's currency"
        /// Millionths of a unit for a thousand impressions.
        case cpmMicros = "micros of the row's currency, CPM"
        case milliseconds = "milliseconds since 1970"

        fileprivate init(ofMeasure name: String) {
            self = name.hasSuffix("_micros") ? .micros : .count
        }
    }

    /// A note on a column or a measure, beyond its name; may be empty.
    package struct Note: ExpressibleByStringLiteral, Sendable {
        package let text: String
        package let unit: Unit?
        /// Whether the schema of stores contains the note too. Later notes appear only in `docs/reference/dumps.md`,
        /// because the schema text of existing stores must not change.
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

    /// A day on which rows count, taken from their records; empty if the records contain none.
    package struct Day: Sendable {
        let name: String
        let note: Note
        /// Whether every record arrives on the day before its day, or later.
        package let isAtMostTomorrow: Bool

        package init(_ name: String, _ note: Note, isAtMostTomorrow: Bool = false) {
            self.name = name
            self.note = note
            self.isAtMostTomorrow = isAtMostTomorrow
        }
    }

    package struct Column: Sendable {
        /// The column's name in the store and in dumps.
        package let name: String
        package let kind: ColumnKind
        package let note: Note
        /// False for a column that dumps contain only on request; the store needs it to distinguish rows.
        package let isDefault: Bool
        /// The texts of a column that counts up, in order; empty for other columns. Stores sort them as texts.
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

    /// The dump's name, with dashes.
    package let name: String
    package let note: String
    /// The columns, in the sort order of rows. The first is the time: the hour of the record's timestamp, or a day from
    /// the record's content.
    package private(set) var columns: [Column]
    /// Names of the measures: signed 64-bit sums.
    package private(set) var measures: [String]
    private let measureNotes: [String: Note]

    /// The day on which rows count; nil if they count in the hour of their records.
    package let day: Day?

    /// Whether rows count on a day from their records' content instead of in the records' hour.
    package var hasDays: Bool { day != nil }

    /// The SQL view's name: the dump's name with underscores.
    package var sqlName: String { name.replacing("-", with: "_") }

    /// - Parameter day: the day column, for rows that count on days.
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

    /// The table with only some columns and measures, selected by index, in this order; for reading. Several of its
    /// rows may be equal.
    package func selecting(_ columns: [Int], measures: [Int]) -> AggregateTable {
        var selected = self
        selected.columns = columns.map { self.columns[$0] }
        selected.measures = measures.map { self.measures[$0] }
        return selected
    }
}

/// The measures of an aggregate; raw values are indices in the table, from 0.
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
    /// A text in the fold's symbol table.
    case symbol(Symbol)
    case text(StaticString)
    case integer(Int64)
    case boolean(Bool)
}

/// The key of an aggregate's row, without the partition and the hour or day that every row has.
///
/// All its stored properties are columns.
package protocol RowKey: Equatable, Sendable {
    associatedtype Measure: AggregateMeasure

    static var table: AggregateTable { get }
    /// The columns after the hour or day.
    static var columns: KeyColumns<Self> { get }
}

/// A word in a column; the type has one case for each word, without payloads.
package protocol ColumnWord: Sendable {
    /// The word as stored and printed.
    var name: StaticString { get }
}

/// Columns that are stored properties of a key. Values are read from the key's memory, because a key path costs more
/// than the rest of a row's work.
package struct KeyColumns<Key>: Sendable, ExpressibleByArrayLiteral {
    struct Field: Sendable {
        let column: AggregateTable.Column
        /// The byte range of the property in the key's memory.
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

    /// The columns of a property that several keys share.
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

    /// The bytes of the columns, in as few ranges as possible; padding separates them.
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
