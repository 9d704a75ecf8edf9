import AggregateStore
import EventLog
import Explanation
import Inspection
import Pipelines
import Streams
import Worker

/// Why a command ends early.
enum CommandError: Error, Equatable {
    /// The command line asks for what cannot be: exit code 64.
    case usage(String)
    /// It was tried, and failed: exit code 1. What, where, and what to do.
    case failure(String)
    /// What was compared is not the same, and the exit code is to say so.
    case differs
    /// Nobody reads the output any more: the command ends quietly.
    case outputClosed

    /// What an error of another module means to a command; nil for errors of the command line.
    init?(_ error: any Error) {
        switch error {
        case let error as CommandError: self = error
        case let error as InspectionError:
            self = error.isUsage ? .usage(error.description) : .failure(error.description)
        case let error as LogError:
            if case .badAddress = error {
                self = .usage(error.description)
            } else {
                self = .failure(error.description)
            }
        case let error as StoreError: self = .failure(error.description)
        case let error as ConfigurationError: self = .failure(error.description)
        case let error as ExplanationError:
            self = error.isUsage ? .usage(error.description) : .failure(error.description)
        case let error as RecordedConfigurationFault: self = .failure(error.description)
        case let error as WorkerError: self = .failure(error.description)
        case let error as ReplayError: self = .failure(error.description)
        case let error as PromotionError: self = .failure(error.description)
        case let error as RecordedConfigurationFault: self = .failure(error.description)
        default: return nil
        }
    }

    /// The line for standard error; nil when there is nothing to say.
    var words: String? {
        switch self {
        case .usage(let words), .failure(let words): words
        case .differs, .outputClosed: nil
        }
    }

    /// The exit code of the command.
    var exitCode: Int32 {
        switch self {
        case .usage: 64
        case .failure, .differs: 1
        case .outputClosed: 0
        }
    }
}
