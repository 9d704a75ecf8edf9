import ConfigurationFiles
import ConfigurationValues
import Crypto
import Foundation
import JSON
import Streams

/// Signs and reads tokens: `key id.payload.signature`, with payload and signature in base64url without padding. The
/// signature is HMAC-SHA-256 over the use, the key's id and the encoded payload.
package struct TokenKeys: Sendable {
    static let maxBytes = 8 << 10

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
        try sign(token.payload, use: token.use.rawValue)
    }

    /// Nil without a signing key. Throws `TokenFault.tooLong`.
    package func sign(_ token: ReadToken) throws(TokenFault) -> String? {
        try sign(token.payload, use: ReadToken.use)
    }

    func sign(_ payload: String, use: String) throws(TokenFault) -> String? {
        guard let (id, key) = keys.first else { return nil }
        let payload = Base64.url.encode(payload.utf8)
        let signature = HMAC<SHA256>.authenticationCode(
            for: Self.signed(use, id, payload), using: key)
        let text = "\(id).\(payload).\(Base64.url.encode(signature))"
        guard text.utf8.count <= Self.maxBytes else { throw .tooLong(byteCount: text.utf8.count) }
        return text
    }

    /// Reads a token of a use, even an expired one.
    package func read(_ text: String, for use: TokenUse) throws(TokenFault) -> EventToken {
        try read(text, use: use.rawValue) { value throws(TokenFault) in
            try EventToken(value, use: use)
        }
    }

    /// Reads a token for the dashboard that is valid at an instant.
    package func readToken(
        _ text: String, atMilliseconds now: Int64
    ) throws(TokenFault) -> ReadToken {
        let token = try read(text, use: ReadToken.use) { value throws(TokenFault) in
            try ReadToken(value)
        }
        guard now / 1000 < token.expiresAtSeconds else { throw .expired }
        return token
    }

    private func read<Token>(
        _ text: String, use: String, _ token: (JSONValue) throws(TokenFault) -> Token
    ) throws(TokenFault) -> Token {
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
        // The signature is valid: errors from here on are for the signer.
        guard let payload = Self.bytes(parts[1]) else {
            throw .bad("the token's payload is no base64url without padding")
        }
        guard let value = payload.withUnsafeBytes({ try? parser.parse($0) }) else {
            throw .bad("the token's payload is no JSON")
        }
        return try token(value)
    }

    /// Whether a signing key is missing.
    package var isEmpty: Bool { keys.isEmpty }

    /// Reads a token of a use that is valid at an instant: not expired, and not further from its end than the use
    /// allows.
    func read(
        _ text: String, for use: TokenUse, atMilliseconds now: Int64
    ) throws(TokenFault) -> EventToken {
        let token = try read(text, for: use)
        guard now / 1000 < token.expiresAtSeconds else { throw .expired }
        guard token.expiresAtSeconds - now / 1000 <= lifetimes.acceptedSeconds(use) else {
            throw .lastsTooLong(longestSeconds: lifetimes.longestSeconds(use))
        }
        return token
    }

    /// An id for a token's event without one: the same for the same token text.
    static func eventID(of text: String) -> String {
        Base64.url.encode(SHA256.hash(data: Data(text.utf8)).prefix(16))
    }

    private static func signed(_ use: String, _ id: String, _ payload: String) -> Data {
        Data("weir token 1\n\(use)\n\(id)\n\(payload)".utf8)
    }

    /// Decodes base64url without padding. If several texts decode to the same bytes, accepts only the canonical one.
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
