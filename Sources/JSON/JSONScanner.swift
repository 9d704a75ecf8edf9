/// Walks through JSON text (RFC 8259) and finds the ranges of its values.
///
/// Unlike `JSONParser` it accepts everything that the grammar allows: any depth, any number, lone surrogates. So
/// records that a worker rejects can still be published. It does not recurse.
package struct JSONScanner {
    package struct Fault: Error, Equatable {
        /// In bytes from the start.
        package var position: Int
        package var explanation: String
    }

    package let bytes: UnsafeRawBufferPointer
    package private(set) var position = 0

    package init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    package var isAtEnd: Bool { position == bytes.count }

    package mutating func skipSpace() {
        while let byte, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 {
            position += 1
        }
    }

    /// Moves to the end of the text; throws if anything but space is left.
    package mutating func skipToEnd() throws(Fault) {
        skipSpace()
        guard isAtEnd else { throw fault("text after the object") }
    }

    /// Moves past the value that begins here and returns its range.
    package mutating func skipValue() throws(Fault) -> Range<Int> {
        let start = position
        var closings: [UInt8] = []
        repeat {
            switch byte {
            case UInt8(ascii: "{"):
                if !skipOpening(UInt8(ascii: "}"), &closings) {
                    try skipName()
                    continue
                }
            case UInt8(ascii: "["):
                if !skipOpening(UInt8(ascii: "]"), &closings) { continue }
            case UInt8(ascii: "\""): try skipString()
            case UInt8(ascii: "t"): try skipWord("true")
            case UInt8(ascii: "f"): try skipWord("false")
            case UInt8(ascii: "n"): try skipWord("null")
            default: try skipNumber()
            }
            try skipToNextValue(&closings)
        } while !closings.isEmpty
        return start..<position
    }

    /// Moves past the object that begins here. Calls `body` with the ranges of each member's name (a string with its
    /// quotes) and value.
    package mutating func skipObject<Failure: Error>(
        _ body: (_ name: Range<Int>, _ value: Range<Int>) throws(Failure) -> Void
    ) throws(Fault) -> Failure? {
        guard byte == UInt8(ascii: "{") else { throw fault("an object is expected") }
        position += 1
        skipSpace()
        var failure: Failure?
        while byte != UInt8(ascii: "}") {
            let name = try skipName()
            let value = try skipValue()
            do throws(Failure) {
                if failure == nil { try body(name, value) }
            } catch {
                failure = error
            }
            skipSpace()
            if byte == UInt8(ascii: "}") { break }
            try skipComma()
            guard byte != UInt8(ascii: "}") else { throw fault("a member's name is missing") }
        }
        position += 1
        return failure
    }

    /// Moves to the next string; false if no string is left. Requires valid JSON and a position outside of strings.
    package mutating func skipToString() -> Bool {
        guard let next = bytes[position...].firstIndex(of: UInt8(ascii: "\"")) else { return false }
        position = next
        return true
    }

    /// Moves past the colon to the member's value; false if the string is not a member's name. Requires valid JSON
    /// and a position after a string.
    package mutating func skipToMemberValue() -> Bool {
        skipSpace()
        guard byte == UInt8(ascii: ":") else { return false }
        position += 1
        skipSpace()
        return true
    }

    private var byte: UInt8? { position < bytes.count ? bytes[position] : nil }

    private func fault(_ explanation: String) -> Fault {
        Fault(position: position, explanation: explanation)
    }

    /// Moves past the opening bracket, and past the closing one if that follows directly: then returns true.
    private mutating func skipOpening(_ closing: UInt8, _ closings: inout [UInt8]) -> Bool {
        position += 1
        skipSpace()
        if byte == closing {
            position += 1
            return true
        }
        closings.append(closing)
        return false
    }

    /// After a value: moves past closing brackets, then past the comma to the next value.
    private mutating func skipToNextValue(_ closings: inout [UInt8]) throws(Fault) {
        while let closing = closings.last {
            skipSpace()
            guard byte == closing else {
                try skipComma()
                if closing == UInt8(ascii: "}") { try skipName() }
                return
            }
            position += 1
            closings.removeLast()
        }
    }

    private mutating func skipComma() throws(Fault) {
        guard byte == UInt8(ascii: ",") else { throw fault("a comma or an end is missing") }
        position += 1
        skipSpace()
    }

    /// Moves past a member's name and the colon to its value.
    @discardableResult
    private mutating func skipName() throws(Fault) -> Range<Int> {
        let start = position
        guard byte == UInt8(ascii: "\"") else { throw fault("a member's name is missing") }
        try skipString()
        let name = start..<position
        skipSpace()
        guard byte == UInt8(ascii: ":") else { throw fault("a colon is missing") }
        position += 1
        skipSpace()
        return name
    }

    private mutating func skipWord(_ word: StaticString) throws(Fault) {
        let end = position + word.utf8CodeUnitCount
        let wanted = UnsafeRawBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount)
        guard end <= bytes.count, bytes[position..<end].elementsEqual(wanted) else {
            throw fault("a value is expected")
        }
        position = end
    }

    private mutating func skipNumber() throws(Fault) {
        if byte == UInt8(ascii: "-") { position += 1 }
        let first = byte
        let count = skipDigits()
        guard count > 0 else { throw fault("a value is expected") }
        guard count == 1 || first != UInt8(ascii: "0") else { throw fault("a leading zero") }
        if byte == UInt8(ascii: ".") {
            position += 1
            guard skipDigits() > 0 else { throw fault("a digit is missing") }
        }
        if byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E") {
            position += 1
            if byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-") { position += 1 }
            guard skipDigits() > 0 else { throw fault("a digit is missing") }
        }
    }

    private mutating func skipDigits() -> Int {
        let start = position
        while let byte, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { position += 1 }
        return position - start
    }

    private mutating func skipString() throws(Fault) {
        position += 1
        while position < bytes.count {
            let byte = bytes[position]
            if byte == UInt8(ascii: "\"") {
                position += 1
                return
            }
            guard byte >= 0x20 else { throw fault("a control character in a string") }
            if byte == UInt8(ascii: "\\") { try skipEscape() } else { position += 1 }
        }
        throw fault("a string does not end")
    }

    private mutating func skipEscape() throws(Fault) {
        position += 1
        switch byte {
        case UInt8(ascii: "u"):
            let digits = bytes[position...].dropFirst().prefix(4)
            guard digits.count == 4, digits.allSatisfy({ $0.hexDigit != nil }) else {
                throw fault("an unknown escape")
            }
            position += 5
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"),
            UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            position += 1
        default: throw fault("an unknown escape")
        }
    }
}

