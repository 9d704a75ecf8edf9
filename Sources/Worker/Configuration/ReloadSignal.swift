import Foundation
import Synchronization

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
