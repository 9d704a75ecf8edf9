import Crypto
import Foundation
import Signatures
import Testing

@Suite("Keys of configuration")
struct TrustedKeysTests {
    @Test("what is not a public key of these curves is refused by its entry")
    func refusedKeys() throws {
        let good = try SigningKey.p256().publicKey
        let p384 = P384.Signing.PrivateKey().publicKey.derRepresentation.base64EncodedString()
        let trailing = try #require(Data(base64Encoded: SigningKey.p192().publicKey)) + [0]
        let bad = [
            "", "not base64!", "AAAA", p384, String(good.dropLast(4)), good + "AAAA",
            trailing.base64EncodedString(),
            P256.Signing.PrivateKey().derRepresentation.base64EncodedString(),
        ]
        for key in bad {
            #expect(throws: TrustedKeysError.notAPublicKey(entry: "production[1]")) {
                try TrustedKeys(production: [good, key])
            }
            #expect(throws: TrustedKeysError.notAPublicKey(entry: "development[0]")) {
                try TrustedKeys(development: [key])
            }
            #expect(throws: TrustedKeysError.notAPublicKey(entry: "adattributionkit[0]")) {
                try TrustedKeys(adAttributionKit: [.init(kid: "k", key: key, verdict: .valid)])
            }
        }
    }

    @Test("an AdAttributionKit key needs an id, P-256 and a verdict that a key can give")
    func refusedAdAttributionKitKeys() throws {
        let p256 = try SigningKey.p256().publicKey
        let p192 = try SigningKey.p192().publicKey
        let entry = "adattributionkit[0]"
        #expect(throws: TrustedKeysError.emptyKeyID(entry: entry)) {
            try TrustedKeys(adAttributionKit: [.init(kid: "", key: p256, verdict: .valid)])
        }
        #expect(throws: TrustedKeysError.notP256(entry: entry)) {
            try TrustedKeys(adAttributionKit: [.init(kid: "k", key: p192, verdict: .valid)])
        }
        for verdict in [Verdict.invalid, .unverifiable] {
            #expect(throws: TrustedKeysError.unusableVerdict(entry: entry, verdict: verdict)) {
                try TrustedKeys(adAttributionKit: [.init(kid: "k", key: p256, verdict: verdict)])
            }
        }
    }

    @Test("an error says where and what to do, on one line")
    func descriptions() {
        let errors: [TrustedKeysError] = [
            .notAPublicKey(entry: "production[1]"), .notP256(entry: "production[1]"),
            .emptyKeyID(entry: "production[1]"),
            .unusableVerdict(entry: "production[1]", verdict: .invalid),
        ]
        for error in errors {
            #expect(error.description.hasPrefix("trusted_keys.production[1]: "))
            #expect(!error.description.contains("\n"))
        }
    }

    @Test("the curve of a key decides for which versions it counts")
    func curves() throws {
        let p192 = try SigningKey.p192()
        let p256 = SigningKey.p256()
        let keys = try TrustedKeys(development: [p256.publicKey, p192.publicKey])
        for (version, right, wrong) in [("2.0", p192, p256), ("2.1", p256, p192)] {
            let postback = Postback(version: version)
            #expect(try postback.signed(by: right).attested(keys).verdict == .development)
            #expect(try postback.signed(by: wrong).attested(keys).verdict == .invalid)
        }
    }

    @Test("a key that is both production and development is production")
    func bothLists() throws {
        let key = SigningKey.p256()
        let keys = try TrustedKeys(production: [key.publicKey], development: [key.publicKey])
        #expect(try Postback(version: "4.0").signed(by: key).attested(keys).verdict == .valid)
    }
}
