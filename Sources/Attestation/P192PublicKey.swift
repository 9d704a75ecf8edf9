import COpenSSL

/// A P-192 public key of libcrypto's, parsed once.
///
/// `@unchecked Sendable`: the key is never changed after `init`, libcrypto's own reference counts
/// and caches are guarded, and every verification makes a context of its own (1% of its time).
package final class P192PublicKey: @unchecked Sendable {
    private let key: OpaquePointer

    /// The key of an X.509 SubjectPublicKeyInfo in DER; nil when it is anything else.
    package init?(spki: [UInt8]) {
        let parsed = spki.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            guard var cursor = buffer.baseAddress else { return nil }
            let end = cursor + buffer.count
            let key = withUnsafeMutablePointer(to: &cursor) { pointer in
                pointer.withMemoryRebound(to: UnsafePointer<UInt8>?.self, capacity: 1) {
                    d2i_PUBKEY(nil, $0, buffer.count)
                }
            }
            guard cursor == end, let key, Self.isP192(key) else {
                EVP_PKEY_free(key)
                return nil
            }
            return key
        }
        ERR_clear_error()
        guard let parsed else { return nil }
        key = parsed
    }

    deinit { EVP_PKEY_free(key) }

    /// Whether `der` is a signature by this key over `digest`, a SHA-256; false for whatever is not
    /// a signature.
    func isValidSignature(
        _ der: UnsafeRawBufferPointer,
        for digest: UnsafeRawBufferPointer
    ) -> Bool {
        guard !der.isEmpty, let context = EVP_PKEY_CTX_new(key, nil) else { return false }
        defer { EVP_PKEY_CTX_free(context) }
        let signature = der.bindMemory(to: UInt8.self)
        let hash = digest.bindMemory(to: UInt8.self)
        guard EVP_PKEY_verify_init(context) == 1,
            EVP_PKEY_verify(
                context,
                signature.baseAddress,
                signature.count,
                hash.baseAddress,
                hash.count
            ) == 1
        else {
            ERR_clear_error()
            return false
        }
        return true
    }

    private static func isP192(_ key: OpaquePointer) -> Bool {
        var name = [CChar](repeating: 0, count: 32)
        var length = 0
        guard EVP_PKEY_get_group_name(key, &name, name.count, &length) == 1 else { return false }
        return name.prefix(length).elementsEqual(
            "prime192v1".utf8.lazy.map(CChar.init(bitPattern:))
        )
    }
}
