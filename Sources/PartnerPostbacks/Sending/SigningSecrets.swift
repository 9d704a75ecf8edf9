import Crypto
import Foundation
import Pipelines

/// Secrets that requests are signed with, as Standard Webhooks has it. While one replaces another both
/// sign, so that a partner can change over.
struct SigningSecrets: Sendable {
    private let keys: [SymmetricKey]

    /// Reads a file: one secret a line, base64 with or without `whsec_`, 24 to 64 bytes.
    init(_ source: PositionedText, directory: String) throws(ConfigurationError) {
        let lines = try SecretSource.lines(of: source.text, directory: directory, source)
        guard !lines.isEmpty else {
            throw source.fault("names a file without a secret: add a line")
        }
        try self.init(lines, source)
    }

    init(_ secrets: [String], _ source: PositionedText) throws(ConfigurationError) {
        keys = try secrets.map { secret throws(ConfigurationError) in
            let base64 = secret.hasPrefix("whsec_") ? secret.dropFirst("whsec_".count) : secret[...]
            guard let bytes = Data(base64Encoded: String(base64)), (24...64).contains(bytes.count)
            else {
                throw source.fault(
                    "names a file with a line that is no secret: write whsec_ and 24 to 64 bytes in base64"
                )
            }
            return SymmetricKey(data: bytes)
        }
    }

    /// The value of `webhook-signature`.
    func signature(id: String, timestampSeconds: Int64, body: [UInt8]) -> String {
        let signed = Array("\(id).\(timestampSeconds).".utf8) + body
        return keys.map { key in
            let code = HMAC<SHA256>.authenticationCode(for: signed, using: key)
            return "v1," + Data(code).base64EncodedString()
        }.joined(separator: " ")
    }
}
