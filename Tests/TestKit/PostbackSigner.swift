import Crypto
import Foundation

/// A key of a test's own that signs postbacks as Apple's do.
package struct PostbackSigner: Sendable {
    private let key = P256.Signing.PrivateKey()

    package init() {}

    /// SubjectPublicKeyInfo in base64, as configurations have it.
    package var publicKey: String { key.publicKey.derRepresentation.base64EncodedString() }

    /// DER in base64, over fields joined by U+2063. It has the same length each time, since a simulation that repeats
    /// has to write as many pages.
    package func signature(over fields: [String]) throws -> String {
        let signed = Data(fields.joined(separator: "\u{2063}").utf8)
        while true {
            let signature = try key.signature(for: signed).derRepresentation
            if signature.count == 71 { return signature.base64EncodedString() }
        }
    }

    /// A compact JWS of two texts.
    package func jws(header: String, payload: String) throws -> String {
        let input = header.utf8.base64URL + "." + payload.utf8.base64URL
        return try input + "." + key.signature(for: Data(input.utf8)).rawRepresentation.base64URL
    }
}

extension Sequence<UInt8> {
    /// Without padding.
    package var base64URL: String {
        Data(self).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
            .replacing("=", with: "")
    }
}
