import AggregateStore
import EventLog

/// Why there is no answer about a conversion value: what, where, and what to do.
public enum ConversionServiceError: Error, Equatable, Sendable, CustomStringConvertible {
    /// More requests wait than are let in.
    case busy
    /// It was not answered in time; whether its event is in the log, nobody knows.
    case late
    /// The service is ending.
    case stopped
    /// The log does not take or give what it should.
    case log(LogError)
    /// The file of states cannot be used.
    case store(StoreError)
    /// The file of states follows another log, or one that was cut off.
    case otherLog(path: String, detail: String)
    /// An answer could not be written as an event.
    case unwritable(detail: String)

    /// One line.
    public var description: String {
        switch self {
        case .busy: "too many requests wait: try again"
        case .late: "the log did not acknowledge the answer in time: try again"
        case .stopped: "the server is stopping: try again"
        case .log(let error): error.description
        case .store(let error): error.description
        case .otherLog(let path, let detail):
            "\(path) does not follow this log (\(detail)): move the file away, and what installs were "
                + "told is read from the log again"
        case .unwritable(let detail): "an answer could not be written as an event: \(detail)"
        }
    }
}
