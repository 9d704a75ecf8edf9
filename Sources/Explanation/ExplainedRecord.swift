import Streams

/// A record that has to do with a number.
public struct ExplainedRecord {
    /// How it has to do with it.
    public enum Role: Equatable, Sendable {
        /// It adds to the number.
        case counted
        /// It would be in the number if it had not been left out, and why it was.
        case leftOut(String)
        /// It lies in the same hours and was left out; whether it would be in the number cannot be told.
        case untold(String)
    }

    /// Name of the stream.
    public let stream: String
    /// Name of the topic.
    public let topic: String
    /// The record, with all that it did.
    public let folded: FoldedRecord
    /// How it has to do with the number.
    public let role: Role
    /// What it adds to each of the cell's measures.
    public let amounts: CellAmounts
}
