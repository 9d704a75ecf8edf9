/// A JWS in its compact form, taken apart: ranges of an arena that holds its decoded parts.
///
/// The signature is checked over the parts as they were received, never over JSON written again.
/// Reading the header and the payload is the caller's.
package struct CompactJWS: Sendable, Equatable {
    /// The decoded header, JSON.
    package let header: Range<Int>
    /// The decoded payload.
    package let payload: Range<Int>
    /// The encoded header, a dot and the encoded payload: what is signed.
    package let signingInput: Range<Int>
    /// The decoded signature; may be empty, which no key fits.
    package let signature: Range<Int>

    /// Takes `text` apart into `arena`, in which `text` must not lie.
    ///
    /// nil, with nothing appended, unless there are exactly three parts, each base64url without
    /// padding, of which the first two are not empty.
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
        // Indices, because an iterator of raw bytes costs a call a byte.
        guard let first = (0..<text.count).first(where: { text[$0] == dot }),
            let second = (first + 1..<text.count).first(where: { text[$0] == dot })
        else { return nil }
        // A third dot is refused with the signature, whose alphabet lacks it.
        return (
            UnsafeRawBufferPointer(rebasing: text[..<first]),
            UnsafeRawBufferPointer(rebasing: text[(first + 1)..<second]),
            UnsafeRawBufferPointer(rebasing: text[(second + 1)...])
        )
    }
}
