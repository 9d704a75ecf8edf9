import CSimdjson

/// A value of a parsed document: a position on its tape (`CSimdjson.h`).
///
/// The value and its bytes are valid until its parser is used again or freed.
///
/// This file is public although only this package uses it: Swift 6.3 inlines public code into other modules, but not
/// `package` code.
public struct JSONValue {
    @usableFromInline let tape: UnsafePointer<UInt64>
    @usableFromInline let index: Int

    @inlinable
    init(tape: UnsafePointer<UInt64>, index: Int) {
        self.tape = tape
        self.index = index
    }

    package enum Kind: Sendable {
        case object, array, string, number, boolean, null
    }

    @inlinable var tag: UInt8 { UInt8(truncatingIfNeeded: tape[index] >> 56) }
    @inlinable var indexBehindContainer: Int { Int(tape[index] & 0x00FF_FFFF_FFFF_FFFF) }

    package var kind: Kind {
        switch tag {
        case UInt8(ascii: "{"): .object
        case UInt8(ascii: "["): .array
        case UInt8(ascii: "\""), UInt8(ascii: "s"): .string
        case UInt8(ascii: "l"), UInt8(ascii: "u"), UInt8(ascii: "d"): .number
        case UInt8(ascii: "t"), UInt8(ascii: "f"): .boolean
        default: .null
        }
    }

    /// Whether it is `null`.
    @inlinable @inline(__always)
    public var isNull: Bool { tag == UInt8(ascii: "n") }

    /// Whether it has members.
    @inlinable @inline(__always)
    public var isObject: Bool { tag == UInt8(ascii: "{") }

    /// Whether it has elements.
    @inlinable @inline(__always)
    public var isArray: Bool { tag == UInt8(ascii: "[") }

    /// Unescaped UTF-8; nil for other kinds.
    @inlinable @inline(__always)
    public var string: UnsafeRawBufferPointer? {
        switch tag {
        case UInt8(ascii: "\""): plainText(tape[index])
        case UInt8(ascii: "s"): unescapedText(tape[index])
        default: nil
        }
    }

    /// Nil for other kinds.
    @inlinable @inline(__always)
    public var boolean: Bool? {
        switch tag {
        case UInt8(ascii: "t"): true
        case UInt8(ascii: "f"): false
        default: nil
        }
    }

    /// Nil for other kinds.
    @inlinable @inline(__always)
    public var number: JSONNumber? {
        switch tag {
        case UInt8(ascii: "l"): .integer(Int64(bitPattern: tape[index + 1]))
        case UInt8(ascii: "u"): .large(tape[index + 1])
        case UInt8(ascii: "d"): .double(Double(bitPattern: tape[index + 1]))
        default: nil
        }
    }

    /// The number as written in the document, for digits that a double cannot hold; nil for other kinds.
    ///
    /// Also nil if the number is the whole document: the end of its text is unknown.
    package var numberText: UnsafeRawBufferPointer? {
        guard number != nil, index != weir_json_root,
            let bytes = UnsafeRawPointer(bitPattern: UInt(truncatingIfNeeded: tape[0]))
        else { return nil }
        // A comma, a bracket or a space comes after a member or an element.
        let start = bytes + Int(tape[index] & 0x00FF_FFFF_FFFF_FFFF)
        var count = 0
        while Self.isOfNumber(start.load(fromByteOffset: count, as: UInt8.self)) { count += 1 }
        return UnsafeRawBufferPointer(start: start, count: count)
    }

