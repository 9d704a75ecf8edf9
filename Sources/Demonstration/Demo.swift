import EventLog
import Streams

/// Sixty days of a small market of app advertising, made from a seed: the records of every stream, and the
/// configuration to read them with.
///
/// A publisher sells ads in an exchange to two networks; two more report what they cost. They advertise a game and an
/// app with subscriptions. The same values give the same records, but for the signatures: ECDSA draws a number for
/// each, and nothing that Weir counts depends on it.
package struct Demo: Sendable {
    package var assumptions = DemoAssumptions()
    package let seed: UInt64
    /// At least 1.
    package let days: Int
    /// Multiplies what is spent, and with it everything.
    package let scale: Double
    /// Midnight after the last day, in milliseconds since 1970 (UTC).
    package let end: Int64
    let keys: DemoKeys

    /// - Parameter end: a midnight.
    package init(seed: UInt64 = 1, days: Int = 60, scale: Double = 1, end: Int64) throws {
        self.seed = seed
        self.days = days
        self.scale = scale
        self.end = end
        keys = try DemoKeys()
    }

    package var firstMidnight: Int64 { end - Int64(days) * DemoTime.day }

    /// The day, from 0, on which the collector was down; nil if the demo is too short to have one.
    package var outageDay: Int? { days >= 14 ? days - 12 : nil }

    /// Calls `body` with the records of each day in turn.
    package func forEachDay(_ body: (DemoDay) throws -> Void) throws {
        var market = DemoMarket(self)
        try market.addEarlierSubscribers()
        for day in 0..<days { try body(market.run(day)) }
    }
}
