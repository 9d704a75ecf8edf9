import JSON

/// Whom a purchase belongs to. The store sends purchases of family members and of assigned seats beside
/// those that somebody paid for, so that each has rows of its own.
package enum Ownership {
    private static let words: [(word: StaticString, column: StaticString)] = [
        ("PURCHASED", purchased), ("FAMILY_SHARED", "family"), ("ASSIGNED", "assigned"),
    ]

    /// What a customer paid for, and what a transaction is that does not say it.
    package static let purchased: StaticString = "purchased"

    /// The column of one of Apple's words.
    static func column(_ word: UnsafeRawBufferPointer?) -> StaticString {
        guard let word else { return purchased }
        return words.first { word.equals($0.word) }?.column ?? "other"
    }
}
