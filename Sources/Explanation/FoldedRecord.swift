import EventLog
import Streams

/// A record of a stretch that was folded again, with what it did when it was folded the first time.
package struct FoldedRecord {
    /// The record; its bytes are valid within the call that hands it out.
    package let record: RecordView
    /// The hour that it counts in.
    package let hour: Hour
    /// The type that it is counted under in `outcomes`.
    package let type: String
    /// What became of it.
    package let outcome: Outcome
    /// What it added, to `outcomes` too.
    package let additions: [Addition]
    /// What it would have added if nothing before it had been known, and its sums had fitted; empty unless
    /// that was asked for and it is a duplicate, a conflict or an overflow.
    package let leftOut: [Addition]
    /// Why it is kept instead of counted; nil for accepted records and duplicates.
    package let refusal: RefusedRecord?
    /// What memory answered about it, as its stream writes it; nil when nothing was known.
    package let answers: [UInt8]?

    /// Where the record lies that this one is a copy of: known of postbacks and notifications.
    package func originalOffset(in stream: String) -> Int64? {
        guard outcome == .duplicates || outcome == .conflicts, let answers else { return nil }
        return switch stream {
        case PostbacksFold.streamName: KnownPostback(answers: answers)?.offset
        case StoreNotificationsFold.streamName: NotificationAnswers(answers)?.originalOffset
        default: nil
        }
    }
}
