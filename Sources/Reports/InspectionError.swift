import Store
import Streams
import Wording

/// Why stores cannot be inspected as asked.
package enum InspectionError: OperatorError, Equatable, Sendable {
    /// No data directory has a store of these streams.
    case noStore(streams: [String], directories: [String])
    case unreadableDirectory(String, detail: String)
    /// Stores of one stream were folded from different logs.
    case differentLogs(stream: String, directories: [String])
    /// Two sets of stores have none of the streams in common.
    case nothingInCommon(streams: [String], directories: [String])
    case unknownDump(String, known: [String])
    case unknownColumn(String, dump: String, known: [String])
    case unknownMeasure(String, known: [String])
    /// The curves of a dump go by the column, so that a condition on it would leave a part of each sum out.
    case curveColumn(String)
    /// The later of two instants is the earlier one.
    case badTimes
    /// The rows of the dump have no windows of postbacks.
    case noMaturity(String, known: [String])
    /// The rows of the dump are no increments of curves.
    case noCurves(String, known: [String])
    /// The rows of estimates are of all their columns.
    case noGrouping(String)
    /// `total` stands beside other columns, or no column is named.
    case badColumns(String)
    /// A picture would have more curves than anybody can tell apart.
    case tooManyCurves(Int)
    /// An order of rows is no column, with a direction or without.
    case badOrder(String)
    /// Its numbers are of a time since the install, which is not said.
    case noThroughDay(String)
    /// A column is compared with what it can never hold.
    case badCondition(column: String, value: String, wanted: String)
    /// An export cannot go on from where another one ended.
    case staleCursor(String)
    /// An export has other postbacks than the stores have accepted.
    case incompleteExport(found: Int64, accepted: Int64)
    /// Amounts have no rate into the currency that is asked for.
    case noRates(file: String, String)
    /// A store that was in force at an instant is no longer there.
    case storeGone(path: String, instant: String)
    /// What the records of an hour, or of all hours, added before an instant is not known.
    case hourNotFolded(stream: String, hour: String?, detail: String)
    /// The configuration that a store has recorded cannot be read back.
    case unreadableConfiguration(stream: String, partition: Int32, RecordedConfigurationFault)
    /// Rows that do not fit into memory cannot be written beside it.
    case temporaryFile(path: String, detail: String)
    case store(StoreError)

    /// Runs `body`, whose errors are those of stores.
    static func ofStores<Result>(
        _ body: () throws(StoreError) -> Result
    ) throws(InspectionError) -> Result {
        do {
            return try body()
        } catch {
            throw .store(error)
        }
    }

    /// True when the query is at fault, and not the stores.
    package var isUsage: Bool {
        switch self {
        case .noStore, .unreadableDirectory, .differentLogs, .nothingInCommon,
            .noRates, .staleCursor, .incompleteExport, .storeGone, .hourNotFolded,
            .unreadableConfiguration, .temporaryFile, .store:
            false
        case .unknownDump, .unknownColumn, .unknownMeasure, .curveColumn,
            .badTimes, .noMaturity, .noCurves, .noGrouping,
            .badColumns, .badOrder, .tooManyCurves, .badCondition, .noThroughDay:
            true
        }
    }

    /// One line: what, where, and what to do.
    package var description: String {
        switch self {
        case .noStore(let streams, let directories):
            "no store \(streams.map { "\($0).sqlite" }.joined(separator: " or ")) in "
                + "\(directories.joined(separator: ", ")): run "
                + "\(streams.map { "weir-\($0)" }.joined(separator: " or ")), or give --data"
        case .unreadableDirectory(let directory, let detail):
            "cannot read \(directory): \(detail); give --data directories that hold stores"
        case .differentLogs(let stream, let directories):
            "the \(stream).sqlite of \(directories.joined(separator: ", ")) were folded from different "
                + "logs or topics: their offsets mean other records, so give stores of one topic"
        case .nothingInCommon(let streams, let directories):
            "\(directories.joined(separator: " and ")) have no store of one stream in common, of "
                + "\(streams.joined(separator: ", ")): give directories that hold the same stores"
        case .unknownDump(let name, let known):
            "no dump '\(name)': \(UnknownName(name, known: known))"
        case .unknownColumn(let name, let dump, let known):
            "no column '\(name)' in \(dump): \(UnknownName(name, known: known))"
        case .unknownMeasure(let name, let known):
            "no measure '\(name)' here: \(UnknownName(name, known: known))"
        case .curveColumn(let column):
            "a curve adds up over \(column): leave --where \(column)=... out, and take the row that you want"
        case .badTimes:
            "--to is before --from: give the earlier time first"
        case .noMaturity(let name, let known):
            "\(name) has no maturity: \(known.dropLast().joined(separator: ", ")) and \(known.last ?? "") have"
        case .noCurves(let name, let known):
            "\(name) has no curves: \(known.joined(separator: " and ")) have"
        case .noGrouping(let name):
            "\(name) has intervals, which do not add up: leave --by out, and choose rows by --where"
        case .badColumns(let columns):
            "'\(columns)' does not name columns: give column,column,..., each once; --by may be total alone"
        case .tooManyCurves(let most):
            "there are more than \(most) curves: give --by fewer columns, or --where"
        case .badOrder(let order):
            "'\(order)' is not an order of rows: write a column, with - before it or :desc after it for the largest first"
        case .noThroughDay(let name):
            "\(name) adds up to a day since the install: give --where through_day=0, 3, 7 or 30"
        case .badCondition(let column, let value, let wanted):
            "\(column) is never '\(value)': give \(wanted)"
        case .incompleteExport(let found, let accepted):
            "the export has \(found) postbacks, and the stores have accepted \(accepted): a store is damaged; see weir check, then restore it or fold again"
        case .staleCursor(let reason):
            "--changed-since cannot be gone on from: \(reason); export everything with --changed-since "
                + "start, and replace what was loaded"
        case .noRates(let file, let missing):
            "no rate of \(missing): add lines of these days to \(file), or leave --in out"
        case .storeGone(let path, let instant):
            "\(path), which was in force at \(instant), is gone: what it said is not known any more; "
                + "put it back, or ask for a later time"
        case .hourNotFolded(let stream, let hour, let detail):
            hour.map { hour in
                "cannot tell what the records of \(stream) in the hour \(hour) had added by then: "
                    + "\(detail); a whole hour needs no log"
            }
                ?? "cannot tell what the records of \(stream) had added by then: \(detail); its rows are "
                + "of days that records name, so that all of its log is needed"
        case .unreadableConfiguration(let stream, let partition, let fault):
            "\(stream), partition \(partition): \(fault)"
        case .temporaryFile(let path, let detail):
            "cannot sort rows in \(path): \(detail). Free space there, or set TMPDIR to another directory"
        case .store(let error):
            error.description
        }
    }
}
