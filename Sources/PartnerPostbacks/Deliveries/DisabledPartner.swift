/// A partner to which nothing is sent until its address changes or an operator says so: it answered 410, which
/// wants nothing more there, or 401 or 403, which would refuse each document after the other.
package struct DisabledPartner: Equatable, Sendable {
    /// Name of the partner.
    package var name: String
    /// What it answered.
    package var status: Int

    /// Why nothing is sent, for after its name.
    package var words: String { "is disabled, since it answered \(status)" }

    /// What to do before it is enabled.
    package var remedy: String {
        status == 410
            ? "ask it, mend its url, or"
            : "mend its secret or headers, which are read again at once, then"
    }
}
