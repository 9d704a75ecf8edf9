import Streams

/// A record that has to do with a number.
package struct ExplainedRecord {
    /// How it has to do with it.
    package enum Role: Equatable, Sendable {
        /// It adds to the number.
        case counted
        /// It would be in the number if it had not been left out, and why it was.
        case leftOut(String)
        /// It lies in the same hours and was left out; whether it would be in the number cannot be told.
        case untold(String)
    }

    /// Name of the stream.
    package let stream: String
    /// Name of the topic.
    package let topic: String
    /// The record, with all that it did.
    package let folded: FoldedRecord
    /// How it has to do with the number.
    package let role: Role
    /// What it adds to each of the cell's measures.
    package let amounts: CellAmounts
}
