import Crypto

extension TrustedKeys {
    /// The verdict on one request, whose ranges lie in `bytes`.
    func judge(
        _ request: AttestationRequest,
        bytes: UnsafeRawBufferPointer
    ) -> AttestationResult {
        switch request {
        case .unverifiable: AttestationResult(verdict: .unverifiable)
        case .invalid: AttestationResult(verdict: .invalid)
        case .skAdNetwork(let proof): judge(proof, bytes: bytes)
        case .adAttributionKit(let proof): AttestationResult(verdict: judge(proof, bytes: bytes))
        }
    }

    private func judge(
        _ proof: AttestationRequest.SKAdNetworkProof,
        bytes: UnsafeRawBufferPointer
    ) -> AttestationResult {
        let der = UnsafeRawBufferPointer(rebasing: bytes[proof.signature])
        switch proof.curve {
        case .p192:
            return firstForm(of: proof, bytes: bytes) { digest in
                p192.verdict { key in
                    digest.withUnsafeBytes { key.isValidSignature(der, for: $0) }
                }
            }
        case .p256:
            guard let signature = P256.Signing.ECDSASignature(boundedDER: der) else {
                return AttestationResult(verdict: .invalid)
            }
            return firstForm(of: proof, bytes: bytes) { digest in
                p256.verdict { $0.isValidSignature(signature, for: digest) }
            }
        }
    }

    private func firstForm(
        of proof: AttestationRequest.SKAdNetworkProof,
        bytes: UnsafeRawBufferPointer,
        verdict: (SHA256Digest) -> Verdict?
    ) -> AttestationResult {
        for index in 0..<proof.count {
            let candidate = proof.candidates[index]
            let text = UnsafeRawBufferPointer(rebasing: bytes[candidate.text])
            if let verdict = verdict(SHA256.hash(data: text)) {
                return AttestationResult(verdict: verdict, form: candidate.form)
            }
        }
        return AttestationResult(verdict: .invalid)
    }

    private func judge(
        _ proof: AttestationRequest.AdAttributionKitProof,
        bytes: UnsafeRawBufferPointer
    ) -> Verdict {
        let kid = bytes[proof.kid]
        guard adAttributionKit.contains(where: { $0.kid.elementsEqual(kid) }) else {
            return .unverifiable
        }
        let raw = UnsafeRawBufferPointer(rebasing: bytes[proof.signature])
        guard proof.isES256,
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: raw)
        else { return .invalid }
        let input = UnsafeRawBufferPointer(rebasing: bytes[proof.signingInput])
        let digest = SHA256.hash(data: input)
        let signer = adAttributionKit.first {
            $0.kid.elementsEqual(kid) && $0.key.isValidSignature(signature, for: digest)
        }
        return signer?.verdict ?? .invalid
    }
}
