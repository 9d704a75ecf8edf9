/// The verdict on one request, and the form of the postback that it holds for.
public struct AttestationResult: Sendable, Equatable {
    /// Who signed the postback.
    public let verdict: Verdict
    /// The form that verified, which is the one to fold; `asGiven` when none did.
    public let form: RelayForm

    /// A result as it is.
    public init(verdict: Verdict, form: RelayForm = .asGiven) {
        self.verdict = verdict
        self.form = form
    }
}
