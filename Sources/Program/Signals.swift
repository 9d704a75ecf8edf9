import Foundation
import Synchronization

/// Whether the process was asked to stop (SIGTERM or SIGINT): the worker then commits what it has
/// folded and ends.
package final class StopSignal: Sendable {
    /// The process's own.
    package static let ofProcess = StopSignal()

    private let requested = Atomic<Bool>(false)

    /// Makes a signal that nobody has given.
    package init() {}

    /// True once a stop was asked for.
    package var isRequested: Bool { requested.load(ordering: .relaxed) }

    /// Asks for a stop.
    package func request() {
        requested.store(true, ordering: .relaxed)
    }

    /// Lets SIGTERM and SIGINT ask for a stop. A second one ends the process at once.
    package static func listen() {
        _ = ofProcess
        // A parent may have started this process with them blocked.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGTERM)
        sigaddset(&signals, SIGINT)
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        for number in [SIGTERM, SIGINT] {
            signal(number) { number in
                StopSignal.ofProcess.request()
                signal(number, SIG_DFL)
            }
        }
    }
}

/// SIGHUP: the process is asked to read again what it reads again while it works.
package final class ReloadSignal: Sendable {
    /// The process's own.
    package static let ofProcess = ReloadSignal()
    private static let beganAtTerminal = isatty(STDERR_FILENO) == 1

    private let requests = Atomic<Int>(0)

    /// Makes a signal that nobody has given.
    package init() {}

    /// How often it was asked for.
    package var count: Int { requests.load(ordering: .relaxed) }

    /// Asks for it.
    package func request() {
        requests.add(1, ordering: .relaxed)
    }

    /// Lets SIGHUP ask for it. When the terminal that a program was started at is closed, which is the same
    /// signal, it asks for a stop instead.
    package static func listen() {
        _ = ofProcess
        _ = StopSignal.ofProcess
        _ = beganAtTerminal
        // A parent may have started this process with it blocked.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGHUP)
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        signal(SIGHUP) { _ in
            if ReloadSignal.beganAtTerminal, isatty(STDERR_FILENO) == 0 {
                StopSignal.ofProcess.request()
            } else {
                ReloadSignal.ofProcess.request()
            }
        }
    }
}
