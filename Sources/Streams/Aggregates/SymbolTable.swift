import JSON

/// A text of a `SymbolTable` as a number: equal texts of one table have equal symbols.
package struct Symbol: Hashable, Sendable {
    let number: UInt32

    package static let empty = Symbol(number: 0)
}

/// Interns the texts in aggregate keys, directly from UTF-8 bytes.
///
/// Texts compare as bytes, without Unicode normalisation. A large table is emptied between batches, so that it does not
/// grow with history.
package struct SymbolTable {
    private var bytes: [UInt8] = []
    private var ends: [Int] = [0]
    private var hashes: [UInt64] = [0]
    private var slots: [UInt32] = Array(repeating: 0, count: 256)

    /// Creates a table with only the empty text.
    package init() {}

    package var isLarge: Bool { ends.count > 65_536 || bytes.count > 1 << 20 }

    /// Forgets all texts except the empty one; earlier symbols become invalid.
    package mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        ends.removeSubrange(1...)
        hashes.removeSubrange(1...)
        for index in slots.indices { slots[index] = 0 }
    }

    @inline(__always)
    package mutating func intern(_ text: UnsafeRawBufferPointer) -> Symbol {
        guard text.count > 0 else { return .empty }
        let hash = RowHasher.hash(text)
        var slot = Int(truncatingIfNeeded: hash) & (slots.count - 1)
        while slots[slot] != 0 {
            let number = Int(slots[slot])
            if hashes[number] == hash, isText(number, text) {
                return Symbol(number: UInt32(number))
            }
            slot = (slot + 1) & (slots.count - 1)
        }
        return insert(text, hash: hash, slot: slot)
    }

    package mutating func internLowercased(_ text: UnsafeRawBufferPointer) -> Symbol {
        guard text.hasASCIICapitals else { return intern(text) }
        return withUnsafeTemporaryAllocation(byteCount: text.count, alignment: 1) { lower in
            for index in 0..<text.count { lower[index] = text[index].asciiLowercased }
            return intern(UnsafeRawBufferPointer(lower))
        }
    }

    package mutating func intern(_ text: String) -> Symbol {
        var text = text
        return text.withUTF8 { intern(UnsafeRawBufferPointer($0)) }
    }

    @inline(__always)
    package mutating func intern(_ text: StaticString) -> Symbol {
        intern(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    package mutating func intern(decimal number: Int64) -> Symbol {
        // The most digits of 64 bits, and a sign.
        withUnsafeTemporaryAllocation(byteCount: 20, alignment: 1) { text in
            var (rest, start) = (number.magnitude, text.count)
            repeat {
                start -= 1
                text[start] = UInt8(ascii: "0") + UInt8(rest % 10)
                rest /= 10
            } while rest > 0
            if number < 0 {
                start -= 1
                text[start] = UInt8(ascii: "-")
            }
            return intern(UnsafeRawBufferPointer(rebasing: text[start...]))
        }
    }

    @inline(__always)
    package func withBytes<Result>(
        of symbol: Symbol, _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        let range = range(of: Int(symbol.number))
        return try bytes.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[range])) }
    }

    package func text(_ symbol: Symbol) -> String {
        withBytes(of: symbol) { String(decoding: $0, as: UTF8.self) }
    }

    @inline(__always)
    private func range(of number: Int) -> Range<Int> {
        number == 0 ? 0..<0 : ends[number - 1]..<ends[number]
    }

    @inline(__always)
    private func isText(_ number: Int, _ text: UnsafeRawBufferPointer) -> Bool {
        let range = range(of: number)
        return bytes.withUnsafeBytes { UnsafeRawBufferPointer(rebasing: $0[range]).equals(text) }
    }

    private mutating func insert(_ text: UnsafeRawBufferPointer, hash: UInt64, slot: Int) -> Symbol
    {
        let number = UInt32(ends.count)
        bytes.append(contentsOf: text)
        ends.append(bytes.count)
        hashes.append(hash)
        slots[slot] = number
        if ends.count * 2 > slots.count { grow() }
        return Symbol(number: number)
    }

    private mutating func grow() {
        slots = Array(repeating: 0, count: slots.count * 2)
        for number in 1..<ends.count {
            var slot = Int(truncatingIfNeeded: hashes[number]) & (slots.count - 1)
            while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
            slots[slot] = UInt32(number)
        }
    }
}
