import AggregateStore

/// Why stores cannot be inspected as asked.
public enum InspectionError: Error, Equatable, Sendable, CustomStringConvertible {
    /// None of the data directories has a store of these streams.
    case noStore(streams: [String], directories: [String])
    /// One of the data directories cannot be read.
    case unreadableDirectory(String, detail: String)
    /// Stores of one stream were folded from different logs.
    case differentLogs(stream: String, directories: [String])
    /// There is no dump of that name.
    case unknownDump(String, known: [String])
    /// The dump has no such column.
    case unknownColumn(String, dump: String, known: [String])
    /// `total` stands beside other columns, or no column is named.
    case badColumns(String)
    /// A column is compared with what it can never hold.
    case badCondition(column: String, value: String, wanted: String)
    /// A store cannot be read.
    case store(StoreError)

    /// True when the question is at fault, and not what it is asked of.
    public var isUsage: Bool {
        switch self {
        case .noStore, .unreadableDirectory, .differentLogs, .store: false
        case .unknownDump, .unknownColumn, .badColumns, .badCondition: true
        }
    }

    /// One line: what, where, and what to do.
    public var description: String {
        switch self {
        case .noStore(let streams, let directories):
            "no store \(streams.map { "\($0).sqlite" }.joined(separator: " or ")) in "
                + "\(directories.joined(separator: ", ")): run "
                + "\(streams.map { "weir-\($0)" }.joined(separator: " or ")), or give --data"
        case .unreadableDirectory(let directory, let detail):
            "cannot read \(directory): \(detail); give --data directories that hold stores"
        case .differentLogs(let stream, let directories):
            "the \(stream).sqlite of \(directories.joined(separator: ", ")) were folded from different "
                + "logs or topics: their offsets mean other records, so give --data stores of one topic"
        case .unknownDump(let name, let known):
            "no dump '\(name)': there are \(known.joined(separator: ", ")) and \(Funnel.name)"
        case .unknownColumn(let name, let dump, let known):
            "no column '\(name)' in \(dump): there are \(known.joined(separator: ", "))"
        case .badColumns(let columns):
            "'\(columns)' does not name columns: give column,column,... or total alone"
        case .badCondition(let column, let value, let wanted):
            "\(column) is never '\(value)': give \(wanted)"
        case .store(let error):
            error.description
        }
    }
}