    private static func isOfNumber(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "e"),
            UInt8(ascii: "E"), UInt8(ascii: "+"), UInt8(ascii: "-"):
            true
        default: false
        }
    }

    /// The first member of that name (compared after unescaping) if its value is not null. Nil if the member is
    /// absent, and for other kinds.
    @inlinable @inline(__always)
    public func member(_ name: StaticString) -> JSONValue? {
        guard let value = firstMember(name), !value.isNull else { return nil }
        return value
    }

    /// Like `member`, but returns a null value too.
    public func firstMember(_ name: StaticString) -> JSONValue? {
        guard isObject else { return nil }
        let wanted = UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
        var at = index + 1
        let end = indexBehindContainer
        while at < end {
            let key = text(at)
            let value = JSONValue(tape: tape, index: at + 1)
            if key.equals(wanted) { return value }
            at = value.indexBehind
        }
        return nil
    }

    /// The first members of several names in one pass; null members are absent. From two names on this is cheaper
    /// than `member`.
    @inlinable @inline(__always)
    public func members(_ names: JSONNames) -> JSONMembers {
        var members = JSONMembers(of: self)
        guard isObject else { return members }
        var at = index + 1
        let end = indexBehindContainer
        while at < end {
            let key = text(at)
            let value = JSONValue(tape: tape, index: at + 1)
            at = value.indexBehind
            if let index = names.index(ofReadable: key) { members.set(value, at: index) }
        }
        return members
    }

    /// Calls `body` with every member in order, including duplicates; does nothing for other kinds.
    public func forEachMember(_ body: (_ name: UnsafeRawBufferPointer, _ value: JSONValue) -> Void)
    {
        guard isObject else { return }
        var at = index + 1
        let end = indexBehindContainer
        while at < end {
            let key = text(at)
            let value = JSONValue(tape: tape, index: at + 1)
            body(key, value)
            at = value.indexBehind
        }
    }

    /// Empty for other kinds.
    @inlinable @inline(__always)
    public var elements: JSONElements {
        isArray
            ? JSONElements(
                upcoming: JSONValue(tape: tape, index: index + 1),
                end: indexBehindContainer)
            : JSONElements(upcoming: self, end: index)
    }

    /// The tape index after this value.
    @inlinable @inline(__always)
    var indexBehind: Int {
        switch tag {
        case UInt8(ascii: "{"), UInt8(ascii: "["): indexBehindContainer
        case UInt8(ascii: "l"), UInt8(ascii: "u"), UInt8(ascii: "d"): index + 2
        default: index + 1
        }
    }

    /// The text at an index of the tape.
    @inlinable @inline(__always)
    func text(_ index: Int) -> UnsafeRawBufferPointer {
        let word = tape[index]
        return word >> 56 == UInt64(UInt8(ascii: "\"")) ? plainText(word) : unescapedText(word)
    }

    /// A text inside the document.
    @inlinable @inline(__always)
    func plainText(_ word: UInt64) -> UnsafeRawBufferPointer {
        let bytes = UnsafeRawPointer(bitPattern: UInt(truncatingIfNeeded: tape[0]))
        return UnsafeRawBufferPointer(
            start: bytes.map { $0 + Int(word & 0xFFFF_FFFF) }, count: Int(word >> 32 & 0xFF_FFFF))
    }

    /// A text that had escapes.
    @usableFromInline func unescapedText(_ word: UInt64) -> UnsafeRawBufferPointer {
        guard let texts = UnsafeRawPointer(bitPattern: UInt(truncatingIfNeeded: tape[1])) else {
            return UnsafeRawBufferPointer(start: nil, count: 0)
        }
        let start = texts + Int(word & 0x00FF_FFFF_FFFF_FFFF)
        return UnsafeRawBufferPointer(
            start: start + 4, count: Int(start.loadUnaligned(as: UInt32.self)))
    }
}

/// The elements of an array, in order.
public struct JSONElements: Sequence, IteratorProtocol {
    @usableFromInline var upcoming: JSONValue
    @usableFromInline let end: Int

    @inlinable @inline(__always)
    init(upcoming: JSONValue, end: Int) {
        self.upcoming = upcoming
        self.end = end
    }

    /// Whether no element is left.
    public var isEmpty: Bool { upcoming.index >= end }

    /// The next element; nil after the last one.
    @inlinable @inline(__always)
    public mutating func next() -> JSONValue? {
        guard upcoming.index < end else { return nil }
        let element = upcoming
        upcoming = JSONValue(tape: element.tape, index: element.indexBehind)
        return element
    }
}

/// Names to look for in one pass over an object. A list is created once and stays in memory:
///
///     private static let names = JSONNames("price", "impid", "ext")
///
/// A hash of a name's first and last eight bytes picks a slot, and no two names share one. For most other members,
/// one byte shows that they are not in the list.
public struct JSONNames: @unchecked Sendable {
    /// The most names of one list.
    public static let limit = 16
    @usableFromInline static var slotBits: UInt64 { 6 }
    @usableFromInline static var noIndex: UInt8 { 0xFF }

    /// The compared bytes of a name: all of it up to 16 bytes.
    @usableFromInline struct Name {
        @usableFromInline let first: UInt64
        @usableFromInline let last: UInt64
        @usableFromInline let text: UnsafeRawBufferPointer

        /// Eight bytes must be readable from the start of the text.
        @inlinable @inline(__always)
        init(readable text: UnsafeRawBufferPointer) {
            self.text = text
            guard let start = text.baseAddress, text.count > 0 else {
                (first, last) = (0, 0)
                return
            }
            let unused = UInt64(8 &* max(8 &- text.count, 0))
            first = start.loadUnaligned(as: UInt64.self) << unused
            last =
                start.loadUnaligned(fromByteOffset: max(text.count &- 8, 0), as: UInt64.self)
                << unused
        }

        @inlinable @inline(__always)
        func slot(_ multiplier: UInt64) -> Int {
            let mixed = first ^ (last << 29 | last >> 35) ^ UInt64(truncatingIfNeeded: text.count)
            return Int(truncatingIfNeeded: (mixed &* multiplier) >> (64 - slotBits))
        }

