/// Parses amounts of money without floating point.
package enum DecimalAmount {
    /// Micros (millionths) of a decimal number: digits, optionally with a fraction and an exponent, such as `5`,
    /// `4.99` or `1.5e3`. Fractions of a micro are cut off.
    ///
    /// Throws for a sign, a leading zero before other digits, any other notation, and amounts beyond 64 bits.
    package static func micros(_ text: String) throws(AmountFault) -> Int64 {
        var rest = Substring(text).utf8
        if rest.first == UInt8(ascii: "-") { throw .negative }
        var digits = takeDigits(&rest)
        guard !digits.isEmpty, digits.count == 1 || digits.first != 0 else { throw .notADecimal }
        var integerDigits = digits.count
        if rest.first == UInt8(ascii: ".") {
            rest.removeFirst()
            let fraction = takeDigits(&rest)
            guard !fraction.isEmpty else { throw .notADecimal }
            digits += fraction
        }
        integerDigits += try takeExponent(&rest)
        guard rest.isEmpty else { throw .notADecimal }
        return try micros(digits: digits, integerDigits: integerDigits)
    }

    private static func micros(digits: [UInt8], integerDigits: Int) throws(AmountFault) -> Int64 {
        guard let first = digits.firstIndex(where: { $0 != 0 }) else { return 0 }
        let significant = digits[first...]
        let wanted = integerDigits - first + 6
        guard wanted > 0 else { return 0 }
        guard wanted <= 19 else { throw .tooLarge }
        var micros: Int64 = 0
        for position in 0..<wanted {
            let index = first + position
            let digit = index < significant.endIndex ? Int64(significant[index]) : 0
            let shifted = micros.multipliedReportingOverflow(by: 10)
            let sum = shifted.partialValue.addingReportingOverflow(digit)
            guard !shifted.overflow, !sum.overflow else { throw .tooLarge }
            micros = sum.partialValue
        }
        return micros
    }

    private static func takeDigits(_ rest: inout Substring.UTF8View) -> [UInt8] {
        let zero = UInt8(ascii: "0")
        let digits = rest.prefix { (zero...UInt8(ascii: "9")).contains($0) }.map { $0 - zero }
        rest.removeFirst(digits.count)
        return digits
    }

    /// The exponent of ten, bounded to a range that no text of digits can exceed.
    private static func takeExponent(_ rest: inout Substring.UTF8View) throws(AmountFault) -> Int {
        guard rest.first == UInt8(ascii: "e") || rest.first == UInt8(ascii: "E") else { return 0 }
        rest.removeFirst()
        let negative = rest.first == UInt8(ascii: "-")
        if negative || rest.first == UInt8(ascii: "+") { rest.removeFirst() }
        let digits = takeDigits(&rest)
        guard !digits.isEmpty else { throw .notADecimal }
        let bound = Int(Int32.max)
        let exponent = digits.reduce(0) { Swift.min($0 * 10 + Int($1), bound) }
        return negative ? -exponent : exponent
    }
}

package enum AmountFault: Error, Equatable, Sendable, CustomStringConvertible {
    case notADecimal
    case negative
    case tooLarge

    package var description: String {
        switch self {
        case .notADecimal:
            "is not an amount: write digits with an optional fraction, for example 4.99"
        case .negative: "is negative: write 0 or more"
        case .tooLarge: "is too large: its millionths must fit into 64 bits"
        }
    }
}
