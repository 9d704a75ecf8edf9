/// A value of a parsed document: a place on simdjson's tape.
///
/// Valid until the parser that made it is used again or freed; so are the bytes that it hands out.
package struct JSONValue {
    let tape: UnsafePointer<UInt64>
    let strings: UnsafePointer<UInt8>
    let index: Int

    init(tape: UnsafePointer<UInt64>, strings: UnsafePointer<UInt8>, index: Int) {
        self.tape = tape
        self.strings = strings
        self.index = index
    }

    /// The kinds of JSON values.
    package enum Kind: Sendable {
        case object, array, string, number, boolean, null
    }

    private var tag: UInt8 { UInt8(truncatingIfNeeded: tape[index] >> 56) }
    private var payload: Int { Int(tape[index] & 0x00FF_FFFF_FFFF_FFFF) }
    private var indexBehindContainer: Int { Int(tape[index] & 0xFFFF_FFFF) }

    /// The kind of the value.
    package var kind: Kind {
        switch tag {
        case UInt8(ascii: "{"): .object
        case UInt8(ascii: "["): .array
        case UInt8(ascii: "\""): .string
        case UInt8(ascii: "l"), UInt8(ascii: "u"), UInt8(ascii: "d"): .number
        case UInt8(ascii: "t"), UInt8(ascii: "f"): .boolean
        default: .null
        }
    }

    /// True for JSON's null.
    @inline(__always)
    package var isNull: Bool { tag == UInt8(ascii: "n") }

    /// True for an object.
    @inline(__always)
    package var isObject: Bool { tag == UInt8(ascii: "{") }

    /// True for an array.
    @inline(__always)
    package var isArray: Bool { tag == UInt8(ascii: "[") }

    /// The unescaped UTF-8 bytes of a string; nil for other kinds.
    @inline(__always)
    package var string: UnsafeRawBufferPointer? {
        tag == UInt8(ascii: "\"") ? stringBytes(payload) : nil
    }

    /// True or false; nil for other kinds.
    @inline(__always)
    package var boolean: Bool? {
        switch tag {
        case UInt8(ascii: "t"): true
        case UInt8(ascii: "f"): false
        default: nil
        }
    }

    /// A number; nil for other kinds.
    @inline(__always)
    package var number: JSONNumber? {
        switch tag {
        case UInt8(ascii: "l"): .integer(Int64(bitPattern: tape[index + 1]))
        case UInt8(ascii: "u"): .large(tape[index + 1])
        case UInt8(ascii: "d"): .double(Double(bitPattern: tape[index + 1]))
        default: nil
        }
    }

    /// The first member of that name (compared after unescaping) whose value is not null; nil when the
    /// first member of that name is null, when there is none, or when this is no object.
    @inline(__always)
    package func member(_ name: StaticString) -> JSONValue? {
        guard let value = firstMember(name), !value.isNull else { return nil }
        return value
    }

    /// The first member of that name, null or not.
    package func firstMember(_ name: StaticString) -> JSONValue? {
        guard isObject else { return nil }
        let wanted = UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
        var at = index + 1
        let end = indexBehindContainer - 1
        while at < end {
            let key = stringBytes(Int(tape[at] & 0x00FF_FFFF_FFFF_FFFF))
            let value = JSONValue(tape: tape, strings: strings, index: at + 1)
            if key.equals(wanted) { return value }
            at = value.indexBehind
        }
        return nil
    }

    /// The first members of these names, found in one pass; null ones are absent. Cheaper than `member`
    /// from the second name on.
    @inline(__always)
    package func members<let count: Int>(
        _ names: InlineArray<count, StaticString>
    ) -> JSONMembers<count> {
        var members = JSONMembers<count>(of: self)
        guard isObject else { return members }
        var at = index + 1
        let end = indexBehindContainer - 1
        while at < end {
            let key = stringBytes(Int(tape[at] & 0x00FF_FFFF_FFFF_FFFF))
            let value = JSONValue(tape: tape, strings: strings, index: at + 1)
            at = value.indexBehind
            for place in 0..<count where names[place].utf8CodeUnitCount == key.count {
                let name = UnsafeRawBufferPointer(start: names[place].utf8Start, count: key.count)
                if key.equals(name) { members.note(value, at: place) }
            }
        }
        return members
    }

    /// Calls `body` with every member in order, duplicates included; does nothing for other kinds.
    package func forEachMember(_ body: (_ name: UnsafeRawBufferPointer, _ value: JSONValue) -> Void)
    {
        guard isObject else { return }
        var at = index + 1
        let end = indexBehindContainer - 1
        while at < end {
            let key = stringBytes(Int(tape[at] & 0x00FF_FFFF_FFFF_FFFF))
            let value = JSONValue(tape: tape, strings: strings, index: at + 1)
            body(key, value)
            at = value.indexBehind
        }
    }

    /// The elements of an array; empty for other kinds.
    @inline(__always)
    package var elements: JSONElements {
        isArray
            ? JSONElements(
                upcoming: JSONValue(tape: tape, strings: strings, index: index + 1),
                end: indexBehindContainer - 1)
            : JSONElements(upcoming: self, end: index)
    }

    /// Index of the tape's word behind this value.
    @inline(__always)
    var indexBehind: Int {
        switch tag {
        case UInt8(ascii: "{"), UInt8(ascii: "["): indexBehindContainer
        case UInt8(ascii: "l"), UInt8(ascii: "u"), UInt8(ascii: "d"): index + 2
        default: index + 1
        }
    }

    @inline(__always)
    private func stringBytes(_ offset: Int) -> UnsafeRawBufferPointer {
        let place = UnsafeRawPointer(strings + offset)
        return UnsafeRawBufferPointer(
            start: place + 4, count: Int(place.loadUnaligned(as: UInt32.self)))
    }
}

/// The elements of an array, in order.
package struct JSONElements: Sequence, IteratorProtocol {
    var upcoming: JSONValue
    let end: Int

    /// True when there is no element (left).
    package var isEmpty: Bool { upcoming.index >= end }

    /// The next element; nil at the end.
    @inline(__always)
    package mutating func next() -> JSONValue? {
        guard upcoming.index < end else { return nil }
        let element = upcoming
        upcoming = JSONValue(
            tape: element.tape, strings: element.strings, index: element.indexBehind)
        return element
    }
}

/// Members of an object that were looked for together.
package struct JSONMembers<let count: Int> {
    private let object: JSONValue
    /// Places on the tape; 0 for a member that is not there.
    private var places = InlineArray<count, Int>(repeating: 0)

    init(of object: JSONValue) {
        self.object = object
    }

    @inline(__always)
    mutating func note(_ value: JSONValue, at place: Int) {
        if places[place] == 0 { places[place] = value.index }
    }

    /// The member of the name at that position; nil when it is absent or null.
    @inline(__always)
    package subscript(position: Int) -> JSONValue? {
        guard places[position] != 0 else { return nil }
        let value = JSONValue(
            tape: object.tape, strings: object.strings, index: places[position])
        return value.isNull ? nil : value
    }
}
