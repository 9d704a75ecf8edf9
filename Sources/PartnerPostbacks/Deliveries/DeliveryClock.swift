import Foundation

/// What time it is, for the schedule of retries.
protocol DeliveryClock: Sendable {
    /// Milliseconds since 1970.
    var nowMilliseconds: Int64 { get }
}

/// The machine's clock.
struct SystemClock: DeliveryClock {
    var nowMilliseconds: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }
}