extension JSONScanner {
    /// The unescaped UTF-8 bytes of the string, with quotes, at `range`; nil if this is not a string or has a lone
    /// surrogate.
    package func string(_ range: Range<Int>) -> [UInt8]? {
        guard range.count >= 2, bytes[range.lowerBound] == UInt8(ascii: "\"") else { return nil }
        let inner = UnsafeRawBufferPointer(
            rebasing: bytes[range.lowerBound + 1..<range.upperBound - 1])
        guard inner.contains(UInt8(ascii: "\\")) else { return Array(inner) }
        return Self.unescaped(inner)
    }

    /// Whether the string at `range`, unescaped, is this text.
    package func isString(_ range: Range<Int>, _ text: String) -> Bool {
        let inner = UnsafeRawBufferPointer(
            rebasing: bytes[range.lowerBound + 1..<range.upperBound - 1])
        if inner.elementsEqual(text.utf8) { return true }
        guard inner.contains(UInt8(ascii: "\\")) else { return false }
        return Self.unescaped(inner)?.elementsEqual(text.utf8) ?? false
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

    /// The character that a backslash and this byte represent.
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

    /// Reads one `\u` escape, or a surrogate pair of two.
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
        inner[position + 2..<position + 6].reduce(0) { $0 << 4 | UInt16($1.hexDigit ?? 0) }
    }
}
