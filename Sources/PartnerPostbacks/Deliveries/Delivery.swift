/// What became of a document for a partner.
package enum DeliveryState: String, CaseIterable, Sendable {
    /// To be sent, now or at its next attempt.
    case pending
    /// The partner answered with 200 to 299.
    case delivered
    /// Not sent any more by itself; the reason says why.
    case dead
    /// Waits for an operator; the reason says for what.
    case held
    /// A higher revision of the document came before this one was sent.
    case superseded
}

/// Why a delivery is dead or held; words follow.
package enum DeliveryReason: String, CaseIterable, Sendable {
    /// All attempts of the schedule failed.
    case exhausted
    /// The partner answered with a status that another attempt would not change.
    case refused
    /// The partner answered with a redirect.
    case redirect
    /// The partner answered with 410, and is disabled.
    case gone
    /// The partner's address is private, or another that is not allowed.
    case address
    /// A value cannot stand where the template has it.
    case unusable
    /// The record is no document.
    case unreadable
    /// A macro has no value and the partner's file says to hold.
    case missing
    /// There is no file of that partner.
    case unknownPartner = "unknown_partner"
    /// The partner's file has no address yet.
    case off
}

/// A document on its way to a partner.
package struct Delivery: Equatable, Sendable {
    /// The document's id; of a record that is none, its place.
    package var id: String
    /// The document's revision.
    package var revision: Int64
    /// Name of the partner; empty for a record that is no document.
    package var partner: String
    /// Where the document is in the topic.
    package var partition: Int32
    /// Its offset there.
    package var offset: Int64
    /// What became of it.
    package var state: DeliveryState
    /// Why it is dead or held; empty otherwise.
    package var reason: String
    /// Attempts since it was taken over, or last retried by hand.
    package var attempts: Int
    /// When it was taken over from the topic, milliseconds since 1970.
    package var createdMilliseconds: Int64
    /// When it is to be tried next, milliseconds since 1970; nil unless pending.
    package var nextAttemptMilliseconds: Int64?
    /// When its state last changed, milliseconds since 1970.
    package var changedMilliseconds: Int64

    /// What partners tell repetitions by.
    package var idempotencyKey: String { "\(id):\(revision)" }
}

/// An attempt, as the store remembers it.
package struct StoredAttempt: Equatable, Sendable {
    /// From 1, over all retries.
    package var number: Int
    /// When it began, milliseconds since 1970.
    package var startedMilliseconds: Int64
    /// How long it took.
    package var durationMilliseconds: Int64
    /// The status that was answered; nil without an answer.
    package var status: Int?
    /// What went wrong, in words; nil for an answer.
    package var fault: String?
}
