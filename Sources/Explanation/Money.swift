/// Amounts of money, which are never added up over currencies.
enum Money {
    /// Whether a measure is an amount, in millionths of the unit of its row's currency.
    static func isMoney(_ measure: String) -> Bool { measure.hasSuffix("_micros") }

    /// Currencies in words.
    static func words(_ currencies: some Sequence<String>) -> String {
        currencies.sorted().map { $0.isEmpty ? "no currency" : $0 }.joined(separator: " and ")
    }
}
