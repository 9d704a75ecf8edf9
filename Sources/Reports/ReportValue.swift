import Store
import Streams

/// A value in a row of a report.
package enum ReportValue: Equatable, Sendable {
    /// null in JSON, an empty field elsewhere.
    case null
    case text(String)
    case integer(Int128)
    /// A decimal number, as its digits.
    case decimal(String)
    case boolean(Bool)
    case money(MoneyByCurrency)

    /// The quotient with six digits after the point, rounded half away from zero, without floating-point
    /// numbers; null when the denominator is 0.
    ///
    /// Sums of 64-bit sums stay far below what would overflow 128 bits when scaled.
    static func ratio(_ numerator: Int128, _ denominator: Int128) -> ReportValue {
        guard denominator != 0 else { return .null }
        let divisor = denominator.magnitude
        // Half away from zero: an odd divisor has no half.
        let millionths = (numerator.magnitude * 1_000_000 + divisor / 2) / divisor
        let isNegative = (numerator < 0) != (denominator < 0) && millionths != 0
        return .decimal(
            "\(isNegative ? "-" : "")\(millionths / 1_000_000).\(sixDigits(millionths % 1_000_000))"
        )
    }

    /// The digits of millionths.
    fileprivate static func sixDigits(_ millionths: UInt128) -> String {
        let digits = millionths.description
        return String(repeating: "0", count: 6 - digits.count) + digits
    }

    /// A time as RFC 3339.
    static func time(_ milliseconds: Int64?) -> ReportValue {
        milliseconds.map { .text(UTC.text(milliseconds: $0)) } ?? .null
    }

    /// The value as people read it, and as CSV has it.
    var plainText: String {
        switch self {
        case .null: ""
        case .text(let text), .decimal(let text): text
        // The description of 128 bits is slow.
        case .integer(let integer):
            Int64(exactly: integer).map { String($0) } ?? integer.description
        case .boolean(let boolean): boolean ? "true" : "false"
        case .money(let money): money.plainText
        }
    }

    /// The value in a line of CSV. A currency comes from an event, so it counts as anybody's text.
    var field: CSVLine.Field {
        switch self {
        case .text(let text): .text(text)
        case .money(let money) where money.amounts.contains { !$0.currency.isEmpty }:
            .text(plainText)
        case .null, .decimal, .integer, .boolean, .money: .own(plainText)
        }
    }

    func append(to json: inout [UInt8]) {
        switch self {
        case .null: JSONBytes.append("null", to: &json)
        case .text(let text): JSONBytes.appendString(text.utf8, to: &json)
        case .money(let money): money.append(to: &json)
        case .integer, .decimal, .boolean: JSONBytes.append(plainText, to: &json)
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

    /// Whether a measure is an amount, in millionths of the unit of its row's currency.
    package static func isMoney(_ measure: String) -> Bool { measure.hasSuffix("_micros") }

    /// Currencies, as errors name them.
    package static func list(_ currencies: some Sequence<String>) -> String {
        currencies.sorted().map { $0.isEmpty ? "no currency" : $0 }.joined(separator: " and ")
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
    var plainText: String {
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
        var fraction = ReportValue.sixDigits(micros.magnitude % 1_000_000)[...]
        while fraction.count > 2, fraction.last == "0" { fraction = fraction.dropLast() }
        return "\(micros < 0 ? "-" : "")\(micros.magnitude / 1_000_000).\(fraction)"
    }
}
