import Store
import Streams

package struct DumpColumn: Sendable {
    /// The name, as `--by` and `--where` use it.
    package let name: String
    package let kind: AggregateTable.ColumnKind
    /// False for one that is there only when it is asked for.
    package let isDefault: Bool

    /// Whether it holds milliseconds since 1970, which tables show as RFC 3339.
    var isInstant: Bool { name == "timestamp" && kind == .integer }

    init(_ name: String, _ kind: AggregateTable.ColumnKind, isDefault: Bool = true) {
        self.name = name
        self.kind = kind
        self.isDefault = isDefault
    }

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
    package let columns: [DumpColumn]
    /// Its measures, in order; the records of refusals are counted only when they are grouped.
    package let measures: [String]
    /// The streams whose stores have such rows.
    let streams: [String]
    let source: Source

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
        + [aggregate(OutcomeKey.table, of: StoreSet.streams)]
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
                ? [DumpColumn(column.name, .hour), DumpColumn("day", .text, isDefault: false)]
                : [DumpColumn(column.name, column.kind, isDefault: column.isDefault)]
        }
        return DumpDescription(
            name: table.name, columns: columns, measures: table.measures, streams: streams,
            source: .aggregate(table))
    }

    /// What installs were told is shown beside what postbacks brought; all else as it is.
    private var withPostbacks: DumpDescription {
        guard case .aggregate(let table) = source, name == ConversionUpdatesKey.table.name else {
            return self
        }
        return DumpDescription(
            name: name, columns: columns, measures: measures + ["postbacks"],
            streams: streams + [PostbacksFold.streamName], source: .toldAndBrought(table))
    }

    private static func refusals(_ kind: RefusalKind) -> DumpDescription {
        DumpDescription(
            name: kind.rawValue,
            columns: [
                DumpColumn("topic", .text), DumpColumn("partition", .integer),
                DumpColumn("offset", .integer), DumpColumn("timestamp", .integer),
                DumpColumn("hour", .hour, isDefault: false),
                DumpColumn("day", .text, isDefault: false), DumpColumn("type", .text),
                DumpColumn("reason", .text), DumpColumn("detail", .text),
            ],
            measures: ["records"], streams: StoreSet.streams, source: .refusals(kind))
    }
}

/// Why records were kept instead of counted; the raw value is the name of the dump.
enum RefusalKind: String, CaseIterable, Sendable {
    case rejected, untrusted, conflicts

    /// Whether a stored reason is of this kind.
    func includes(reason: String) -> Bool {
        switch reason {
        case "untrusted": self == .untrusted
        case "conflict": self == .conflicts
        default: self == .rejected
        }
    }
}
