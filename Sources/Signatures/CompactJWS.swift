import JSON

/// A JWS in compact form, split into its parts: ranges of an arena with the decoded parts.
///
/// The signature covers the parts as received, never rewritten JSON. The caller parses header and payload.
package struct CompactJWS: Sendable, Equatable {
    /// Decoded JSON.
    package let header: Range<Int>
    /// Decoded.
    package let payload: Range<Int>
    /// The signed text: the encoded header, a dot and the encoded payload.
    let signingInput: Range<Int>
    /// Decoded; may be empty, which matches no key.
    package let signature: Range<Int>

    /// Splits `text` into `arena`; `text` must be outside of it.
    ///
    /// Nil, with nothing appended, unless there are exactly three parts, each base64url without padding, and the
    /// first two are not empty.
    package init?(_ text: UnsafeRawBufferPointer, arena: inout [UInt8]) {
        let start = arena.count
        guard let parts = Self.split(text),
            let header = Base64.url.decode(parts.header, into: &arena), !header.isEmpty,
            let payload = Base64.url.decode(parts.payload, into: &arena), !payload.isEmpty,
            let signature = Base64.url.decode(parts.signature, into: &arena)
        else {
            arena.removeSubrange(start...)
            return nil
        }
        self.header = header
        self.payload = payload
        self.signature = signature
        let inputStart = arena.count
        arena.append(contentsOf: text.prefix(parts.header.count + 1 + parts.payload.count))
        signingInput = inputStart..<arena.count
    }

    private static func split(
        _ text: UnsafeRawBufferPointer
    ) -> (
        header: UnsafeRawBufferPointer, payload: UnsafeRawBufferPointer,
        signature: UnsafeRawBufferPointer
    )? {
        let dot = UInt8(ascii: ".")
        // Indices, because an iterator of raw bytes costs a call per byte.
        guard let first = (0..<text.count).first(where: { text[$0] == dot }),
            let second = (first + 1..<text.count).first(where: { text[$0] == dot })
        else { return nil }
        // A third dot makes the signature fail, because its alphabet excludes dots.
        return (
            UnsafeRawBufferPointer(rebasing: text[..<first]),
            UnsafeRawBufferPointer(rebasing: text[(first + 1)..<second]),
            UnsafeRawBufferPointer(rebasing: text[(second + 1)...])
        )
    }
}
