/// Walks over the text of JSON (RFC 8259) and says where its values lie.
///
/// Unlike `JSONParser` it lets through whatever the grammar does: any depth, any number, lone
/// surrogates. What a worker is to reject can be published. It works without recursion.
struct JSONScanner {
    /// Why a text is not JSON.
    struct Fault: Error, Equatable {
        /// Where, in bytes from the start.
        var position: Int
        /// What is wrong there.
        var words: String
    }

    let bytes: UnsafeRawBufferPointer
    private(set) var position = 0

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    /// Whether everything was read.
    var isAtEnd: Bool { position == bytes.count }

    /// Moves over whitespace.
    mutating func skipSpace() {
        while let byte, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 {
            position += 1
        }
    }

    /// Moves over one value, whose first byte is here; says where it lies.
    mutating func skipValue() throws(Fault) -> Range<Int> {
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

    /// Moves over an object, whose first byte is here, and calls `body` with where each member's name
    /// (a string with its quotes) and value lie.
    mutating func skipObject<Failure: Error>(
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

    /// In a text that is known to be JSON, with no string open here: moves to the next string; false when
    /// there is none.
    mutating func skipToString() -> Bool {
        guard let next = bytes[position...].firstIndex(of: UInt8(ascii: "\"")) else { return false }
        position = next
        return true
    }

    /// In a text that is known to be JSON, behind a string: moves over the colon to the value of the
    /// member that the string names; false when it names none.
    mutating func skipToMemberValue() -> Bool {
        skipSpace()
        guard byte == UInt8(ascii: ":") else { return false }
        position += 1
        skipSpace()
        return true
    }

    private var byte: UInt8? { position < bytes.count ? bytes[position] : nil }

    private func fault(_ words: String) -> Fault { Fault(position: position, words: words) }

    /// Moves over the bracket here, and over its counterpart when that follows: says whether it does.
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

    /// Behind a value: moves over the brackets that close, then over the comma to the next value.
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

    /// Moves over a member's name and the colon to its value.
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

extension UInt8 {
    /// The number that the character stands for as a hexadecimal digit.
    var hexDigit: UInt16? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt16(self - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt16(self - UInt8(ascii: "a")) + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt16(self - UInt8(ascii: "A")) + 10
        default: nil
        }
    }
}
