import Attestation
import Crypto
import Pipelines
import Streams
import Testing
import Worker

@Suite("Keys that networks sign ads with")
struct AdSigningKeysTests {
    private func keys(_ key: String) throws -> [String: [VerificationKey]] {
        let place = try Workplace()
        try place.write(
            "catalog.yaml",
            "networks:\n  A.example:\n    name: x\n    ad_signing_keys:\n      - \"\(key)\"\n")
        return try BidsFold.adSigningKeys(of: PipelineDirectory(place.pipelines).catalog())
    }

    @Test("keys on P-256 and on P-192 are taken: large networks sign with both")
    func curves() throws {
        let p256 = P256.Signing.PrivateKey().publicKey.derRepresentation.base64EncodedString()
        guard case .p256? = try keys(p256)["a.example"]?.first else {
            Issue.record("a key on P-256 is none")
            return
        }
        let p192 =
            "MEkwEwYHKoZIzj0CAQYIKoZIzj0DAQEDMgAEMyHD625uvsmGq4C43cQ9BnfN2xslVT5V1nOmAMP6qaRRUll3"
            + "PB1JYmgSm+62sosG"
        guard case .p192? = try keys(p192)["a.example"]?.first else {
            Issue.record("a key on P-192 is none")
            return
        }
    }

    @Test("any other text is a fault at its line")
    func faults() throws {
        let p384 = P384.Signing.PrivateKey().publicKey.derRepresentation.base64EncodedString()
        let raw = P256.Signing.PrivateKey().publicKey.x963Representation.base64EncodedString()
        for key in [p384, raw, "KEY", "MEkwEwYHKoZIzj0CAQYIKoZIzj0DAQEDMgAE"] {
            let fault = #expect(throws: ConfigurationError.self) { try keys(key) }
            #expect(
                fault?.description.hasSuffix(
                    "catalog.yaml:5: networks.A.example.ad_signing_keys[0]: is no P-192 or P-256 "
                        + "public key: give its SubjectPublicKeyInfo (DER) in base64") == true,
                "\(fault?.description ?? "")")
        }
    }
}
