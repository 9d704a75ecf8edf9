import Crypto
import Foundation
import JSON
import Monitoring
import TestKit
import Testing

@testable import Collector
@testable import ConfigurationFiles
@testable import Tokens

/// A token of `Tests/Fixtures/tokens`, which Python signed, and its result.
private struct TokenFixture: CustomTestStringConvertible {
    let name: String
    /// The header and the claims as they were signed; the header is empty in the form before JWT.
    let header: String
    let claims: String
    let use: String
    /// Seconds since 1970.
    let at: Int64
    let token: String
    let fault: String?
    let expected: [String: Any]?

    var testDescription: String { name }

    static func all() throws -> (keys: TokenKeys, tokens: [TokenFixture]) {
        let text = try Data(
            contentsOf: URL(filePath: Repository.path("Tests/Fixtures/tokens/tokens.json")))
        let fixture = try #require(try JSONSerialization.jsonObject(with: text) as? [String: Any])
        let keys = try #require(fixture["keys"] as? [String: String]).sorted { $0 < $1 }
        let tokens = try #require(fixture["tokens"] as? [[String: Any]]).map { token in
            TokenFixture(
                name: try #require(token["name"] as? String),
                header: try #require(token["header"] as? String),
                claims: try #require(token["claims"] as? String),
                use: try #require(token["use"] as? String),
                at: Int64(try #require(token["at"] as? Int)),
                token: try #require(token["token"] as? String), fault: token["fault"] as? String,
                expected: token["expected"] as? [String: Any])
        }
        return (
            TokenKeys(keys.map { .init(id: $0.key, secret: Array($0.value.utf8), file: $0.key) }),
            tokens
        )
    }

    /// The content of the token, as `expected` has it.
    func result(_ keys: TokenKeys) throws -> [String: Any] {
        guard let use = TokenUse(rawValue: use) else {
            let read = try keys.readToken(token, atMilliseconds: at * 1000)
            let conditions = read.conditions.map { ($0.column, $0.value) }
            return [
                "expires": read.expiresAtSeconds,
                "where": Dictionary(uniqueKeysWithValues: conditions),
            ]
        }
        let read = try keys.read(token, for: use, atMilliseconds: at * 1000)
        return [
            "type": read.type, "to": read.target, "open": read.openMembers,
            "expires": read.expiresAtSeconds, "event": read.event,
        ]
    }
}

@Suite("Tests/Fixtures/tokens")
struct TokenFixtureTests {
    @Test("each token has its result")
    func results() throws {
        let (keys, tokens) = try TokenFixture.all()
        #expect(tokens.count == 40)
        for fixture in tokens {
            do {
                let result = try fixture.result(keys)
                #expect(
                    NSDictionary(dictionary: result)
                        == NSDictionary(dictionary: fixture.expected ?? [:]), "\(fixture.name)")
            } catch let fault as TokenFault {
                #expect(fault.description == fixture.fault, "\(fixture.name)")
            }
        }
    }

    @Test("has the tokens of the header and the claims that stand beside them")
    func texts() throws {
        for fixture in try TokenFixture.all().tokens {
            let parts = [fixture.header, fixture.claims].filter { !$0.isEmpty }
                .map { Base64.url.encode($0.utf8) }
            #expect(fixture.token.contains(parts.joined(separator: ".") + "."), "\(fixture.name)")
        }
    }

    @Test("RFC 7515, appendix A.1: the MAC of its example")
    func appendix() throws {
        let key =
            "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"
        var secret: [UInt8] = []
        _ = Array(key.utf8).withUnsafeBytes { Base64.url.decode($0, into: &secret) }
        #expect(secret.count == 64)
        let signed =
            "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9"
            + ".eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
        #expect(
            TokenKeys.signature(of: signed, by: SymmetricKey(data: secret))
                == "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
    }

    @Test("a token in the form before JWT works until version 2")
    func oldForm() throws {
        #expect(WeirVersion.current.hasPrefix("1."), "remove TokenClaims.old, and what reads it")
    }
}
