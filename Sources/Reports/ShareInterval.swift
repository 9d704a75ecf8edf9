/// Wilson's 95 % interval of a share. It also holds for small counts and for shares near 0 and 1.
package struct ShareInterval: Sendable {
    /// Shares of 1 with six decimals; null without a total, and for a count above its total.
    package let low: ReportValue
    package let high: ReportValue

    package init(_ count: Int128, of total: Int128) {
        guard total > 0, (0...total).contains(count) else {
            (low, high) = (.null, .null)
            return
        }
        let (n, z) = (Double(total), 1.959963984540054)
        let p = Double(count) / n
        let scale = 1 + z * z / n
        let center = (p + z * z / (2 * n)) / scale
        let half = z / scale * (p * (1 - p) / n + z * z / (4 * n * n)).squareRoot()
        low = Self.decimal(max(0, center - half))
        high = Self.decimal(min(1, center + half))
    }

    private static func decimal(_ value: Double) -> ReportValue {
        .ratio(Int128((value * 1_000_000).rounded()), 1_000_000)
    }
}
