/// The time of a program's clock. Reports end there: later records do not affect periods, maturity or warnings.
package struct Present: Equatable, Sendable {
    /// Milliseconds since 1970.
    package let milliseconds: Int64

    /// Tolerance for clock differences between producers, brokers and this host.
    package static let toleranceMilliseconds: Int64 = 5 * 60_000

    package init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// Whether a record is dated ahead of the clock by more than the tolerance.
    package func isAhead(_ recordMilliseconds: Int64) -> Bool {
        recordMilliseconds > min(milliseconds, .max - Self.toleranceMilliseconds)
            + Self.toleranceMilliseconds
    }
}
