import JSON

/// One postback to verify: ranges of its signed texts and its signature in the arena of the batch. It is a plain
/// value, so that passing a batch to threads costs nothing.
package enum AttestationRequest: Sendable {
    /// The version is unknown.
    case unverifiable
    /// The signature or a signed field is missing.
    case invalid
    case skAdNetwork(SKAdNetworkProof)
    case adAttributionKit(AdAttributionKitProof)

    package struct SKAdNetworkProof: Sendable {
        /// The signed text of each form to try, in order. The first `count` are used.
        var candidates: InlineArray<4, Candidate>
        var count: Int
        let curve: SignatureCurve
        /// The DER form of the signature.
        let signature: Range<Int>

        struct Candidate: Sendable {
            let form: RelayForm
            let text: Range<Int>
        }
    }

    package struct AdAttributionKitProof: Sendable {
        /// Unescaped; empty if the header has no key id.
        let kid: Range<Int>
        let signingInput: Range<Int>
        /// r and s, 32 bytes each.
        let signature: Range<Int>
        let isES256: Bool
    }

    /// - Parameters:
    ///   - jws: the postback's JWS, split into parts in the batch's arena.
    ///   - kid: the header's unescaped `kid` in the same arena; empty if missing.
    ///   - isES256: whether the header's `alg` is ES256 and it has no `crit`.
    package static func adAttributionKit(
        _ jws: CompactJWS,
        kid: Range<Int>,
        isES256: Bool
    ) -> AttestationRequest {
        .adAttributionKit(
            AdAttributionKitProof(
                kid: kid,
                signingInput: jws.signingInput,
                signature: jws.signature,
                isES256: isES256
            )
        )
    }
}

extension AttestationRequest {
    /// Writes the texts to verify into `arena`.
    ///
    /// - Parameters:
    ///   - claims: the signed fields, in memory outside `arena`.
    ///   - signature: `attribution-signature`, base64, outside `arena`; nil if missing.
    ///   - isRelayed: whether the copy came through a relay. Relays fill in zeros, so it is also tried without a
    ///     `source-app-id` of 0, without a `fidelity-type` of 0, and without both.
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
    /// Whether every field that `form` omits is signed and 0, as relays fill it in.
    fileprivate func mayHaveFilledIn(_ form: RelayForm, _ claims: SKAdNetworkClaims) -> Bool {
        (!form.omitsSourceApp || signsSourceApp && claims.sourceAppID == 0)
            && (!form.omitsFidelity || signsFidelity && claims.fidelityType == 0)
    }
}

/// The fields to omit from a postback before its signature is checked.
///
/// Relays fill in zeros for fields that Apple did not send. If a relayed copy does not verify as received, it is
/// tried again without them, in the order of the cases.
package enum RelayForm: UInt8, Sendable, CaseIterable {
    /// Every field as received.
    case asGiven
    /// Without `source-app-id`.
    case withoutSourceApp
    /// Without `fidelity-type`.
    case withoutFidelity
    /// Without `source-app-id` and `fidelity-type`.
    case withoutBoth

    package var omitsSourceApp: Bool { self == .withoutSourceApp || self == .withoutBoth }

    package var omitsFidelity: Bool { self == .withoutFidelity || self == .withoutBoth }
}

/// The verdict on one request, and the form of the postback that it applies to.
package struct AttestationResult: Sendable, Equatable {
    package let verdict: Verdict
    /// The form that verified and is folded; `asGiven` if none did.
    package var form = RelayForm.asGiven
}

/// The origin of a postback according to its signature.
package enum Verdict: UInt8, Sendable, CaseIterable {
    /// Signed by a production key.
    case valid
    /// Signed by a development key.
    case development
    /// Not signed, or not signed by any key that could have signed it.
    case invalid
    /// Unknown version or key id.
    case unverifiable

    /// 2 for `valid`, 1 for `development`, 0 for the others.
    ///
    /// A copy of a postback replaces an earlier one only if its rank is higher.
    package var rank: Int {
        switch self {
        case .valid: 2
        case .development: 1
        case .invalid, .unverifiable: 0
        }
    }

    /// The word in dumps, configuration and partner postbacks.
    package var name: String {
        switch self {
        case .valid: "valid"
        case .development: "development"
        case .invalid: "invalid"
        case .unverifiable: "unverifiable"
        }
    }
}
