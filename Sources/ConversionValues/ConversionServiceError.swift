import AggregateStore
import EventLog

/// Why there is no answer about a conversion value: what, where, and what to do.
package enum ConversionServiceError: Error, Equatable, Sendable, CustomStringConvertible {
    /// More requests wait than are let in.
    case busy
    /// It was not answered in time; whether its event is in the log, nobody knows.
    case late
    /// What installs were told is still being read from the log.
    case behind
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
    package var description: String {
        switch self {
        case .busy: "too much waits for the log: try again"
        case .late: "the log has not acknowledged in time: try again"
        case .behind: "what installs were told is being read from the log: try again"
        case .stopped: "the collector is stopping: try again"
        case .log(let error): error.description
        case .store(let error): error.description
        case .otherLog(let path, let detail):
            "\(path) does not follow this log (\(detail)): move the file away, and what installs were "
                + "told is read from the log again"
        case .unwritable(let detail): "an answer could not be written as an event: \(detail)"
        }
    }

    /// What is wrong, for whoever asked: says nothing of where the log and the file are.
    package var words: String {
        switch self {
        case .busy, .late, .behind, .stopped: description
        case .log: "the log has not acknowledged: try again"
        case .store, .otherLog, .unwritable: "the collector cannot answer now: try again"
        }
    }

    /// The file is of no use as it is, and can be made again from the log.
    var isOfFile: Bool {
        switch self {
        case .otherLog, .store(.notAStore), .store(.damaged), .store(.newerVersion): true
        case .busy, .late, .behind, .stopped, .log, .store, .unwritable: false
        }
    }
}
