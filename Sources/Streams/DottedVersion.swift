/// A version such as 14.5 or 2.21.1: compared part by part as numbers, missing parts being 0.
struct DottedVersion: Comparable {
    private var parts: (Int64, Int64, Int64, Int64) = (0, 0, 0, 0)

    init(_ major: Int64, _ minor: Int64, _ patch: Int64 = 0) {
        parts = (major, minor, patch, 0)
    }

    /// Reads the digits that each of the first four parts begins with, up to a part without any; nil
    /// when the first part has none.
    init?(_ text: UnsafeRawBufferPointer) {
        var position = 0
        for part in 0..<4 {
            let start = position
            var number: Int64 = 0
            while position < text.count, text[position] >= 0x30, text[position] <= 0x39 {
                number = min(number * 10 + Int64(text[position] - 0x30), 1 << 40)
                position += 1
            }
            guard position > start else {
                if part == 0 { return nil }
                return
            }
            set(part, number)
            guard position < text.count, text[position] == UInt8(ascii: ".") else { return }
            position += 1
        }
    }

    var major: Int64 { parts.0 }

    private mutating func set(_ part: Int, _ number: Int64) {
        switch part {
        case 0: parts.0 = number
        case 1: parts.1 = number
        case 2: parts.2 = number
        default: parts.3 = number
        }
    }

    static func == (left: DottedVersion, right: DottedVersion) -> Bool { left.parts == right.parts }

    static func < (left: DottedVersion, right: DottedVersion) -> Bool { left.parts < right.parts }
}
