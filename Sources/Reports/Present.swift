/// The time that the clock of a program shows. Reports end there: a record that is dated later moves no period, no
/// maturity and no warning.
package struct Present: Equatable, Sendable {
    /// Since 1970.
    package let milliseconds: Int64

    /// By how much clocks of producers, brokers and this machine may differ.
    package static let toleranceMilliseconds: Int64 = 5 * 60_000

    package init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// Whether a record of this time is dated ahead of the clock, by more than clocks differ.
    package func isAhead(_ recordMilliseconds: Int64) -> Bool {
        recordMilliseconds > min(milliseconds, .max - Self.toleranceMilliseconds)
            + Self.toleranceMilliseconds
    }
}
