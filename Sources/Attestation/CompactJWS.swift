/// A JWS in compact form, split into its parts: ranges of an arena with the decoded parts.
///
/// The signature covers the parts as received, never JSON that was written again. The caller parses
/// header and payload.
package struct CompactJWS: Sendable, Equatable {
    /// Decoded JSON.
    package let header: Range<Int>
    /// Decoded.
    package let payload: Range<Int>
    /// What is signed: the encoded header, a dot and the encoded payload.
    let signingInput: Range<Int>
    /// Decoded; may be empty, which matches no key.
    package let signature: Range<Int>

    /// Splits `text` into `arena`, in which `text` must not lie.
    ///
    /// Nil, with nothing appended, unless there are exactly three parts, each base64url without
    /// padding, and the first two are not empty.
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
        // A third dot fails with the signature, whose alphabet has none.
        return (
            UnsafeRawBufferPointer(rebasing: text[..<first]),
            UnsafeRawBufferPointer(rebasing: text[(first + 1)..<second]),
            UnsafeRawBufferPointer(rebasing: text[(second + 1)...])
        )
    }
}

/// Strict base64 (RFC 4648) from borrowed bytes into an arena.
///
/// Accepts only characters of the alphabet, and padding exactly as the variant requires. Bits of
/// the last character that belong to no byte are ignored, as most decoders do.
package enum Base64: Sendable {
    /// `+` and `/`, with padding: signatures and keys of SKAdNetwork.
    case standard
    /// `-` and `_`, without padding: the parts of a JWS.
    case url

    /// Appends the decoded bytes.
    ///
    /// `text` must not lie in `arena`, whose memory may move.
    ///
    /// - Returns: the range of the bytes in the arena; nil, with nothing appended, when `text` is
    ///   not base64 of this variant.
    package func decode(_ text: UnsafeRawBufferPointer, into arena: inout [UInt8]) -> Range<Int>? {
        guard let digits = digits(of: text), digits.count % 4 != 1 else { return nil }
        let range = arena.count..<(arena.count + digits.count * 3 / 4)
        arena.append(contentsOf: repeatElement(0, count: range.count))
        let isDecoded = arena.withUnsafeMutableBytes { bytes in
            Self.decode(digits, to: UnsafeMutableRawBufferPointer(rebasing: bytes[range]), table)
        }
        guard isDecoded else {
            arena.removeSubrange(range)
            return nil
        }
        return range
    }

    /// `text` without padding; nil when the padding does not fit the variant.
    private func digits(of text: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        guard case .standard = self else { return text }
        guard text.count.isMultiple(of: 4) else { return nil }
        let padding = text.suffix(2).reversed().prefix { $0 == UInt8(ascii: "=") }.count
        return UnsafeRawBufferPointer(rebasing: text.dropLast(padding))
    }

    private static func decode(
        _ digits: UnsafeRawBufferPointer,
        to bytes: UnsafeMutableRawBufferPointer,
        _ table: [UInt8]
    ) -> Bool {
        var seen: UInt8 = 0
        var next = 0
        // Indices, because an iterator of raw bytes costs a call a byte.
        let quads = digits.count / 4
        for quad in 0..<quads {
            var bits: UInt32 = 0
            for place in 0..<4 {
                let value = table[Int(digits[quad * 4 + place])]
                seen |= value
                bits = bits << 6 | UInt32(value & 0x3F)
            }
            bytes[next] = UInt8(truncatingIfNeeded: bits >> 16)
            bytes[next + 1] = UInt8(truncatingIfNeeded: bits >> 8)
            bytes[next + 2] = UInt8(truncatingIfNeeded: bits)
            next += 3
        }
        var bits: UInt32 = 0
        var bitCount = 0
        for place in quads * 4..<digits.count {
            let value = table[Int(digits[place])]
            seen |= value
            bits = bits << 6 | UInt32(value & 0x3F)
            bitCount += 6
            if bitCount >= 8 {
                bitCount -= 8
                bytes[next] = UInt8(truncatingIfNeeded: bits >> UInt32(bitCount))
                next += 1
            }
        }
        return seen < invalid
    }

    private var table: [UInt8] {
        switch self {
        case .standard: Self.standardTable
        case .url: Self.urlTable
        }
    }

    /// Marks a character outside the alphabet; larger than the value of any digit.
    private static let invalid: UInt8 = 0x80
    private static let standardTable = table(lastTwo: "+/")
    private static let urlTable = table(lastTwo: "-_")

    private static func table(lastTwo: String) -> [UInt8] {
        let alphabet =
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" + lastTwo
        var table = [UInt8](repeating: invalid, count: 256)
        for (value, character) in alphabet.utf8.enumerated() {
            table[Int(character)] = UInt8(value)
        }
        return table
    }
}
