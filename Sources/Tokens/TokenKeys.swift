import ConfigurationFiles
import ConfigurationValues
import Crypto
import Foundation
import JSON
import Streams

/// Signs and reads tokens: JWTs that are signed with HS256 (RFC 7519, RFC 7515). The header names the key in `kid`.
/// Version 1 also reads tokens in the form before JWT, `key id.payload.signature`.
package struct TokenKeys: Sendable {
    package static let maxBytes = 8 << 10
    private static let algorithm = "HS256"

    private let keys: [(id: String, key: SymmetricKey)]
    private let lifetimes: TokenLifetimes

    /// The first key signs. A token is accepted for no longer than `lifetimes` allows for its use.
    package init(
        _ keys: [CollectorPipeline.TokenKey], lifetimes: TokenLifetimes = TokenLifetimes()
    ) {
        self.lifetimes = lifetimes
        self.keys = keys.map { ($0.id, SymmetricKey(data: $0.secret)) }
    }

    /// Nil without a signing key. Throws `TokenFault.tooLong`.
    package func sign(_ token: EventToken) throws(TokenFault) -> String? {
        try sign(token.payload)
    }

    /// Nil without a signing key. Throws `TokenFault.tooLong`.
    package func sign(_ token: ReadToken) throws(TokenFault) -> String? {
        try sign(token.payload)
    }

    func sign(_ claims: String) throws(TokenFault) -> String? {
        guard let (id, key) = keys.first else { return nil }
        var header = JSONText()
        header.object { header in
            header.member("alg", Self.algorithm)
            header.member("typ", "JWT")
            header.member("kid", id)
        }
        let signed = "\(Base64.url.encode(header.bytes)).\(Base64.url.encode(claims.utf8))"
        let text = "\(signed).\(Self.signature(of: signed, by: key))"
        guard text.utf8.count <= Self.maxBytes else { throw .tooLong(byteCount: text.utf8.count) }
        return text
    }

    /// Reads a token of a use, even an expired one.
    package func read(_ text: String, for use: TokenUse) throws(TokenFault) -> EventToken {
        try read(text, for: use, atSeconds: nil)
    }

    /// Reads a token for the dashboard that is valid at an instant.
    package func readToken(
        _ text: String, atMilliseconds now: Int64
    ) throws(TokenFault) -> ReadToken {
        let token = try readToken(text, atSeconds: now / 1000)
        guard now / 1000 < token.expiresAtSeconds else { throw .expired }
        return token
    }

    /// Reads a token for the dashboard, even an expired one.
    package func readToken(_ text: String) throws(TokenFault) -> ReadToken {
        try readToken(text, atSeconds: nil)
    }

    private func readToken(
        _ text: String, atSeconds now: Int64?
    ) throws(TokenFault) -> ReadToken {
        try read(
            text, audience: ReadToken.audience, oldUse: ReadToken.oldUse, atSeconds: now,
            ReadToken.init)
    }

    private func read(
        _ text: String, for use: TokenUse, atSeconds now: Int64?
    ) throws(TokenFault) -> EventToken {
        try read(text, audience: use.audience, oldUse: use.rawValue, atSeconds: now) {
            payload, names throws(TokenFault) in
            try EventToken(payload, names, use: use)
        }
    }

    private func read<Token>(
        _ text: String, audience: String, oldUse: String, atSeconds now: Int64?,
        _ token: (JSONValue, TokenClaims) throws(TokenFault) -> Token
    ) throws(TokenFault) -> Token {
        guard text.utf8.count <= Self.maxBytes else { throw .tooLong(byteCount: text.utf8.count) }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, let parser = JSONParser() else { throw .forged }
        let oldKey = keys.first { $0.id == parts[0] }
        let signed =
            oldKey == nil
            ? "\(parts[0]).\(parts[1])" : "weir token 1\n\(oldUse)\n\(parts[0])\n\(parts[1])"
        let namedKey = try oldKey == nil ? self.key(ofHeader: parts[0], parser) : oldKey
        guard let key = namedKey,
            let signature = Self.bytes(parts[2]),
            // Compares in constant time.
            HMAC<SHA256>.isValidAuthenticationCode(
                signature, authenticating: Data(signed.utf8), using: key.key)
        else { throw .forged }
        // The signature is valid: errors from here on are for the signer.
        guard let payload = Self.bytes(parts[1]) else {
            throw .bad("the token's payload is not base64url without padding")
        }
        guard let value = payload.withUnsafeBytes({ try? parser.parse($0) }) else {
            throw .bad("the token's payload is not JSON")
        }
        guard value.isObject else { throw .bad("the token's payload is not a JSON object") }
        // RFC 7519, section 4: readers that take different ones of two members would disagree.
        if let name = value.repeatedName {
            throw .bad("the token's payload has \(name) twice: keep one")
        }
        guard oldKey == nil else { return try token(value, .old) }
        try Self.check(value, audience: audience, atSeconds: now)
        return try token(value, .jwt)
    }

    /// The key that the header of a JWT names; nil if the key is unknown.
    ///
    /// The errors precede the check of the signature. They do not depend on the keys, so they reveal none.
    private func key(
        ofHeader text: String, _ parser: JSONParser
    ) throws(TokenFault) -> (id: String, key: SymmetricKey)? {
        guard let bytes = Self.bytes(text),
            let header = bytes.withUnsafeBytes({ try? parser.parse($0) }), header.isObject
        else { return nil }
        guard header.repeatedName == nil else {
            throw .bad("the token's header has a member twice: keep one")
        }
        guard header.member("alg")?.text == Self.algorithm else {
            throw .bad(
                "alg of the token's header is not \(Self.algorithm): no other one is accepted")
        }
        // It lists extensions that a reader must understand, and this reader supports none.
        guard header.firstMember("crit") == nil else {
            throw .bad("the token's header has crit, which is not supported: leave it out")
        }
        guard let id = header.member("kid")?.text else { return nil }
        return keys.first { $0.id == id }
    }

    /// Checks the claims that tokens of all uses share, but `exp`.
    private static func check(
        _ payload: JSONValue, audience: String, atSeconds now: Int64?
    ) throws(TokenFault) {
        let named = payload.member("aud")
        let audiences = named?.text.map { [$0] } ?? named?.elements.compactMap(\.text) ?? []
        guard audiences.contains(audience) else {
            let valid = TokenUse.allCases.map(\.audience) + [ReadToken.audience]
            guard audiences.contains(where: valid.contains) else {
                throw .bad(
                    "aud of the token, its use, is unknown: use \(valid.joined(separator: ", "))")
            }
            throw .otherUse(wantedAudience: audience)
        }
        guard let start = payload.member("nbf") else { return }
        guard case .exact(let seconds)? = start.number?.asInteger else {
            throw .bad("nbf of the token, its start, is not a whole number of seconds since 1970")
        }
        if let now, now < seconds { throw .bad("the token is not valid before its nbf") }
    }

    /// As text in a token.
    static func signature(of text: String, by key: SymmetricKey) -> String {
        Base64.url.encode(HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key))
    }

    /// Whether a signing key is missing.
    package var isEmpty: Bool { keys.isEmpty }

    /// Reads a token of a use that is valid at an instant: not expired, and not further from its
    /// end than tokens of the use may be.
    package func read(
        _ text: String, for use: TokenUse, atMilliseconds now: Int64
    ) throws(TokenFault) -> EventToken {
        let token = try read(text, for: use, atSeconds: now / 1000)
        guard now / 1000 < token.expiresAtSeconds else { throw .expired }
        guard token.expiresAtSeconds - now / 1000 <= lifetimes.acceptedSeconds(use) else {
            throw .lastsTooLong(longestSeconds: lifetimes.longestSeconds(use))
        }
        return token
    }

    /// An id for the event of a token without one: the same for the same token text.
    package static func eventID(of text: String) -> String {
        Base64.url.encode(SHA256.hash(data: Data(text.utf8)).prefix(16))
    }

    /// Decodes base64url without padding. Only the canonical text of some bytes is accepted.
    private static func bytes(_ text: String) -> [UInt8]? {
        var bytes: [UInt8] = []
        let range = Array(text.utf8).withUnsafeBytes { Base64.url.decode($0, into: &bytes) }
        return range != nil && Base64.url.encode(bytes) == text ? bytes : nil
    }
}

