/// A version such as 14.5 or 2.21.1. Parts are compared as numbers; missing parts are 0.
struct DottedVersion: Comparable {
    private var parts: (Int64, Int64, Int64, Int64) = (0, 0, 0, 0)

    init(_ major: Int64, _ minor: Int64, _ patch: Int64 = 0) {
        parts = (major, minor, patch, 0)
    }

    /// Reads the leading digits of each of the first four parts, up to a part without digits; nil if the first part has
    /// no digits.
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

/// A text read as a number in decimal digits.
enum Digits {
    case number(Int64)
    case beyondInt64
    case notDigits

    init(_ text: UnsafeRawBufferPointer) {
        guard !text.isEmpty else {
            self = .notDigits
            return
        }
        var number: Int64 = 0
        var isBeyond = false
        // This many digits always fit.
        let isShort = text.count <= 18
        // Indices, because an iterator of raw bytes costs a call for each byte.
        for index in 0..<text.count {
            let digit = text[index] &- 0x30
            guard digit <= 9 else {
                self = .notDigits
                return
            }
            if isShort {
                number = number &* 10 &+ Int64(digit)
                continue
            }
            let (shifted, tooLong) = number.multipliedReportingOverflow(by: 10)
            let (sum, tooLarge) = shifted.addingReportingOverflow(Int64(digit))
            isBeyond = isBeyond || tooLong || tooLarge
            number = sum
        }
        self = isBeyond ? .beyondInt64 : .number(number)
    }
}

extension UnsafeRawBufferPointer {
    @inline(__always)
    func equals(_ text: StaticString) -> Bool {
        equals(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// True if the bytes are equal to the text, ignoring ASCII case.
    @inline(__always)
    func equalsIgnoringCase(_ text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        for index in 0..<count
        where self[index].asciiLowercased != text.utf8Start[index].asciiLowercased {
            return false
        }
        return true
    }

    /// True if the bytes contain the text, ignoring ASCII case.
    func containsIgnoringCase(_ text: StaticString) -> Bool {
        guard count >= text.utf8CodeUnitCount else { return false }
        return (0...(count - text.utf8CodeUnitCount)).contains { start in
            let end = start + text.utf8CodeUnitCount
            return UnsafeRawBufferPointer(rebasing: self[start..<end]).equalsIgnoringCase(text)
        }
    }

    /// True if both contain the same bytes, ignoring ASCII case.
    func equalsIgnoringCase(_ other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        if equals(other) { return true }
        for index in 0..<count
        where self[index].asciiLowercased != other[index].asciiLowercased {
            return false
        }
        return true
    }
}

extension UnsafeRawBufferPointer {
    /// Whether an SDK is not HyBid; HyBid's version gates do not apply to it.
    var isOtherSDK: Bool { !containsIgnoringCase("hybid") }

    /// Whether any byte is an ASCII capital.
    @inline(__always)
    var hasASCIICapitals: Bool {
        var position = 0
        // Eight bytes at a time: in each byte below 128 the high bit of the first sum means "at least A", that of the
        // second "beyond Z".
        let everyByte: UInt64 = 0x0101_0101_0101_0101
        while position + 8 <= count {
            let word = loadUnaligned(fromByteOffset: position, as: UInt64.self)
            let low = word & (everyByte &* 0x7F)
            let capitals = (low &+ everyByte &* 0x3F) & ~(low &+ everyByte &* 0x25) & ~word
            if capitals & (everyByte &* 0x80) != 0 { return true }
            position += 8
        }
        while position < count {
            if self[position] != self[position].asciiLowercased { return true }
            position += 1
        }
        return false
    }
}

extension UInt8 {
    /// The byte with ASCII capitals in lower case.
    @inline(__always)
    package var asciiLowercased: UInt8 {
        self >= UInt8(ascii: "A") && self <= UInt8(ascii: "Z") ? self | 0x20 : self
    }
}
