/// A value of a parsed document: a position on the tape of simdjson.
///
/// The value and its bytes are valid until its parser is used again or freed.
package struct JSONValue {
    let tape: UnsafePointer<UInt64>
    let strings: UnsafePointer<UInt8>
    let index: Int

    init(tape: UnsafePointer<UInt64>, strings: UnsafePointer<UInt8>, index: Int) {
        self.tape = tape
        self.strings = strings
        self.index = index
    }

    package enum Kind: Sendable {
        case object, array, string, number, boolean, null
    }

    private var tag: UInt8 { UInt8(truncatingIfNeeded: tape[index] >> 56) }
    private var payload: Int { Int(tape[index] & 0x00FF_FFFF_FFFF_FFFF) }
    private var indexBehindContainer: Int { Int(tape[index] & 0xFFFF_FFFF) }

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

    @inline(__always)
    package var isNull: Bool { tag == UInt8(ascii: "n") }

    @inline(__always)
    package var isObject: Bool { tag == UInt8(ascii: "{") }

    @inline(__always)
    package var isArray: Bool { tag == UInt8(ascii: "[") }

    /// Unescaped UTF-8; nil for other kinds.
    @inline(__always)
    package var string: UnsafeRawBufferPointer? {
        tag == UInt8(ascii: "\"") ? stringBytes(payload) : nil
    }

    /// Nil for other kinds.
    @inline(__always)
    package var boolean: Bool? {
        switch tag {
        case UInt8(ascii: "t"): true
        case UInt8(ascii: "f"): false
        default: nil
        }
    }

    /// Nil for other kinds.
    @inline(__always)
    package var number: JSONNumber? {
        switch tag {
        case UInt8(ascii: "l"): .integer(Int64(bitPattern: tape[index + 1]))
        case UInt8(ascii: "u"): .large(tape[index + 1])
        case UInt8(ascii: "d"): .double(Double(bitPattern: tape[index + 1]))
        default: nil
        }
    }

    /// The first member of that name (compared after unescaping) if its value is not null. Nil for
    /// an absent member and for other kinds.
    @inline(__always)
    package func member(_ name: StaticString) -> JSONValue? {
        guard let value = firstMember(name), !value.isNull else { return nil }
        return value
    }

    /// Like `member`, but returns a null value too.
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

    /// The first members of several names in one pass; null ones are absent. Cheaper than `member`
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

    /// Calls `body` with every member in order, including duplicates; does nothing for other kinds.
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

    /// Empty for other kinds.
    @inline(__always)
    package var elements: JSONElements {
        isArray
            ? JSONElements(
                upcoming: JSONValue(tape: tape, strings: strings, index: index + 1),
                end: indexBehindContainer - 1)
            : JSONElements(upcoming: self, end: index)
    }

    /// The tape index after this value.
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

package struct JSONElements: Sequence, IteratorProtocol {
    var upcoming: JSONValue
    let end: Int

    /// Whether no element is left.
    package var isEmpty: Bool { upcoming.index >= end }

    @inline(__always)
    package mutating func next() -> JSONValue? {
        guard upcoming.index < end else { return nil }
        let element = upcoming
        upcoming = JSONValue(
            tape: element.tape, strings: element.strings, index: element.indexBehind)
        return element
    }
}

/// Members of an object that were found in one pass.
package struct JSONMembers<let count: Int> {
    private let object: JSONValue
    /// Tape indices; 0 for an absent member.
    private var places = InlineArray<count, Int>(repeating: 0)

    init(of object: JSONValue) {
        self.object = object
    }

    @inline(__always)
    mutating func note(_ value: JSONValue, at place: Int) {
        if places[place] == 0 { places[place] = value.index }
    }

    /// The member of the name at that position; nil when absent or null.
    @inline(__always)
    package subscript(position: Int) -> JSONValue? {
        guard places[position] != 0 else { return nil }
        let value = JSONValue(
            tape: object.tape, strings: object.strings, index: places[position])
        return value.isNull ? nil : value
    }
}

/// A JSON number, as exact as 64 bits allow.
package enum JSONNumber: Equatable, Sendable {
    /// An integer within Int64.
    case integer(Int64)
    /// An integer beyond Int64, within UInt64.
    case large(UInt64)
    /// Fractions, exponents, and integers beyond 64 bits; always finite.
    case double(Double)

    /// Rounded to the nearest double.
    package var double: Double {
        switch self {
        case .integer(let value): Double(value)
        case .large(let value): Double(value)
        case .double(let value): value
        }
    }

    /// A number read as an integer.
    package enum AsInteger: Equatable, Sendable {
        /// An integer within Int64; 5.0 and 5e0 are the integer 5.
        case exact(Int64)
        /// An integer beyond Int64.
        case beyondInt64
        /// A number with a fraction.
        case fraction
    }

    package var asInteger: AsInteger {
        switch self {
        case .integer(let value): return .exact(value)
        case .large: return .beyondInt64
        case .double(let value):
            if value.rounded(.towardZero) != value { return .fraction }
            guard let integer = Int64(exactly: value) else { return .beyondInt64 }
            return .exact(integer)
        }
    }
}

extension UnsafeRawBufferPointer {
    /// Whether both have the same bytes.
    ///
    /// Compares eight bytes at a time, since the compared texts are short and mostly equal; the
    /// last step overlaps the one before.
    @inline(__always)
    package func equals(_ other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        if count >= 8 { return equals(other, by: UInt64.self) }
        if count >= 4 { return equals(other, by: UInt32.self) }
        for index in 0..<count where self[index] != other[index] { return false }
        return true
    }

    /// Requires equal counts of at least one word.
    @inline(__always)
    private func equals<Word: FixedWidthInteger & BitwiseCopyable>(
        _ other: UnsafeRawBufferPointer, by: Word.Type
    ) -> Bool {
        let last = count - MemoryLayout<Word>.size
        var start = 0
        while start < last {
            guard isWord(at: start, sameIn: other, Word.self) else { return false }
            start += MemoryLayout<Word>.size
        }
        return isWord(at: last, sameIn: other, Word.self)
    }

    @inline(__always)
    private func isWord<Word: FixedWidthInteger & BitwiseCopyable>(
        at start: Int, sameIn other: UnsafeRawBufferPointer, _: Word.Type
    ) -> Bool {
        loadUnaligned(fromByteOffset: start, as: Word.self)
            == other.loadUnaligned(fromByteOffset: start, as: Word.self)
    }
}
