/// The state of a document for a partner.
package enum DeliveryState: String, CaseIterable, Sendable {
    /// To be sent, now or at the next attempt.
    case pending
    /// The partner answered 200 to 299.
    case delivered
    /// Not sent again automatically; the reason says why.
    case dead
    /// Waits for an operator; the reason says what is missing.
    case held
    /// A higher revision arrived before this one was sent.
    case superseded
}

/// Why a delivery is dead or held. A detail in words follows it in the store.
enum DeliveryReason: String, CaseIterable, Sendable {
    /// All attempts of the schedule failed.
    case exhausted
    /// Another attempt would not change the status that the partner answered.
    case refused
    /// The partner answered with a redirect.
    case redirect
    /// The partner answered 410 and is disabled.
    case gone
    /// The partner has a private address, or another that is not allowed.
    case address
    /// A value is not allowed where the template has it.
    case unusable
    /// The record is not a document.
    case unreadable
    /// A macro has no value and the file of the partner says to hold.
    case missing
    /// No file for this partner.
    case unknownPartner = "unknown_partner"
    /// The file of the partner has no address yet.
    case off
}

package struct Delivery: Equatable, Sendable {
    /// The id of the document; for an unreadable record, its topic, partition and offset.
    package var id: String
    package var revision: Int64
    /// Empty for an unreadable record.
    package var partner: String
    package var partition: Int32
    package var offset: Int64
    package var state: DeliveryState
    /// Why the delivery is dead or held; otherwise empty.
    package var reason: String
    /// Attempts since the document was taken over or last retried by hand.
    package var attempts: Int
    /// When the document was taken over from the topic, milliseconds since 1970.
    package var createdMilliseconds: Int64
    /// Milliseconds since 1970; nil unless pending.
    package var nextAttemptMilliseconds: Int64?
    /// When the state last changed, milliseconds since 1970.
    package var changedMilliseconds: Int64

    /// Partners recognise repeated requests by it.
    var idempotencyKey: String { "\(id):\(revision)" }
}

/// An attempt as stored.
package struct StoredAttempt: Equatable, Sendable {
    /// From 1, over all retries.
    package var number: Int
    /// Milliseconds since 1970.
    package var startedMilliseconds: Int64
    package var durationMilliseconds: Int64
    /// Nil without an answer.
    package var status: Int?
    /// Nil for an answer.
    package var fault: String?
}

/// Pending deliveries.
package struct WaitingDeliveries: Equatable, Sendable {
    package var count: Int
    /// When the oldest was taken over from the topic, milliseconds since 1970; nil without any.
    package var oldestMilliseconds: Int64?

    /// How long the oldest has waited, in seconds; nil without any.
    package func seconds(at nowMilliseconds: Int64) -> Int64? {
        oldestMilliseconds.map { max(nowMilliseconds - $0, 0) / 1000 }
    }

    /// The sum of two stores.
    package func adding(_ other: WaitingDeliveries) -> WaitingDeliveries {
        WaitingDeliveries(
            count: count + other.count,
            oldestMilliseconds: [oldestMilliseconds, other.oldestMilliseconds].compactMap(\.self)
                .min())
    }
}