/// The longest lifetimes of tokens: no longer than the worker of their topic remembers ids. So one token is one
/// event, however often it is used.
package struct TokenLifetimes: Equatable, Sendable {
    private var windowSeconds: [TokenUse: Int64]

    /// From the default dedupe windows.
    package init() {
        windowSeconds = Self.streams.mapValues { Int64($0.defaultWindowSeconds ?? 0) }
    }

    private static let streams: [TokenUse: any StreamFold.Type] = [
        .impression: ImpressionsFold.self, .click: OverlayClicksFold.self, .notice: BidsFold.self,
    ]

    /// From the workers' files, or the defaults if a file is missing.
    package init(_ pipelines: PipelineDirectory) throws(ConfigurationError) {
        self.init()
        for (use, stream) in Self.streams where stream.isConfigured(in: pipelines) {
            windowSeconds[use] = Int64(try stream.file(in: pipelines).dedupeWindowSeconds ?? 0)
        }
    }

    /// The longest lifetime, in seconds, of a new token: the dedupe window less an hour, or less a sixtieth of a
    /// short window. The margin is for events that are accepted at the token's end and wait for the log. 0 if no ids
    /// are remembered.
    package func longestSeconds(_ use: TokenUse) -> Int64 {
        windowSeconds(use) - marginSeconds(use)
    }

    /// The longest time, in seconds, before its end when a token is accepted. Half of the margin is for differing
    /// clocks.
    func acceptedSeconds(_ use: TokenUse) -> Int64 {
        windowSeconds(use) - marginSeconds(use) / 2
    }

    private func windowSeconds(_ use: TokenUse) -> Int64 { windowSeconds[use] ?? 0 }

    private func marginSeconds(_ use: TokenUse) -> Int64 { min(3600, windowSeconds(use) / 60) }
}
