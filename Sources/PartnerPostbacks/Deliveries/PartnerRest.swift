/// A time in which nothing is sent to a partner; one probe ends it.
public struct PartnerRest: Equatable, Sendable {
    /// Why nothing is sent.
    public enum Cause: String, CaseIterable, Sendable {
        /// It could not be reached.
        case away
        /// It answered 429, or 503 with `Retry-After`.
        case asked
    }

    /// Why nothing is sent.
    public var cause: Cause
    /// How long it is, in milliseconds.
    public var pauseMilliseconds: Int64
    /// When the probe may be sent, milliseconds since 1970.
    public var untilMilliseconds: Int64
}
