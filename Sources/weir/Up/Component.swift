import Foundation
import Synchronization

/// A part of `weir up`, on a thread of its own.
final class Component: Sendable {
    private enum State {
        case running
        case stopped
        case failed(String)
    }

    /// Name of the program that the part is elsewhere.
    let name: String
    private let state = Mutex(State.running)
    private let ended = DispatchSemaphore(value: 0)

    /// Starts the part. What makes it fail is written to standard error at once; the others go on, so that
    /// what comes in by HTTP is still taken.
    init(_ name: String, work: @escaping @Sendable () throws -> Void) {
        self.name = name
        let thread = Thread { [self] in
            do {
                try work()
                state.withLock { $0 = .stopped }
            } catch {
                state.withLock { $0 = .failed("\(error)") }
                Notice.write("\(name): \(error)")
            }
            ended.signal()
        }
        thread.name = name
        thread.stackSize = 8 << 20
        thread.start()
    }

    /// Why it failed; nil when it did not.
    var fault: String? {
        state.withLock { if case .failed(let fault) = $0 { fault } else { nil } }
    }

    /// Waits until it has ended.
    func join() {
        ended.wait()
        // For whoever waits again.
        ended.signal()
    }
}
