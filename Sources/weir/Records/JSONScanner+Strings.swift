extension JSONScanner {
    /// The UTF-8 bytes that a string, with its quotes at `range`, stands for; nil for what is no
    /// string, and for a string with a lone surrogate.
    func string(_ range: Range<Int>) -> [UInt8]? {
        guard range.count >= 2, bytes[range.lowerBound] == UInt8(ascii: "\"") else { return nil }
        let inner = UnsafeRawBufferPointer(
            rebasing: bytes[range.lowerBound + 1..<range.upperBound - 1])
        guard inner.contains(UInt8(ascii: "\\")) else { return Array(inner) }
        return Self.unescaped(inner)
    }

    /// Whether the string at `range` is this text, once it is unescaped.
    func isString(_ range: Range<Int>, _ text: StaticString) -> Bool {
        let wanted = UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        let inner = UnsafeRawBufferPointer(
            rebasing: bytes[range.lowerBound + 1..<range.upperBound - 1])
        if inner.count == wanted.count, inner.elementsEqual(wanted) { return true }
        guard inner.contains(UInt8(ascii: "\\")) else { return false }
        return Self.unescaped(inner)?.elementsEqual(wanted) ?? false
    }

    private static func unescaped(_ inner: UnsafeRawBufferPointer) -> [UInt8]? {
        var result: [UInt8] = []
        result.reserveCapacity(inner.count)
        var position = 0
        while position < inner.count {
            let byte = inner[position]
            guard byte == UInt8(ascii: "\\") else {
                result.append(byte)
                position += 1
                continue
            }
            if inner[position + 1] == UInt8(ascii: "u") {
                guard let scalar = scalar(inner, &position) else { return nil }
                result.append(contentsOf: UTF8.encode(scalar).map(Array.init) ?? [])
            } else {
                result.append(plain(inner[position + 1]))
                position += 2
            }
        }
        return result
    }

    /// What stands behind the backslash, unescaped.
    private static func plain(_ byte: UInt8) -> UInt8 {
        switch byte {
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: byte
        }
    }

    /// Reads one `\u` with its four digits, or two that make a pair of surrogates.
    private static func scalar(
        _ inner: UnsafeRawBufferPointer, _ position: inout Int
    ) -> Unicode.Scalar? {
        let high = unit(inner, position)
        position += 6
        guard UTF16.isLeadSurrogate(high) else { return Unicode.Scalar(high) }
        guard position + 6 <= inner.count, inner[position] == UInt8(ascii: "\\"),
            inner[position + 1] == UInt8(ascii: "u")
        else { return nil }
        let low = unit(inner, position)
        guard UTF16.isTrailSurrogate(low) else { return nil }
        position += 6
        return Unicode.Scalar(
            0x10000 + (UInt32(high) - 0xD800) << 10 + (UInt32(low) - 0xDC00))
    }

    private static func unit(_ inner: UnsafeRawBufferPointer, _ position: Int) -> UInt16 {
        inner[position + 2..<position + 6].reduce(0) { $0 << 4 | ($1.hexDigit ?? 0) }
    }
}
