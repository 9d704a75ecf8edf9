import Foundation

/// Waiting for what other threads, processes and brokers do.
package enum Wait {
    /// Much more than anything takes on a machine that is busy with other things too.
    package static let seconds = 60.0

    /// Looks again and again; says whether it came true in time.
    @discardableResult
    package static func until(
        seconds: Double = Wait.seconds, _ isTrue: () throws -> Bool
    ) rethrows -> Bool {
        let deadline = ContinuousClock.now + .seconds(seconds)
        while try !isTrue() {
            guard ContinuousClock.now < deadline else { return try isTrue() }
            usleep(20_000)
        }
        return true
    }

    /// Pauses in short steps: a machine that stands still prolongs one of them, and what runs beside has
    /// the others.
    package static func steadily(seconds: Double) {
        for _ in 0..<Int(seconds / 0.02) { usleep(20_000) }
    }
}
