import Foundation

/// The clock of the day. It may jump; durations are measured by a `ContinuousClock`.
package enum WallClock {
    /// Milliseconds since 1970. `Date` has seconds as a double: what follows from it is sometimes one less.
    package static var milliseconds: Int64 {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
    }
}
