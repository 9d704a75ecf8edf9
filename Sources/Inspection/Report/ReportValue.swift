import AggregateStore

package enum ReportValue: Equatable, Sendable {
    /// null in JSON, an empty field elsewhere.
    case null
    case text(String)
    case integer(Int128)
    /// A decimal number, as its digits.
    case decimal(String)
    case boolean(Bool)
    case money(MoneyByCurrency)

    /// The value as people read it, and as CSV has it.
    var words: String {
        switch self {
        case .null: ""
        case .text(let text), .decimal(let text): text
        case .integer(let integer): integer.description
        case .boolean(let boolean): boolean ? "true" : "false"
        case .money(let money): money.words
        }
    }

    /// The value in a line of CSV. A currency comes from an event, so it counts as anybody's text.
    var field: CSVLine.Field {
        switch self {
        case .text(let text): .text(text)
        case .money(let money) where money.amounts.contains { !$0.currency.isEmpty }: .text(words)
        case .null, .decimal, .integer, .boolean, .money: .own(words)
        }
    }

    func append(to json: inout [UInt8]) {
        switch self {
        case .null: JSONBytes.append("null", to: &json)
        case .text(let text): JSONBytes.appendString(text.utf8, to: &json)
        case .money(let money): money.append(to: &json)
        case .integer, .decimal, .boolean: JSONBytes.append(words, to: &json)
        }
    }
}

/// Amounts of money in millionths of their unit. Different currencies are never added.
package struct MoneyByCurrency: Equatable, Sendable {
    /// The amounts, by currency in bytewise order.
    package let amounts: [Amount]

    package struct Amount: Equatable, Sendable {
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

/// A quotient of integers, written with a fixed number of digits, without floating-point numbers.
struct ExactRatio {
    private let numerator: Int128
    private let denominator: Int128

    /// Digits after the point.
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
    /// Sums of 64-bit sums stay far below what would overflow 128 bits when scaled.
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
