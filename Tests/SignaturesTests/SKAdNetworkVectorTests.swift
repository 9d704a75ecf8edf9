import Testing

@testable import Signatures

@Suite("Postbacks that Apple, networks and others published")
struct SKAdNetworkVectorTests {
    @Test("the vectors are there")
    func vectorsArePresent() {
        #expect(Vector.all(of: "skan-postback").count == 28)
        #expect(Vector.all(of: "aak-postback").count == 1)
        #expect(Vector.all(of: "ad-signature").count == 2)
    }

    @Test("every postback gets its verdict from Apple's keys alone")
    func verdicts() throws {
        let keys = try TrustedKeys()
        for vector in Vector.all(of: "skan-postback") {
            let result = vector.postback.attested(keys)
            #expect(result.verdict == vector.verdict, "\(vector.testDescription)")
            #expect(result.form == .asGiven)
        }
    }

    @Test("every signed text is built byte for byte")
    func signedTexts() throws {
        var compared = 0
        for vector in Vector.all(of: "skan-postback") {
            guard let signed = vector.signed else { continue }
            #expect(vector.postback.signedText() == Array(signed.utf8), "\(vector.testDescription)")
            compared += 1
        }
        #expect(compared >= 25)
    }

    @Test("a postback that others signed is valid once their key is configured as production")
    func thirdPartyKeys() throws {
        var verified = 0
        for vector in Vector.all(of: "skan-postback") {
            // A version that does not exist stays unverifiable whatever the key.
            guard let key = vector.publicKey, vector.verdict != .unverifiable else { continue }
            #expect(vector.postback.attested(try TrustedKeys()).verdict == .invalid)
            #expect(vector.postback.attested(try TrustedKeys(production: [key])).verdict == .valid)
            #expect(
                vector.postback.attested(try TrustedKeys(development: [key])).verdict
                    == .development)
            verified += 1
        }
        #expect(verified >= 12)
    }

    @Test("a valid postback in a relay's hands still verifies as given")
    func relayedAsGiven() throws {
        let keys = try TrustedKeys()
        for vector in Vector.all(of: "skan-postback") where vector.verdict == .valid {
            let result = vector.postback.attested(keys, isRelayed: true)
            #expect(result == AttestationResult(verdict: .valid, form: .asGiven))
        }
    }
}
