/// A time in which nothing is sent to a partner; one probe ends it.
package struct PartnerRest: Equatable, Sendable {
    /// Why nothing is sent.
    package enum Cause: String, CaseIterable, Sendable {
        /// It could not be reached.
        case away
        /// It answered 429, or 503 with `Retry-After`.
        case asked
    }

    /// Why nothing is sent.
    package var cause: Cause
    /// How long it is, in milliseconds.
    package var pauseMilliseconds: Int64
    /// When the probe may be sent, milliseconds since 1970.
    package var untilMilliseconds: Int64
}
