import Crypto
import JSON

/// 256 random bits in base64url.
package enum SecretText {
    package static func random() -> String {
        SymmetricKey(size: .bits256).withUnsafeBytes { Base64.url.encode($0) }
    }
}
