import CSimdjson

#if canImport(Glibc)
    import Glibc
#endif

/// Parses JSON documents (RFC 8259) with simdjson: one thread and one document at a time.
///
/// Values borrow the parser's memory: once its buffers have grown, a document needs no allocation. The parser reads a
/// rejected document a second time, slowly, to find the reason.
///
///     guard let parser = JSONParser() else { return }
///     try bytes.withUnsafeBytes { bytes in
///         let document = try parser.parse(bytes)
///         let bid = document.member("price")?.number?.double
///     }
package final class JSONParser {
    /// The deepest nesting of arrays and objects.
    package static let maxDepth = 64

    private let parser: OpaquePointer

    /// Nil if memory is exhausted.
    package init?() {
        guard let parser = weir_json_parser_create(Self.maxDepth) else { return nil }
        self.parser = parser
    }

    deinit {
        weir_json_parser_free(parser)
    }

    /// Starts to load a document that is parsed next.
    package static func prefetch(_ bytes: UnsafeRawBufferPointer) {
        weir_prefetch(bytes.baseAddress, min(bytes.count, 4096))
    }

    /// The value is valid until the next parse or the end of the parser.
    package func parse(_ bytes: UnsafeRawBufferPointer) throws(JSONFault) -> JSONValue {
        try parse(bytes, borrows: false)
    }

    /// Parses without a copy if possible: the value is valid while the bytes are, until the next parse or the end of
    /// the parser.
    package func parse(borrowing bytes: UnsafeRawBufferPointer) throws(JSONFault) -> JSONValue {
        try parse(bytes, borrows: true)
    }

    private func parse(
        _ bytes: UnsafeRawBufferPointer, borrows: Bool
    ) throws(JSONFault) -> JSONValue {
        let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        if let tape = weir_json_parse(parser, start, bytes.count, borrows) {
            return JSONValue(tape: tape, index: weir_json_root)
        }
        var inspection = JSONInspection(bytes)
        try inspection.run()
        throw .malformed("the document is not accepted")
    }
}

/// Why bytes are not an acceptable JSON document.
package enum JSONFault: Error, Equatable, Sendable {
    /// Not UTF-8 (RFC 3629), anywhere in the document.
    case invalidUTF8
    /// Nested deeper than `JSONParser.maxDepth`.
    case tooDeep
    /// Anything else: wrong grammar, a lone surrogate, or a number outside of 64 bits and of finite doubles.
    case malformed(String)
}

extension JSONFault: CustomStringConvertible {
    package var description: String {
        switch self {
        case .invalidUTF8: "it is not UTF-8"
        case .tooDeep: "it is nested deeper than \(JSONParser.maxDepth)"
        case .malformed(let explanation): explanation
        }
    }
}

/// Reads a rejected document strictly and slowly, and finds the first fault.
///
/// It does not recurse, so deep nesting cannot exhaust the stack.
struct JSONInspection {
    private let bytes: UnsafeRawBufferPointer
    private var position = 0
    /// For each open container: whether it is an object.
    private var open: [Bool] = []

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    /// Throws the first fault: invalid UTF-8 anywhere, otherwise the first error of grammar.
    mutating func run() throws(JSONFault) {
        guard Self.isUTF8(bytes) else { throw .invalidUTF8 }
        skipSpace()
        try value()
        while !open.isEmpty {
            try afterValue()
        }
        skipSpace()
        guard position == bytes.count else { throw fault("text after the document") }
    }

    static func isUTF8(_ bytes: UnsafeRawBufferPointer) -> Bool {
        String(validating: bytes, as: UTF8.self) != nil
    }

    private func fault(_ what: String) -> JSONFault {
        .malformed("\(what) at byte \(position)")
    }

    private var byte: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func skipSpace() {
        while let byte, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 {
            position += 1
        }
    }

    /// Reads a scalar, or the start of a container up to its first value or its end.
    private mutating func value() throws(JSONFault) {
        switch byte {
        case UInt8(ascii: "{"): try openContainer(isObject: true)
        case UInt8(ascii: "["): try openContainer(isObject: false)
        case UInt8(ascii: "\""): try string()
        case UInt8(ascii: "t"): try literal("true")
        case UInt8(ascii: "f"): try literal("false")
        case UInt8(ascii: "n"): try literal("null")
        case nil: throw fault("the document ends early")
        default: try number()
        }
    }

