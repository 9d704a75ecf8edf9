/// A quotient of integers, written with a fixed number of digits and no floating-point number in
/// between.
struct ExactRatio {
    private let numerator: Int128
    private let denominator: Int128

    /// Digits behind the point.
    static let digits = 6
    private static let scale: Int128 = 1_000_000

    /// Nil when the denominator is 0.
    init?(_ numerator: Int128, _ denominator: Int128) {
        guard denominator != 0 else { return nil }
        self.numerator = numerator
        self.denominator = denominator
    }

    /// The decimal number, rounded half away from zero.
    ///
    /// Sums of 64-bit sums keep far below what the scale would take beyond 128 bits.
    var text: String {
        let isNegative = (numerator < 0) != (denominator < 0)
        let divisor = denominator.magnitude
        let scaled = numerator.magnitude * Self.scale.magnitude
        // Half away from zero: an odd divisor has no half.
        let rounded = (scaled + divisor / 2) / divisor
        let digits = (rounded % Self.scale.magnitude).description
        let fraction = String(repeating: "0", count: Self.digits - digits.count) + digits
        return
            "\(isNegative && rounded != 0 ? "-" : "")\(rounded / Self.scale.magnitude).\(fraction)"
    }
}
