import JSONReader

/// Writes JSON text.
package struct JSONText {
    /// The text so far.
    package private(set) var text = ""
    private var needsComma = false

    /// Starts with no text.
    package init() {}

    /// Writes an object; `body` writes its members.
    package mutating func object(_ body: (inout JSONText) throws -> Void) rethrows {
        try open("{", body, "}")
    }

    /// Writes an array; `body` writes its elements.
    package mutating func array(_ body: (inout JSONText) throws -> Void) rethrows {
        try open("[", body, "]")
    }

    /// Begins a member of an object; its value is written next.
    package mutating func name(_ name: String) {
        separate()
        quote(name)
        text += ":"
        needsComma = false
    }

    /// Writes a string, or null.
    package mutating func string(_ value: String?) {
        guard let value else { return raw("null") }
        separate()
        quote(value)
        needsComma = true
    }

    /// Writes a number, a literal, or text that is JSON already.
    package mutating func raw(_ value: some CustomStringConvertible) {
        separate()
        text += value.description
        needsComma = true
    }

    /// Writes a parsed value again.
    package mutating func value(_ value: JSONValue) {
        switch value.kind {
        case .null: raw("null")
        case .boolean: raw(value.boolean ?? false)
        case .string: string(value.string.map { String(decoding: $0, as: UTF8.self) })
        case .number:
            switch value.number {
            case .integer(let integer): raw(integer)
            case .large(let large): raw(large)
            case .double(let double): raw(double)
            case nil: raw("null")
            }
        case .array:
            array { text in for element in value.elements { text.value(element) } }
        case .object:
            object { text in
                value.forEachMember { name, member in
                    text.name(String(decoding: name, as: UTF8.self))
                    text.value(member)
                }
            }
        }
    }

    private mutating func open(
        _ start: String, _ body: (inout JSONText) throws -> Void, _ end: String
    ) rethrows {
        separate()
        text += start
        needsComma = false
        try body(&self)
        text += end
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { text += "," }
    }

    private mutating func quote(_ value: String) {
        text += "\""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case "\u{00}"..<"\u{20}":
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }
}
