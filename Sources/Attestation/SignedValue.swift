/// One value of a signed text, in memory that its caller lends.
enum SignedValue {
    case text(UnsafeRawBufferPointer)
    case lowercased(UnsafeRawBufferPointer)
    case number(Int64)
    case flag(Bool)

    /// A word that is part of a layout.
    static func word(_ word: StaticString) -> SignedValue {
        .text(UnsafeRawBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
    }

    /// Whether the value contains U+2063, which separates values.
    ///
    /// Such a text would let one signature stand for two postbacks: a genuine 2.0 postback of
    /// network N reads as one of 1.0 whose network is "2.0", the separator and N.
    var containsSeparator: Bool {
        switch self {
        case .text(let bytes), .lowercased(let bytes):
            bytes.indices.dropLast(2).contains { index in
                bytes[index] == 0xE2 && bytes[index + 1] == 0x81 && bytes[index + 2] == 0xA3
            }
        case .number, .flag: false
        }
    }

    /// Appends the value as it is signed.
    func append(to text: inout [UInt8]) {
        switch self {
        case .text(let bytes): text.append(contentsOf: bytes)
        case .lowercased(let bytes): text.append(contentsOf: bytes.lazy.map(asciiLowercased))
        case .number(let number): text.append(contentsOf: String(number).utf8)
        case .flag(let flag): text.append(contentsOf: (flag ? "true" : "false").utf8)
        }
    }
}

private func asciiLowercased(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
}
