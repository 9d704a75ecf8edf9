import Crypto
import Foundation
import Signatures
import TestKit
import Testing

@Suite("AdAttributionKit postbacks")
struct AdAttributionKitTests {
    private let key = P256.Signing.PrivateKey()

    private var publicKey: String { key.publicKey.derRepresentation.base64EncodedString() }

    private func verdict(
        _ text: String, kid: String, isES256: Bool = true, keys: TrustedKeys
    ) throws -> Verdict {
        var arena: [UInt8] = Array(kid.utf8)
        let lent = LentBytes()
        let jws = withExtendedLifetime(lent) { CompactJWS(lent.lend(text), arena: &arena) }
        let request = AttestationRequest.adAttributionKit(
            try #require(jws), kid: 0..<kid.utf8.count, isES256: isES256)
        let attestor = Attestor(keys: keys, threadCount: 1)
        return attestor.begin([request], bytes: arena).finish()[0].verdict
    }

    private func jws(signedBy key: P256.Signing.PrivateKey) throws -> String {
        let input = #"{"kid":"k","alg":"ES256"}"#.utf8.base64URL + "." + "{}".utf8.base64URL
        let signature = try key.signature(for: Data(input.utf8)).rawRepresentation
        return input + "." + signature.base64URL
    }

    private func published() throws -> String {
        let vector = try #require(Vector.all(of: "aak-postback").first)
        return try #require(vector.body["jws-string"] as? String)
    }

    @Test("Apple's published postback from Settings is development")
    func publishedPostback() throws {
        let verdict = try verdict(
            published(), kid: "apple-development-identifier/1", keys: TrustedKeys())
        #expect(verdict == .development)
    }

    @Test("under another of Apple's key ids the same postback is invalid")
    func otherKeyID() throws {
        for kid in ["apple-cas-identifier/0", "apple-development-identifier/0"] {
            #expect(try verdict(published(), kid: kid, keys: TrustedKeys()) == .invalid)
        }
    }

    @Test("an unknown key id is unverifiable, whatever else is wrong")
    func unknownKeyID() throws {
        let keys = try TrustedKeys()
        for kid in ["", "apple-cas-identifier/1", "apple-cas-identifier/00"] {
            #expect(try verdict(published(), kid: kid, keys: keys) == .unverifiable)
            #expect(try verdict(published(), kid: kid, isES256: false, keys: keys) == .unverifiable)
        }
    }

    @Test("another algorithm than ES256 is invalid under a key that would fit")
    func otherAlgorithm() throws {
        let verdict = try verdict(
            published(), kid: "apple-development-identifier/1", isES256: false, keys: TrustedKeys())
        #expect(verdict == .invalid)
    }

    @Test("a configured key gives the verdict that it was configured with")
    func configuredKeys() throws {
        let text = try jws(signedBy: key)
        for expected in [Verdict.valid, .development] {
            let keys = try TrustedKeys(adAttributionKit: [
                AdAttributionKitKey(kid: "k", key: publicKey, verdict: expected)
            ])
            #expect(try verdict(text, kid: "k", keys: keys) == expected)
        }
    }

    @Test("a configured key under Apple's own key id is tried beside Apple's")
    func sharedKeyID() throws {
        let kid = "apple-development-identifier/1"
        let keys = try TrustedKeys(adAttributionKit: [
            AdAttributionKitKey(kid: kid, key: publicKey, verdict: .valid)
        ])
        #expect(try verdict(jws(signedBy: key), kid: kid, keys: keys) == .valid)
        #expect(try verdict(published(), kid: kid, keys: keys) == .development)
    }

    @Test("a key configured twice is worth the more, in either order")
    func orderOfConfiguration() throws {
        let entries = [Verdict.development, .valid].map {
            AdAttributionKitKey(kid: "k", key: publicKey, verdict: $0)
        }
        for configured in [entries, entries.reversed()] {
            let keys = try TrustedKeys(adAttributionKit: configured)
            #expect(try verdict(jws(signedBy: key), kid: "k", keys: keys) == .valid)
        }
    }

    @Test("a signature of another length, or none, is invalid")
    func signatureLength() throws {
        let keys = try TrustedKeys(adAttributionKit: [
            AdAttributionKitKey(kid: "k", key: publicKey, verdict: .valid)
        ])
        let text = try jws(signedBy: key)
        let input = try #require(text.lastIndex(of: ".")).utf16Offset(in: text) + 1
        for dropped in [text.count - input, 6, 10] {
            let cut = String(text.dropLast(dropped))
            #expect(try verdict(cut, kid: "k", keys: keys) == .invalid)
        }
        #expect(try verdict(text + "AAAA", kid: "k", keys: keys) == .invalid)
        let der = try key.signature(for: Data(text.prefix(input - 1).utf8)).derRepresentation
        let withDER = text.prefix(input) + der.base64URL
        #expect(try verdict(String(withDER), kid: "k", keys: keys) == .invalid)
    }
}
