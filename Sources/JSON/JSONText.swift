/// Writes JSON text.
///
///     var json = JSONText()
///     json.object { json in
///         json.member("topic", "bids")
///         json.objects("partitions", partitions) { $1.member("partition", $0.number) }
///     }
package struct JSONText {
    /// The text so far, in UTF-8.
    package private(set) var bytes: [UInt8] = []
    private var needsComma = false

    /// Starts with empty text.
    package init() {}

    /// The text so far.
    package var text: String { String(decoding: bytes, as: UTF8.self) }

    /// Writes an object; `body` writes its members.
    package mutating func object<Fault>(
        _ body: (inout JSONText) throws(Fault) -> Void
    ) throws(Fault) {
        try open("{", body, "}")
    }

    /// Writes an array; `body` writes its elements.
    package mutating func array<Fault>(
        _ body: (inout JSONText) throws(Fault) -> Void
    ) throws(Fault) {
        try open("[", body, "]")
    }

    /// Begins a member of an object; its value is written next.
    package mutating func name(_ name: String) {
        separate()
        Self.append(string: name.utf8, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    /// Writes a string, or null.
    package mutating func string(_ value: String?) {
        guard let value else { return raw("null") }
        separate()
        Self.append(string: value.utf8, to: &bytes)
        needsComma = true
    }

    /// Writes a number, a literal, or existing JSON text.
    package mutating func raw(_ value: some CustomStringConvertible) {
        separate()
        bytes.append(contentsOf: value.description.utf8)
        needsComma = true
    }

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

    private mutating func open<Fault>(
        _ start: Unicode.Scalar, _ body: (inout JSONText) throws(Fault) -> Void,
        _ end: Unicode.Scalar
    ) throws(Fault) {
        separate()
        bytes.append(UInt8(ascii: start))
        needsComma = false
        try body(&self)
        bytes.append(UInt8(ascii: end))
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
    }

    /// Appends a string with its quotes; `text` is UTF-8. JSON allows DEL (0x7F) as it is, a terminal may not.
    package static func append(
        string text: some Collection<UInt8>, to json: inout [UInt8], escapingDelete: Bool = false
    ) {
        let isAppended: Void? = text.withContiguousStorageIfAvailable {
            append(string: $0, to: &json, escapingDelete)
        }
        if isAppended == nil {
            Array(text).withUnsafeBufferPointer { append(string: $0, to: &json, escapingDelete) }
        }
    }

    private static func append(
        string text: UnsafeBufferPointer<UInt8>, to json: inout [UInt8], _ escapingDelete: Bool
    ) {
        json.append(UInt8(ascii: "\""))
        var start = 0
        for (index, byte) in text.enumerated() {
            guard let escape = escape(byte, escapingDelete) else { continue }
            json.append(contentsOf: text[start..<index])
            json.append(contentsOf: escape.utf8)
            start = index + 1
        }
        json.append(contentsOf: text[start...])
        json.append(UInt8(ascii: "\""))
    }

    /// The escape for a byte that strings must not contain; nil for other bytes.
    @inline(__always)
    private static func escape(_ byte: UInt8, _ escapingDelete: Bool) -> String? {
        switch byte {
        case UInt8(ascii: "\""): "\\\""
        case UInt8(ascii: "\\"): "\\\\"
        case 0x0A: "\\n"
        case 0x0D: "\\r"
        case 0x09: "\\t"
        case 0..<0x20: "\\u00\([byte].hexDigits)"
        case 0x7F where escapingDelete: "\\u007f"
        default: nil
        }
    }
}

extension JSONText {
    /// Writes a member that is a string, or null.
    package mutating func member(_ name: String, _ text: String?) {
        self.name(name)
        string(text)
    }

    /// Writes a member that is a number, or null.
    package mutating func member(_ name: String, _ number: (some BinaryInteger)?) {
        self.name(name)
        if let number { raw("\(number)") } else { raw("null") }
    }

    package mutating func member(_ name: String, _ isTrue: Bool) {
        self.name(name)
        raw(isTrue)
    }

    /// Writes a member that is an array of strings.
    package mutating func member(_ name: String, _ texts: [String]) {
        self.name(name)
        array { json in for text in texts { json.string(text) } }
    }

    /// Writes a member that is an object; `body` writes its members.
    package mutating func object(_ name: String, _ body: (inout JSONText) -> Void) {
        self.name(name)
        object(body)
    }

    /// Writes a member that is an array of objects; `body` writes the members of each.
    package mutating func objects<Item>(
        _ name: String, _ items: some Sequence<Item>, _ body: (Item, inout JSONText) -> Void
    ) {
        self.name(name)
        objects(items, body)
    }

    /// Writes an array of objects; `body` writes the members of each.
    package mutating func objects<Item>(
        _ items: some Sequence<Item>, _ body: (Item, inout JSONText) -> Void
    ) {
        array { json in
            for item in items { json.object { body(item, &$0) } }
        }
    }
}