    private mutating func openContainer(isObject: Bool) throws(JSONFault) {
        guard open.count < JSONParser.maxDepth else { throw .tooDeep }
        open.append(isObject)
        position += 1
    }

    /// Continues in the innermost container: its end, or its next value.
    private mutating func afterValue() throws(JSONFault) {
        guard let isObject = open.last else { return }
        let isFirst = isAtOpening(isObject: isObject)
        skipSpace()
        if byte == UInt8(ascii: isObject ? "}" : "]") {
            position += 1
            open.removeLast()
            return
        }
        if !isFirst {
            guard byte == UInt8(ascii: ",") else { throw fault("a comma or an end is missing") }
            position += 1
            skipSpace()
        }
        if isObject { try name() }
        try value()
    }

    /// Whether the last byte opened the innermost container. No value ends with such a byte.
    private func isAtOpening(isObject: Bool) -> Bool {
        let opening = UInt8(ascii: isObject ? "{" : "[")
        return bytes[position - 1] == opening
    }

    private mutating func name() throws(JSONFault) {
        guard byte == UInt8(ascii: "\"") else { throw fault("a member's name is missing") }
        try string()
        skipSpace()
        guard byte == UInt8(ascii: ":") else { throw fault("a colon is missing") }
        position += 1
        skipSpace()
    }

    private mutating func literal(_ text: StaticString) throws(JSONFault) {
        let wanted = UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        guard position + wanted.count <= bytes.count,
            bytes[position..<position + wanted.count].elementsEqual(wanted)
        else { throw fault("an unknown word") }
        position += wanted.count
    }

    private mutating func number() throws(JSONFault) {
        let start = position
        if byte == UInt8(ascii: "-") { position += 1 }
        let firstDigit = position
        guard skipDigits() > 0 else {
            // An editor does not show it.
            let isMark = bytes[position...].starts(with: [0xEF, 0xBB, 0xBF])
            throw fault(isMark ? "a byte order mark" : "a value is missing")
        }
        if bytes[firstDigit] == UInt8(ascii: "0"), position > firstDigit + 1 {
            throw fault("a number with a leading zero")
        }
        if byte == UInt8(ascii: ".") {
            position += 1
            guard skipDigits() > 0 else { throw fault("a number ends in a point") }
        }
        if byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E") {
            position += 1
            if byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-") { position += 1 }
            guard skipDigits() > 0 else { throw fault("a number without its exponent") }
        }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        guard strtod(text, nil).isFinite else { throw fault("a number too large") }
    }

    private mutating func skipDigits() -> Int {
        let start = position
        while let byte, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { position += 1 }
        return position - start
    }

    private mutating func string() throws(JSONFault) {
        position += 1
        while let byte {
            switch byte {
            case UInt8(ascii: "\""):
                position += 1
                return
            case UInt8(ascii: "\\"): try escape()
            case 0..<0x20: throw fault("a control character in a string")
            default: position += 1
            }
        }
        throw fault("a string without its end")
    }

    private mutating func escape() throws(JSONFault) {
        position += 1
        switch byte {
        case UInt8(ascii: "u"):
            let unit = try codeUnit()
            if (0xDC00...0xDFFF).contains(unit) { throw fault("a lone surrogate") }
            guard (0xD800...0xDBFF).contains(unit) else { return }
            guard byte == UInt8(ascii: "\\"), position + 1 < bytes.count,
                bytes[position + 1] == UInt8(ascii: "u")
            else { throw fault("a lone surrogate") }
            position += 1
            let low = try codeUnit()
            guard (0xDC00...0xDFFF).contains(low) else { throw fault("a lone surrogate") }
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"),
            UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            position += 1
        default: throw fault("an unknown escape")
        }
    }

    /// Reads a `u` and four hexadecimal digits.
    private mutating func codeUnit() throws(JSONFault) -> UInt16 {
        guard position + 5 <= bytes.count,
            let text = String(validating: bytes[position + 1..<position + 5], as: UTF8.self),
            text.utf8.allSatisfy({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "-") }),
            let unit = UInt16(text, radix: 16)
        else { throw fault("an unknown escape") }
        position += 5
        return unit
    }
}
