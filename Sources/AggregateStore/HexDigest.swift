import Crypto

/// What stands for bytes that are too large to go along.
package enum HexDigest {
    /// SHA-256 of bytes, as 64 hex digits.
    package static func sha256(_ bytes: UnsafeRawBufferPointer) -> String {
        var hash = SHA256()
        hash.update(bufferPointer: bytes)
        return hash.finalize().map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }
}
