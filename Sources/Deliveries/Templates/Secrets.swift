import ConfigurationValues
import Crypto
import DatabaseFiles
import Foundation
import Store

/// A secret in a request, or a mask in its place. It prints as the mask.
struct Secret: Equatable, Sendable, CustomStringConvertible, CustomReflectable {
    /// Printed instead of a secret.
    static let mask = "***"

    /// Nil if the secret was not read.
    let value: String?

    var description: String { Self.mask }
    var customMirror: Mirror { Mirror(self, children: []) }

    /// The encoded secret. The mask is not encoded.
    func text(encoded encode: (String) -> String) -> String {
        value.map(encode) ?? Self.mask
    }
}

/// Whether to read the secrets of a partner's file.
enum SecretReading: Sendable {
    /// Secrets are not read and may be missing.
    case masked
    /// Secrets are read; paths are relative to the directory.
    case read(directory: String)

    /// The secrets for templates, by name.
    func secrets(
        _ fields: [Partner.Delivery.Field<PositionedText>]
    ) throws(ConfigurationError) -> [String: Secret] {
        var secrets: [String: Secret] = [:]
        for field in fields { secrets[field.name.text] = try secret(field.value) }
        return secrets
    }

    /// The secret that a text names: the value of the variable of `env:NAME`, or the first line of the file of
    /// `file:PATH`. Nil for any other text.
    func secret(_ source: PositionedText) throws(ConfigurationError) -> Secret? {
        let isVariable = source.text.hasPrefix("env:")
        guard isVariable || source.text.hasPrefix("file:") else { return nil }
        let name = String(source.text.dropFirst((isVariable ? "env:" : "file:").count))
        guard case .read(let directory) = self else { return Secret(value: nil) }
        let secret: String
        if isVariable {
            guard let found = ProcessInfo.processInfo.environment[name], !found.isEmpty else {
                throw source.fault("names the variable \(name), which is not set: set it")
            }
            secret = found
        } else {
            secret = try Self.lines(of: name, directory: directory, source).first ?? ""
        }
        guard !secret.isEmpty, secret.isHeaderValue else {
            throw source.fault(
                "does not lead to a secret that a request can contain: correct the variable or file that it names"
            )
        }
        return Secret(value: secret)
    }

    /// The non-empty lines of a file.
    static func lines(
        of path: String, directory: String, _ source: PositionedText
    ) throws(ConfigurationError) -> [String] {
        let path = path.hasPrefix("/") ? path : "\(directory)/\(path)"
        let text: String
        do throws(RegularFileError) {
            text = try RegularFile.text(of: path)
        } catch {
            throw source.fault("names the file \(path), which \(error)")
        }
        return text.split(whereSeparator: \.isNewline)
            .map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }
}

/// Secrets that sign requests, by Standard Webhooks. During a change of secrets both sign, so that the partner can
/// switch at any time.
struct SigningSecrets: Sendable {
    private let keys: [SymmetricKey]

    /// Reads a file with one secret per line: base64 of 24 to 64 bytes, with or without `whsec_`.
    init(_ source: PositionedText, directory: String) throws(ConfigurationError) {
        let lines = try SecretReading.lines(of: source.text, directory: directory, source)
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
                    "names a file with a line that is not a secret: write whsec_ and 24 to 64 bytes in base64"
                )
            }
            return SymmetricKey(data: bytes)
        }
    }

    /// The value of the header `webhook-signature`.
    func signature(id: String, timestampSeconds: Int64, body: [UInt8]) -> String {
        let signed = Array("\(id).\(timestampSeconds).".utf8) + body
        return keys.map { key in
            let code = HMAC<SHA256>.authenticationCode(for: signed, using: key)
            return "v1," + Data(code).base64EncodedString()
        }.joined(separator: " ")
    }
}
