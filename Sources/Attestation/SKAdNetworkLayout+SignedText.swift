extension SKAdNetworkLayout {
    /// Appends the bytes that Apple signs for `claims` in `form`.
    ///
    /// - Returns: false, with nothing appended, when a field that the layout signs is absent, a
    ///   text contains U+2063 or a source domain is a number, all of which would let one signature
    ///   stand for two postbacks: such a postback is `invalid`.
    package func appendSignedText(
        of claims: SKAdNetworkClaims,
        form: RelayForm,
        to text: inout [UInt8]
    ) -> Bool {
        SignedText.append(to: &text) { visitFields(of: claims, form: form, $0) }
    }

    /// The fields that Apple signs for `claims` in `form`, in order.
    package func signedFields(of claims: SKAdNetworkClaims, form: RelayForm) -> [SignedField] {
        SignedText.fields { visitFields(of: claims, form: form, $0) }
    }

    private func visitFields(
        of claims: SKAdNetworkClaims,
        form: RelayForm,
        _ visit: SignedText.Visitor
    ) {
        if self > .v1_0 { visit("version", .word(versionWord)) }
        visit("ad-network-id", .text(claims.adNetworkID))
        if usesSourceIdentifier {
            visit("source-identifier", claims.sourceIdentifier.map(SignedValue.text))
        } else {
            visit("campaign-id", claims.campaignID.map(SignedValue.number))
        }
        visit("app-id", .number(claims.appID))
        visit("transaction-id", .text(claims.transactionID))
        if signsRedownload { visit("redownload", claims.redownload.map(SignedValue.flag)) }
        visitSource(of: claims, form: form, visit)
        if signsFidelity, !form.omitsFidelity {
            visit("fidelity-type", claims.fidelityType.map(SignedValue.number))
        }
        if signsDidWin { visit("did-win", claims.didWin.map(SignedValue.flag)) }
        if signsSequenceIndex {
            visit("postback-sequence-index", claims.sequenceIndex.map(SignedValue.number))
        }
    }

    private func visitSource(
        of claims: SKAdNetworkClaims,
        form: RelayForm,
        _ visit: SignedText.Visitor
    ) {
        if signsSourceApp, !form.omitsSourceApp, let sourceAppID = claims.sourceAppID {
            visit("source-app-id", .number(sourceAppID))
        } else if signsSourceDomain, let sourceDomain = claims.sourceDomain {
            // Digits alone would be a source app in a domain's place: the same bytes are signed.
            let isNumber = sourceDomain.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
            visit("source-domain", isNumber ? nil : .text(sourceDomain))
        }
    }
}
