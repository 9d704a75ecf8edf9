/// Writes the answers of a memory: numbers in groups of seven bits, the lowest first, signed ones with
/// their sign in the lowest bit.
struct AnswerWriter {
    private(set) var bytes: [UInt8] = []

    mutating func add(_ number: Int64) {
        var rest = UInt64(bitPattern: (number << 1) ^ (number >> 63))
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    mutating func add(_ number: Int) { add(Int64(number)) }

    /// A 1 and the number, or a 0.
    mutating func add(optional number: Int64?) {
        add(number == nil ? 0 : 1)
        if let number { add(number) }
    }

    /// Its length in bytes, and itself.
    mutating func add(_ text: String) {
        add(text.utf8.count)
        bytes.append(contentsOf: text.utf8)
    }
}

/// Reads what `AnswerWriter` wrote; nil for what is cut off or no such thing.
struct AnswerReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func number() -> Int64? {
        var number: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 70, by: 7) {
            guard let byte = rest.popFirst() else { return nil }
            number |= UInt64(byte & 0x7F) << shift
            guard byte >= 0x80 else {
                return Int64(bitPattern: number >> 1) ^ -Int64(bitPattern: number & 1)
            }
        }
        return nil
    }

    /// The number that may be absent; nil twice over when it cannot be read.
    mutating func optionalNumber() -> Int64?? {
        switch number() {
        case 0: .some(nil)
        case 1: number().map { .some($0) }
        default: nil
        }
    }

    mutating func text() -> String? {
        guard let count = number(), count >= 0, count <= rest.count else { return nil }
        defer { rest.removeFirst(Int(count)) }
        return String(decoding: rest.prefix(Int(count)), as: UTF8.self)
    }
}
