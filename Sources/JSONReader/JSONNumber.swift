/// A JSON number, as exactly as 64 bits hold it.
package enum JSONNumber: Equatable, Sendable {
    /// An integer within Int64.
    case integer(Int64)
    /// An integer beyond Int64, within UInt64.
    case large(UInt64)
    /// Anything else, and integers beyond 64 bits; always finite.
    case double(Double)

    /// The number as a double, rounded to the nearest.
    package var double: Double {
        switch self {
        case .integer(let value): Double(value)
        case .large(let value): Double(value)
        case .double(let value): value
        }
    }

    /// What a number is when an integer is wanted.
    package enum AsInteger: Equatable, Sendable {
        /// An integer within Int64; 5.0 and 5e0 are the integer 5.
        case exact(Int64)
        /// An integer that Int64 does not hold.
        case beyondInt64
        /// A number with a fraction.
        case fraction
    }

    /// The number as an integer.
    package var asInteger: AsInteger {
        switch self {
        case .integer(let value): return .exact(value)
        case .large: return .beyondInt64
        case .double(let value):
            if value.rounded(.towardZero) != value { return .fraction }
            guard let integer = Int64(exactly: value) else { return .beyondInt64 }
            return .exact(integer)
        }
    }
}
