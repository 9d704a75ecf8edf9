/// The App Store's id of a transaction, or of a line of purchases: that of its first transaction.
///
/// Ids are numbers so far; a JSON number and a string of its digits are the same id.
package enum TransactionID: Hashable, Sendable {
    /// A number, however it was written.
    case number(Int64)
    /// A text that is not only digits, in UTF-8.
    case text([UInt8])

    /// Reads a text that names an id. Digits beyond 64 bits stay a text.
    init(_ text: UnsafeRawBufferPointer) {
        if case .number(let number) = Digits(text) {
            self = .number(number)
        } else {
            self = .text(Array(text))
        }
    }
}

/// Numbers come before texts.
extension TransactionID: Comparable {
    /// Whether an id comes before another one, in the order in which they are stored.
    package static func < (one: TransactionID, other: TransactionID) -> Bool {
        switch (one, other) {
        case (.number(let one), .number(let other)): one < other
        case (.number, .text): true
        case (.text, .number): false
        case (.text(let one), .text(let other)): one.lexicographicallyPrecedes(other)
        }
    }
}
