import Store
import Streams
import Wording

/// Why a request to stores fails.
package enum InspectionError: OperatorError, Equatable, Sendable {
    /// The data directories have no store of these streams.
    case noStore(streams: [String], directories: [String])
    case unreadableDirectory(String, detail: String)
    /// Stores of one stream were folded from different logs.
    case differentLogs(stream: String, directories: [String])
    /// Two sets of stores do not share a stream.
    case nothingInCommon(streams: [String], directories: [String])
    case unknownDump(String, valid: [String])
    case unknownColumn(String, dump: String, valid: [String])
    case unknownMeasure(String, valid: [String])
    /// The column is the axis of the curves, so a condition on it would remove a part of each sum.
    case curveColumn(String)
    /// The later of two instants precedes the earlier one.
    case badTimes
    /// The rows of the dump do not have windows of postbacks.
    case noMaturity(String, valid: [String])
    /// The rows of the dump are not increments of curves.
    case noCurves(String, valid: [String])
    /// Rows of estimates cannot be grouped.
    case noGrouping(String)
    /// `total` is combined with columns, or no column is named.
    case badColumns(String)
    /// A picture would have too many curves to distinguish.
    case tooManyCurves(Int)
    /// The sort order does not name a column with an optional direction.
    case badOrder(String)
    /// The request does not name the day since the install that its numbers refer to.
    case noThroughDay(String)
    /// A column is compared with a value that it cannot have.
    case badCondition(column: String, value: String, wanted: String)
    /// An export cannot continue from the cursor.
    case staleCursor(String)
    /// The number of exported postbacks differs from the number accepted by the stores.
    case incompleteExport(found: Int64, accepted: Int64)
    /// Amounts have no rate into the requested currency.
    case noRates(file: String, String)
    /// A store that was in force at an instant no longer exists.
    case storeGone(path: String, instant: String)
    /// The contributions of the records of an hour, or of all hours, before an instant are not known.
    case hourNotFolded(stream: String, hour: String?, detail: String)
    /// A report needs a measure of a row that may contain records from before the store counted it.
    case unknownSum(table: String, measure: String)
    /// The recorded configuration of a store cannot be parsed.
    case unreadableConfiguration(stream: String, partition: Int32, RecordedConfigurationFault)
    /// Rows that exceed the memory limit cannot be written to a temporary file.
    case temporaryFile(path: String, detail: String)
    case store(StoreError)

    /// Runs `body` and wraps its store errors.
    static func ofStores<Result>(
        _ body: () throws(StoreError) -> Result
    ) throws(InspectionError) -> Result {
        do {
            return try body()
        } catch {
            throw .store(error)
        }
    }

    /// True when the request is invalid, false for errors of the stores.
    package var isUsage: Bool {
        switch self {
        case .noStore, .unreadableDirectory, .differentLogs, .nothingInCommon,
            .noRates, .staleCursor, .incompleteExport, .storeGone, .hourNotFolded,
            .unknownSum, .unreadableConfiguration, .temporaryFile, .store:
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
            "cannot read \(directory): \(detail); give --data directories with stores"
        case .differentLogs(let stream, let directories):
            "the \(stream).sqlite files in \(directories.joined(separator: ", ")) were folded from different "
                + "logs or topics, so their offsets cannot be compared: give stores of one topic"
        case .nothingInCommon(let streams, let directories):
            "\(directories.joined(separator: " and ")) have no stream in common among "
                + "\(streams.joined(separator: ", ")): give directories with stores of the same streams"
        case .unknownDump(let name, let valid):
            "no dump '\(name)': \(UnknownName(name, valid: valid))"
        case .unknownColumn(let name, let dump, let valid):
            "no column '\(name)' in \(dump): \(UnknownName(name, valid: valid))"
        case .unknownMeasure(let name, let valid):
            "no measure '\(name)' here: \(UnknownName(name, valid: valid))"
        case .curveColumn(let column):
            "a curve adds up over \(column): remove --where \(column)=... and read the row that you want"
        case .badTimes:
            "--to is before --from: give the earlier time first"
        case .noMaturity(let name, let valid):
            "\(name) has no maturity: use \(valid.dropLast().joined(separator: ", ")) or \(valid.last ?? "")"
        case .noCurves(let name, let valid):
            "\(name) has no curves: use \(valid.joined(separator: " or "))"
        case .noGrouping(let name):
            "\(name) contains intervals, which cannot be added: remove --by, and select rows with --where"
        case .badColumns(let columns):
            "'\(columns)' is not a list of columns: write column,column,... with each column once, or only total with --by"
        case .tooManyCurves(let most):
            "there are more than \(most) curves: use fewer columns with --by, or select rows with --where"
        case .badOrder(let order):
            "'\(order)' is not a sort order: write a column, and put - before it or :desc after it to sort largest first"
        case .noThroughDay(let name):
            "\(name) needs a number of days since the install: give --where through_day=0, 3, 7 or 30"
        case .badCondition(let column, let value, let wanted):
            "\(column) is never '\(value)': give \(wanted)"
        case .incompleteExport(let found, let accepted):
            "the export contains \(found) postbacks, but the stores accepted \(accepted), so a store is damaged: run weir check, then restore the store or fold again"
        case .staleCursor(let reason):
            "--changed-since cannot continue from this cursor: \(reason); export everything with "
                + "--changed-since start, and replace the loaded data"
        case .noRates(let file, let missing):
            "there is no rate for \(missing): add lines for these days to \(file), or remove --in"
        case .storeGone(let path, let instant):
            "\(path), which was in force at \(instant), is missing, so its numbers are unknown: "
                + "restore it, or choose a later time"
        case .hourNotFolded(let stream, let hour, let detail):
            hour.map { hour in
                "cannot compute the values of \(stream) within the hour \(hour): "
                    + "\(detail); choose a full hour, which does not need the log"
            }
                ?? "cannot compute the values of \(stream) at that time: \(detail); its rows belong to "
                + "days that records name, so the whole log is needed"
        case .unknownSum(let table, let measure):
            "\(measure) of \(table) is unknown in some of these rows: an earlier version of Weir did not count it. "
                + "Run weir upgrade, or choose later rows with --since (docs/guides/upgrade.md)"
        case .unreadableConfiguration(let stream, let partition, let fault):
            "\(stream), partition \(partition): \(fault)"
        case .temporaryFile(let path, let detail):
            "cannot sort rows in \(path): \(detail). Free space there, or set TMPDIR to another directory"
        case .store(let error):
            error.description
        }
    }
}
