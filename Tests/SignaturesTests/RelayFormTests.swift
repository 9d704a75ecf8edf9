import Testing

@testable import Signatures

@Suite("Copies that came by a relay")
struct RelayFormTests {
    private let key = SigningKey.p256()

    /// A relayed copy in which both fields were filled in with 0, signed in `form`.
    private func filledIn(_ form: RelayForm, version: String = "3.0") throws -> Postback {
        var postback = Postback(version: version)
        postback.sourceAppID = 0
        postback.fidelityType = 0
        return try postback.signed(by: key, form)
    }

    @Test("the form that Apple signed is found, whichever zeros were filled in")
    func formsAreFound() throws {
        let keys = try TrustedKeys(production: [key.publicKey])
        for form in RelayForm.allCases {
            let postback = try filledIn(form, version: "4.0")
            let result = postback.attested(keys, isRelayed: true)
            #expect(result == AttestationResult(verdict: .valid, form: form))
        }
    }

    @Test("without a source domain, a lone 0 is taken for the fidelity, never for the source app")
    func loneZero() throws {
        let keys = try TrustedKeys(production: [key.publicKey])
        for version in ["2.2", "3.0"] {
            let sourceApp = try filledIn(.withoutFidelity, version: version)
            #expect(
                sourceApp.signedText(.withoutFidelity) == sourceApp.signedText(.withoutSourceApp))
            for form in [RelayForm.withoutSourceApp, .withoutFidelity] {
                let result = try filledIn(form, version: version).attested(keys, isRelayed: true)
                #expect(result == AttestationResult(verdict: .valid, form: .withoutSourceApp))
            }
            let both = try filledIn(.withoutBoth, version: version).attested(keys, isRelayed: true)
            #expect(both == AttestationResult(verdict: .valid, form: .withoutBoth))
        }
    }

    @Test("a copy from a device is judged as given only")
    func devicesAreNotRetried() throws {
        let keys = try TrustedKeys(production: [key.publicKey])
        for form in RelayForm.allCases where form != .asGiven {
            #expect(try filledIn(form).attested(keys).verdict == .invalid)
        }
    }

    @Test("a field that is not 0 is never left out")
    func onlyZerosAreLeftOut() throws {
        let keys = try TrustedKeys(production: [key.publicKey])
        for form in RelayForm.allCases where form != .asGiven {
            var sourceApp = Postback(version: "3.0")
            sourceApp.fidelityType = 0
            var fidelity = Postback(version: "3.0")
            fidelity.sourceAppID = 0
            let sourceAppVerdict = try sourceApp.signed(by: key, form)
                .attested(keys, isRelayed: true).verdict
            #expect(sourceAppVerdict == (form.omitsSourceApp ? .invalid : .valid))
            let fidelityVerdict = try fidelity.signed(by: key, form)
                .attested(keys, isRelayed: true).verdict
            #expect(fidelityVerdict == (form.omitsFidelity ? .invalid : .valid))
        }
    }

    @Test("a source app of 0 that hid the source domain of a web ad gives way to it")
    func webAd() throws {
        var web = Postback(version: "4.0")
        web.sourceAppID = nil
        web = try web.signed(by: key)
        web.sourceAppID = 0
        let keys = try TrustedKeys(production: [key.publicKey])
        let result = web.attested(keys, isRelayed: true)
        #expect(result == AttestationResult(verdict: .valid, form: .withoutSourceApp))
    }

    @Test("a version that does not sign a field is not tried without it")
    func unsignedFieldsGiveNoForm() throws {
        let p192 = try SigningKey.p192()
        let keys = try TrustedKeys(production: [p192.publicKey])
        var postback = Postback(version: "1.0")
        postback.sourceAppID = 0
        postback.fidelityType = 0
        let result = try postback.signed(by: p192).attested(keys, isRelayed: true)
        #expect(result == AttestationResult(verdict: .valid, form: .asGiven))
    }

    @Test("all keys are tried for one form before the next form")
    func formsBeforeKeys() throws {
        let production = SigningKey.p256()
        let keys = try TrustedKeys(production: [production.publicKey], development: [key.publicKey])
        let postback = try filledIn(.withoutSourceApp)
        let result = postback.attested(keys, isRelayed: true)
        #expect(result == AttestationResult(verdict: .development, form: .withoutSourceApp))
    }
}
