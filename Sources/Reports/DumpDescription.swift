import Store
import Streams

package typealias DumpColumn = AggregateTable.Column

extension DumpColumn {
    /// Whether it holds milliseconds since 1970, which tables show as RFC 3339.
    var isInstant: Bool { note.unit == .milliseconds }

    func reportValue(_ value: StoredValue) -> ReportValue {
        switch value {
        case .integer(let integer) where kind == .boolean: .boolean(integer != 0)
        case .integer(let integer): .integer(Int128(integer))
        case .text(let text): .text(text)
        }
    }

    var reportColumn: ReportTable.Column {
        ReportTable.Column(name, isNumber: kind == .integer)
    }
}

/// What a dump has to show: the columns that rows are sorted by, and the measures that add up.
package struct DumpDescription: Sendable {
    /// Where the rows come from.
    enum Source: Sendable {
        case aggregate(AggregateTable)
        /// A table of what installs were told, beside the values that postbacks brought.
        case toldAndBrought(AggregateTable)
        /// Records that were kept instead of counted.
        case refusals(RefusalKind)
    }

    package let name: String
    /// What its rows are.
    package let note: String
    package let columns: [DumpColumn]
    /// Its measures, in order; the records of refusals are counted only when they are grouped.
    package let measures: [String]
    /// The streams whose stores have such rows.
    package let streams: [String]
    let source: Source

    package func note(ofMeasure name: String) -> (unit: AggregateTable.Unit, text: String) {
        switch source {
        case .aggregate(let table), .toldAndBrought(let table):
            table.measures.contains(name)
                ? (table.unit(ofMeasure: name), table.note(ofMeasure: name).text)
                : (.count, "that brought this value, in conversion-values")
        case .refusals: (.count, "only where rows are grouped")
        }
    }

    /// The aggregates of its rows, by stream; a stream without any gives refused records.
    var sources: [(stream: String, tables: [AggregateTable])] {
        streams.map { stream in
            switch source {
            case .aggregate(let table): (stream, [table])
            case .toldAndBrought(let table):
                (stream, stream == PostbacksFold.streamName ? [ConversionValuesKey.table] : [table])
            case .refusals: (stream, [])
            }
        }
    }

    /// Whether its rows count postbacks, which come in windows.
    var hasWindows: Bool { PostbacksFold.tables.contains { $0.name == name } }

    /// Every dump, by name in bytewise order.
    package static let all: [DumpDescription] = stored.map(\.withPostbacks)

    /// The same, each of what its own stores hold.
    static let stored: [DumpDescription] =
        (allStreams.sorted { $0.streamName < $1.streamName }.flatMap { fold in
            fold.tables.map { aggregate($0, of: [fold.streamName]) }
        }
        + [aggregate(OutcomeKey.table, of: OpenStores.streams)]
        + RefusalKind.allCases.map(refusals))
        .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }

    package static func named(_ name: String) throws(InspectionError) -> DumpDescription {
        guard let found = all.first(where: { $0.name == name }) else {
            throw .unknownDump(name, known: all.map(\.name))
        }
        return found
    }

    private static func aggregate(
        _ table: AggregateTable, of streams: [String]
    ) -> DumpDescription {
        let columns = table.columns.flatMap { column in
            column.kind == .hour
                ? [column, Self.day] : [column]
        }
        return DumpDescription(
            name: table.name, note: table.note, columns: columns, measures: table.measures,
            streams: streams,
            source: .aggregate(table))
    }

    /// What installs were told is shown beside what postbacks brought; all else as it is.
    private var withPostbacks: DumpDescription {
        guard case .aggregate(let table) = source, name == ConversionUpdatesKey.table.name else {
            return self
        }
        return DumpDescription(
            name: name, note: note, columns: columns, measures: measures + ["postbacks"],
            streams: streams + [PostbacksFold.streamName], source: .toldAndBrought(table))
    }

    private static let day = DumpColumn("day", .text, "of the hour, UTC", isDefault: false)

    private static func refusals(_ kind: RefusalKind) -> DumpDescription {
        DumpDescription(
            name: kind.rawValue, note: kind.note,
            columns: [
                DumpColumn("topic", .text), DumpColumn("partition", .integer),
                DumpColumn("offset", .integer),
                DumpColumn(
                    "timestamp", .integer, .init("of the record", unit: .milliseconds)),
                DumpColumn("hour", .hour, "of the record's timestamp, UTC", isDefault: false), day,
                DumpColumn("type", .text, "as the record's header says it"),
                DumpColumn("reason", .text, "from a closed list"),
                DumpColumn("detail", .text, "words for people"),
            ],
            measures: ["records"], streams: OpenStores.streams, source: .refusals(kind))
    }
}

/// Why records were kept instead of counted; the raw value is the name of the dump.
enum RefusalKind: String, CaseIterable, Sendable {
    case rejected, untrusted, conflicts

    fileprivate var note: String {
        switch self {
        case .rejected: "Records that were rejected, each with its reason."
        case .untrusted: "Records that are not from whom they say they are."
        case .conflicts: "Records whose id was seen before with other values."
        }
    }

    /// Whether a stored reason is of this kind.
    func includes(reason: String) -> Bool {
        switch reason {
        case "untrusted": self == .untrusted
        case "conflict": self == .conflicts
        default: self == .rejected
        }
    }
}
