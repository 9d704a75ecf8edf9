import Wording

/// Why a command ends early.
package enum CommandError: Error, Equatable {
    /// The command line is wrong: exit code 64.
    case usage(String)
    /// The command failed: exit code 1. Says what, where, and what to do.
    case failure(String)
    /// The things that were compared differ, and the exit code reports it: 1. Nothing is written.
    case differs
    /// The command cannot read what it is asked to judge: exit code 2. Nil: standard output contains the reason.
    case unreadable(String?)
    /// Nobody reads the output any more: the command ends quietly.
    case outputClosed

    /// The error of another module as that of a command; nil for errors of the command line.
    package init?(_ error: any Error) {
        switch error {
        case let error as CommandError: self = error
        case let error as any OperatorError:
            self = error.isUsage ? .usage(error.description) : .failure(error.description)
        default: return nil
        }
    }

    /// The line for standard error; nil when there is nothing to say.
    package var explanation: String? {
        switch self {
        case .usage(let explanation), .failure(let explanation): explanation
        case .unreadable(let explanation): explanation
        case .differs, .outputClosed: nil
        }
    }

    package var exitCode: Int32 {
        switch self {
        case .usage: 64
        case .failure, .differs: 1
        case .unreadable: 2
        case .outputClosed: 0
        }
    }
}
