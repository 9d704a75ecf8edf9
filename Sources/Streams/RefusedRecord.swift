/// A record that is kept instead of counted.
package struct RefusedRecord: Sendable {
    /// Why it is kept.
    package enum Cause: Sendable {
        /// It cannot be decoded, or its sums overflow.
        case rejected(Rejection)
        /// An accepted record has the same id and other values; the words name them.
        case conflict(detail: String)
        /// It is not from whom it says it is; the words say what failed.
        case untrusted(detail: String)
    }

    /// Place of the record in the batch that was folded.
    package var index: Int
    /// The type that the record's header said; empty when it said none.
    package var type: String
    /// Why it is kept.
    package var cause: Cause

    /// The reason as it is stored and printed.
    package var reason: String {
        switch cause {
        case .rejected(let rejection): rejection.reason.name
        case .conflict: "conflict"
        case .untrusted: "untrusted"
        }
    }

    /// Words for people.
    package var detail: String {
        switch cause {
        case .rejected(let rejection): rejection.detail
        case .conflict(let detail), .untrusted(let detail): detail
        }
    }
}