        @inlinable @inline(__always)
        func equals(_ other: Name) -> Bool {
            first == other.first && last == other.last && text.count == other.text.count
                && (text.count <= 16 || text.equals(other.text))
        }
    }

    /// Written once, before the value is handed out.
    @usableFromInline let slots: UnsafePointer<UInt8>
    @usableFromInline let names: UnsafePointer<Name>
    @usableFromInline let multiplier: UInt64

    package init(_ texts: StaticString...) {
        precondition(texts.count <= Self.limit, "a list has at most \(Self.limit) names")
        let names = UnsafeMutablePointer<Name>.allocate(capacity: Self.limit)
        for (index, text) in texts.enumerated() {
            let count = text.utf8CodeUnitCount
            let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: count + 8, alignment: 8)
            copy.copyMemory(from: UnsafeRawBufferPointer(start: text.utf8Start, count: count))
            (names + index).initialize(
                to: Name(readable: UnsafeRawBufferPointer(rebasing: copy[..<count])))
        }
        let slots = UnsafeMutablePointer<UInt8>.allocate(capacity: 1 << Int(Self.slotBits))
        var multiplier: UInt64 = 0x9E37_79B9_7F4A_7C15
        while !Self.fill(slots, names, count: texts.count, multiplier) {
            multiplier = multiplier &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        }
        self.slots = UnsafePointer(slots)
        self.names = UnsafePointer(names)
        self.multiplier = multiplier
    }

    /// False when two names share a slot.
    private static func fill(
        _ slots: UnsafeMutablePointer<UInt8>, _ names: UnsafePointer<Name>, count: Int,
        _ multiplier: UInt64
    ) -> Bool {
        slots.initialize(repeating: noIndex, count: 1 << Int(slotBits))
        for index in 0..<count {
            let slot = names[index].slot(multiplier)
            guard slots[slot] == noIndex else {
                precondition(
                    !names[index].equals(names[Int(slots[slot])]), "a name is there twice")
                return false
            }
            slots[slot] = UInt8(index)
        }
        return true
    }

    /// The index in the list of a document's name.
    @inlinable @inline(__always)
    func index(ofReadable text: UnsafeRawBufferPointer) -> Int? {
        let name = Name(readable: text)
        let index = slots[name.slot(multiplier)]
        guard index != Self.noIndex, names[Int(index)].equals(name) else { return nil }
        return Int(index)
    }
}

/// Members of an object that were found in one pass.
public struct JSONMembers {
    @usableFromInline let object: JSONValue
    /// Indices of the tape; 0 for an absent member.
    @usableFromInline var indices = InlineArray<16, UInt32>(repeating: 0)

    @inlinable @inline(__always)
    init(of object: JSONValue) {
        self.object = object
    }

    @inlinable @inline(__always)
    mutating func set(_ value: JSONValue, at index: Int) {
        if indices[unchecked: index] == 0 {
            indices[unchecked: index] = UInt32(truncatingIfNeeded: value.index)
        }
    }

    /// The member with the name at that index of the list; nil if absent or null.
    @inlinable @inline(__always)
    public subscript(index: Int) -> JSONValue? {
        guard indices[index] != 0 else { return nil }
        let value = JSONValue(tape: object.tape, index: Int(indices[index]))
        return value.isNull ? nil : value
    }
}

/// A JSON number, as exact as 64 bits allow.
public enum JSONNumber: Equatable, Sendable {
    /// An integer within Int64.
    case integer(Int64)
    /// An integer beyond Int64, within UInt64.
    case large(UInt64)
    /// Fractions, exponents, and integers beyond 64 bits; always finite.
    case double(Double)

    /// Rounded to the nearest double.
    public var double: Double {
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
    /// Compares eight bytes at a time, because the texts are short and mostly equal; the last step overlaps the
    /// previous one.
    @inlinable @inline(__always)
    public func equals(_ other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        if count >= 8 { return equals(other, by: UInt64.self) }
        if count >= 4 { return equals(other, by: UInt32.self) }
        for index in 0..<count where self[index] != other[index] { return false }
        return true
    }

    /// Requires equal counts of at least one word.
    @inlinable @inline(__always)
    func equals<Word: FixedWidthInteger & BitwiseCopyable>(
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

    @inlinable @inline(__always)
    func isWord<Word: FixedWidthInteger & BitwiseCopyable>(
        at start: Int, sameIn other: UnsafeRawBufferPointer, _: Word.Type
    ) -> Bool {
        loadUnaligned(fromByteOffset: start, as: Word.self)
            == other.loadUnaligned(fromByteOffset: start, as: Word.self)
    }
}
