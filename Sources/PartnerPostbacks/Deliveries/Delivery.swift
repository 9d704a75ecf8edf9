/// What became of a document for a partner.
public enum DeliveryState: String, CaseIterable, Sendable {
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
public enum DeliveryReason: String, CaseIterable, Sendable {
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
public struct Delivery: Equatable, Sendable {
    /// The document's id; of a record that is none, its place.
    public var id: String
    /// The document's revision.
    public var revision: Int64
    /// Name of the partner; empty for a record that is no document.
    public var partner: String
    /// Where the document is in the topic.
    public var partition: Int32
    /// Its offset there.
    public var offset: Int64
    /// What became of it.
    public var state: DeliveryState
    /// Why it is dead or held; empty otherwise.
    public var reason: String
    /// Attempts since it was taken over, or last retried by hand.
    public var attempts: Int
    /// When it was taken over from the topic, milliseconds since 1970.
    public var createdMilliseconds: Int64
    /// When it is to be tried next, milliseconds since 1970; nil unless pending.
    public var nextAttemptMilliseconds: Int64?
    /// When its state last changed, milliseconds since 1970.
    public var changedMilliseconds: Int64

    /// What partners tell repetitions by.
    public var idempotencyKey: String { "\(id):\(revision)" }
}

/// An attempt, as the store remembers it.
public struct StoredAttempt: Equatable, Sendable {
    /// From 1, over all retries.
    public var number: Int
    /// When it began, milliseconds since 1970.
    public var startedMilliseconds: Int64
    /// How long it took.
    public var durationMilliseconds: Int64
    /// The status that was answered; nil without an answer.
    public var status: Int?
    /// What went wrong, in words; nil for an answer.
    public var fault: String?
}
