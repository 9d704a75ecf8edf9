import Crypto
import Foundation
import JSONReader
import Pipelines

/// Signs and reads tokens: `key id.payload.signature`, payload and signature in base64url. The signature is
/// HMAC-SHA-256 over the use, the key's id and the payload as it stands there.
package struct TokenKeys: Sendable {
    /// Longer tokens are not read.
    package static let maxBytes = 8 << 10

    private let keys: [(id: String, key: SymmetricKey)]
    private let lifetimes: TokenLifetimes

    /// Keys, of which the first one signs; tokens are accepted for no longer than their use may hold.
    package init(
        _ keys: [CollectorPipeline.TokenKey], lifetimes: TokenLifetimes = TokenLifetimes()
    ) {
        self.lifetimes = lifetimes
        self.keys = keys.map { ($0.id, SymmetricKey(data: $0.secret)) }
    }

    /// The token's text; nil when there is no key to sign with. Throws `TokenFault.tooLong`.
    package func sign(_ token: EventToken) throws(TokenFault) -> String? {
        guard let (id, key) = keys.first else { return nil }
        let payload = Self.base64(Array(token.payload.utf8))
        let signature = HMAC<SHA256>.authenticationCode(
            for: Self.signed(token.use, id, payload), using: key)
        let text = "\(id).\(payload).\(Self.base64(Array(signature)))"
        guard text.utf8.count <= Self.maxBytes else { throw .tooLong(byteCount: text.utf8.count) }
        return text
    }

    /// Reads a token that is for a use; expired ones too.
    package func read(_ text: String, for use: TokenUse) throws(TokenFault) -> EventToken {
        guard text.utf8.count <= Self.maxBytes else { throw .tooLong(byteCount: text.utf8.count) }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3,
            let key = keys.first(where: { $0.id == parts[0] })?.key,
            let signature = Self.bytes(parts[2]),
            // Compares in constant time.
            HMAC<SHA256>.isValidAuthenticationCode(
                signature, authenticating: Self.signed(use, parts[0], parts[1]), using: key),
            let parser = JSONParser()
        else { throw .forged }
        // What is wrong from here on, its signer is told.
        guard let payload = Self.bytes(parts[1]) else {
            throw .bad("the token's payload is no base64url without padding")
        }
        guard let value = payload.withUnsafeBytes({ try? parser.parse($0) }) else {
            throw .bad("the token's payload is no JSON")
        }
        return try EventToken(value, use: use)
    }

    /// Reads a token that is for a use, at an instant at which it holds, and no earlier before its end than
    /// tokens of the use may hold.
    package func read(
        _ text: String, for use: TokenUse, atMilliseconds now: Int64
    ) throws(TokenFault) -> EventToken {
        let token = try read(text, for: use)
        guard now / 1000 < token.expiresAtSeconds else { throw .expired }
        guard token.expiresAtSeconds - now / 1000 <= lifetimes.acceptedSeconds(use) else {
            throw .lastsTooLong(longestSeconds: lifetimes.longestSeconds(use))
        }
        return token
    }

    /// What tells the event of a token from those of other tokens: one text, one id.
    static func eventID(of text: String) -> String {
        base64(Array(SHA256.hash(data: Data(text.utf8)).prefix(16)))
    }

    private static func signed(_ use: TokenUse, _ id: String, _ payload: String) -> Data {
        Data("weir token 1\n\(use.rawValue)\n\(id)\n\(payload)".utf8)
    }

    private static func base64(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
            .replacing("=", with: "")
    }

    /// Undoes base64url without padding; one text only stands for some bytes.
    private static func bytes(_ text: String) -> [UInt8]? {
        let padding = String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        let standard = text.replacing("-", with: "+").replacing("_", with: "/") + padding
        guard let bytes = Data(base64Encoded: standard).map({ Array($0) }), base64(bytes) == text
        else { return nil }
        return bytes
    }
}
