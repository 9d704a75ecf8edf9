/// The text that Apple or a network signs: values joined by U+2063.
enum SignedText {
    /// Called with each signed field in order; the value is nil for a required field that is absent.
    typealias Visitor = (_ name: StaticString, _ value: SignedValue?) -> Void

    /// U+2063 INVISIBLE SEPARATOR in UTF-8.
    private static let separator: [UInt8] = [0xE2, 0x81, 0xA3]

    /// Appends the fields of `visit`, joined.
    ///
    /// - Returns: false, with nothing appended, if a field is absent or contains the separator.
    static func append(to text: inout [UInt8], _ visit: (Visitor) -> Void) -> Bool {
        let start = text.count
        var isFirst = true
        var isComplete = true
        visit { _, value in
            guard isComplete, let value, !value.containsSeparator else {
                isComplete = false
                return
            }
            if !isFirst { text.append(contentsOf: separator) }
            value.append(to: &text)
            isFirst = false
        }
        if !isComplete { text.removeSubrange(start...) }
        return isComplete
    }

    /// The fields of `visit`, for output.
    static func fields(_ visit: (Visitor) -> Void) -> [SignedField] {
        var fields: [SignedField] = []
        visit { name, value in
            var text: [UInt8] = []
            value?.append(to: &text)
            fields.append(
                SignedField(
                    name: name.description,
                    value: value == nil ? nil : String(decoding: text, as: UTF8.self)
                )
            )
        }
        return fields
    }
}

/// One value of a signed text, in borrowed memory.
enum SignedValue {
    case text(UnsafeRawBufferPointer)
    case lowercased(UnsafeRawBufferPointer)
    case number(Int64)
    case flag(Bool)

    /// A constant of a layout.
    static func word(_ word: StaticString) -> SignedValue {
        .text(UnsafeRawBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
    }

    /// Whether the value contains U+2063, the separator.
    ///
    /// Such a text would make one signature valid for two postbacks: a genuine 2.0 postback of network N has the same
    /// bytes as one of 1.0 with the network "2.0", the separator and N.
    var containsSeparator: Bool {
        switch self {
        case .text(let bytes), .lowercased(let bytes):
            bytes.indices.dropLast(2).contains { index in
                bytes[index] == 0xE2 && bytes[index + 1] == 0x81 && bytes[index + 2] == 0xA3
            }
        case .number, .flag: false
        }
    }

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

/// One field of a signed text, with its value as signed.
package struct SignedField: Sendable, Equatable {
    /// As named in the vendor's format.
    package let name: String
    /// Nil if the layout requires the field and it is absent.
    package let value: String?

    package init(name: String, value: String?) {
        self.name = name
        self.value = value
    }
}
