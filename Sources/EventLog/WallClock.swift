import Foundation

/// The system's wall clock. It can jump: measure durations with `ContinuousClock`.
package enum WallClock {
    /// Milliseconds since 1970. Exact: a conversion from `Date`, with floating-point seconds, can give one
    /// millisecond less.
    package static var milliseconds: Int64 {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
    }
}
