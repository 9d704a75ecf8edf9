import Foundation

// Bytes as text: byte order marks, hexadecimal digits and base64.

extension Sequence<UInt8> {
    /// The bytes as lower-case hexadecimal digits.
    package var hexDigits: String {
        map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    }
}

extension Collection<UInt8> {
    /// Without the byte order mark of UTF-8, which some programs write at the beginning of a file.
    package var withoutByteOrderMark: SubSequence {
        starts(with: [0xEF, 0xBB, 0xBF]) ? dropFirst(3) : self[...]
    }
}

extension UInt8 {
    /// The value of an ASCII hexadecimal digit; nil for any other character.
    package var hexDigit: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

/// Base64 (RFC 4648), read strictly: only characters of the alphabet, and the padding that the variant requires.
/// Unused bits of the last character are ignored, as in most decoders.
package enum Base64: Sendable {
    /// `+` and `/`, with padding: signatures and keys of SKAdNetwork.
    case standard
    /// `-` and `_`, without padding: the parts of a JWS.
    case url

    package func encode(_ bytes: some Sequence<UInt8>) -> String {
        let text = Data(bytes).base64EncodedString()
        guard case .url = self else { return text }
        return text.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// Appends the decoded bytes.
    ///
    /// `text` must be outside of `arena`, because the arena's memory may move.
    ///
    /// - Returns: the range of the bytes in the arena; nil, with nothing appended, if `text` is not base64 of this
    ///   variant.
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

    /// `text` without padding; nil if the padding does not fit the variant.
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
        // Indices, because an iterator of raw bytes costs a call per byte.
        let quads = digits.count / 4
        for quad in 0..<quads {
            var bits: UInt32 = 0
            for index in 0..<4 {
                let value = table[Int(digits[quad * 4 + index])]
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
        for index in quads * 4..<digits.count {
            let value = table[Int(digits[index])]
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
