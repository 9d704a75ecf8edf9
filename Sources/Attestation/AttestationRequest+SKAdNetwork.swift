extension AttestationRequest {
    /// The request for a SKAdNetwork postback; writes what is to be verified into `arena`.
    ///
    /// - Parameters:
    ///   - claims: the signed fields, in memory outside `arena`.
    ///   - signature: `attribution-signature`, base64, outside `arena`; nil when there is none.
    ///   - isRelayed: whether the copy came by a relay, which fills in zeros: then it is also tried
    ///     without a `source-app-id` of 0, without a `fidelity-type` of 0, and without both.
    ///   - arena: the bytes of the batch.
    package static func skAdNetwork(
        _ claims: SKAdNetworkClaims,
        signature: UnsafeRawBufferPointer?,
        isRelayed: Bool,
        arena: inout [UInt8]
    ) -> AttestationRequest {
        guard let layout = SKAdNetworkLayout(version: claims.version) else { return .unverifiable }
        guard let signature, let der = Base64.standard.decode(signature, into: &arena),
            !der.isEmpty
        else { return .invalid }
        var proof = SKAdNetworkProof(
            candidates: InlineArray(repeating: .init(form: .asGiven, text: 0..<0)),
            count: 0,
            curve: layout.curve,
            signature: der
        )
        for form in RelayForm.allCases
        where form == .asGiven || isRelayed && layout.mayHaveFilledIn(form, claims) {
            let start = arena.count
            guard layout.appendSignedText(of: claims, form: form, to: &arena) else { continue }
            proof.candidates[proof.count] = .init(form: form, text: start..<arena.count)
            proof.count += 1
        }
        return proof.count > 0 ? .skAdNetwork(proof) : .invalid
    }
}

extension SKAdNetworkLayout {
    /// Whether every field that `form` leaves out is signed and 0, as relays fill them in.
    fileprivate func mayHaveFilledIn(_ form: RelayForm, _ claims: SKAdNetworkClaims) -> Bool {
        (!form.omitsSourceApp || signsSourceApp && claims.sourceAppID == 0)
            && (!form.omitsFidelity || signsFidelity && claims.fidelityType == 0)
    }
}
