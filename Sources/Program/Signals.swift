import Foundation
import Synchronization

/// Whether the process was asked to stop (SIGTERM or SIGINT): the worker then commits its folded records and ends.
package final class StopSignal: Sendable {
    /// The signal of this process.
    package static let ofProcess = StopSignal()

    private let requested = Atomic<Bool>(false)

    package init() {}

    /// True once a stop was requested.
    package var isRequested: Bool { requested.load(ordering: .relaxed) }

    /// Requests a stop.
    package func request() {
        requested.store(true, ordering: .relaxed)
    }

    /// Makes SIGTERM and SIGINT request a stop. A second one ends the process at once.
    package static func listen() {
        _ = ofProcess
        // A parent may have started this process with the signals blocked.
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

/// SIGHUP: asks the process to reload its configuration.
package final class ReloadSignal: Sendable {
    /// The signal of this process.
    package static let ofProcess = ReloadSignal()
    private static let beganAtTerminal = isatty(STDERR_FILENO) == 1

    private let requests = Atomic<Int>(0)

    package init() {}

    /// The number of requests.
    package var count: Int { requests.load(ordering: .relaxed) }

    package func request() {
        requests.add(1, ordering: .relaxed)
    }

    /// Makes SIGHUP request a reload. Closing the terminal sends the same signal: for a program started at a terminal
    /// it requests a stop instead.
    package static func listen() {
        _ = ofProcess
        _ = StopSignal.ofProcess
        _ = beganAtTerminal
        // A parent may have started this process with the signal blocked.
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
