/// One postback to judge: where, in the arena that a batch shares, its signed texts and signature
/// lie. Plain values, so that a batch of them costs nothing to hand to threads.
package enum AttestationRequest: Sendable {
    /// Of a version that nobody here knows.
    case unverifiable
    /// Without a signature, or without a field that its layout signs.
    case invalid
    /// A SKAdNetwork postback.
    case skAdNetwork(SKAdNetworkProof)
    /// An AdAttributionKit postback.
    case adAttributionKit(AdAttributionKitProof)

    /// What is checked of a SKAdNetwork postback.
    package struct SKAdNetworkProof: Sendable {
        /// The signed text of each form to try, in order; the first `count` are used.
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

    /// What is checked of an AdAttributionKit postback.
    package struct AdAttributionKitProof: Sendable {
        /// The key id, unescaped; empty when the header has none.
        let kid: Range<Int>
        let signingInput: Range<Int>
        /// r and s, 32 bytes each.
        let signature: Range<Int>
        let isES256: Bool
    }

    /// The request for an AdAttributionKit postback.
    ///
    /// - Parameters:
    ///   - jws: the postback's JWS, taken apart into the batch's arena.
    ///   - kid: the header's unescaped `kid` in the same arena; empty when there is none.
    ///   - isES256: whether the header's `alg` is ES256 and there is no `crit`.
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
