/// The verdict on one request, and the form of the postback that it holds for.
package struct AttestationResult: Sendable, Equatable {
    /// Who signed the postback.
    package let verdict: Verdict
    /// The form that verified, which is the one to fold; `asGiven` when none did.
    package let form: RelayForm

    /// A result as it is.
    package init(verdict: Verdict, form: RelayForm = .asGiven) {
        self.verdict = verdict
        self.form = form
    }
}
