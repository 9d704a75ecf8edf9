import AggregateStore

/// Amounts of money in millionths of their unit; those of different currencies are never added.
package struct MoneyByCurrency: Equatable, Sendable {
    /// The amounts, by currency in bytewise order.
    package let amounts: [Amount]

    /// An amount in one currency.
    package struct Amount: Equatable, Sendable {
        /// The currency, as the events named it.
        package let currency: String
        /// Millionths of its unit.
        package let micros: Int128
    }

    init(_ micros: [StoredValue: Int128]) {
        amounts = micros.sorted { $0.key < $1.key }.map { currency, micros in
            guard case .text(let text) = currency else {
                return Amount(currency: "", micros: micros)
            }
            return Amount(currency: text, micros: micros)
        }
    }

    /// `EUR 0.50; USD 1.23`: at least two decimals, and as many as there are.
    var words: String {
        amounts.map { amount in
            let text = Self.units(micros: amount.micros)
            return amount.currency.isEmpty ? text : "\(amount.currency) \(text)"
        }.joined(separator: "; ")
    }

    func append(to json: inout [UInt8]) {
        json.append(UInt8(ascii: "{"))
        for (index, amount) in amounts.enumerated() {
            if index > 0 { json.append(UInt8(ascii: ",")) }
            JSONBytes.appendString(amount.currency.utf8, to: &json)
            JSONBytes.append(":\(amount.micros.description)", to: &json)
        }
        json.append(UInt8(ascii: "}"))
    }

    private static func units(micros: Int128) -> String {
        let digits = (micros.magnitude % 1_000_000).description
        var fraction = Substring(String(repeating: "0", count: 6 - digits.count) + digits)
        while fraction.count > 2, fraction.last == "0" { fraction = fraction.dropLast() }
        return "\(micros < 0 ? "-" : "")\(micros.magnitude / 1_000_000).\(fraction)"
    }
}
