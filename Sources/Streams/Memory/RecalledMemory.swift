/// Replaces a fold's memory while a part of the log is folded again. It gives the recorded answers for each record; a
/// record without them is unknown.
package final class RecalledMemory: FoldMemory {
    private var answers: [Int32: [Int64: [UInt8]]] = [:]
    /// While true, it has no answers.
    package var isSilent = false

    package init() {}

    package func add(_ recollection: Recollection) {
        answers[recollection.partition, default: [:]][recollection.offset] = recollection.answers
    }

    func answers(about position: FoldPosition) -> [UInt8]? {
        answers(partition: position.partition, offset: position.offset)
    }

    package func removeAll() { answers.removeAll(keepingCapacity: true) }

    package func answers(partition: Int32, offset: Int64) -> [UInt8]? {
        isSilent ? nil : answers[partition]?[offset]
    }

    /// Always nil: recalling folds query the answers of a record instead.
    package func row(of _: MemoryTable, partition _: Int32, key _: MemoryValue) -> [MemoryValue]? {
        nil
    }

    package func windowEntries(of _: Int32) -> [DedupeWindow.Entry] { [] }
}

/// The result of the memory lookups for a record; stored only for a match. With it the record can be folded again
/// without the earlier records.
package struct Recollection: Equatable, Sendable {
    package var partition: Int32
    package var offset: Int64
    package var answers: [UInt8]

    package init(partition: Int32, offset: Int64, answers: [UInt8]) {
        self.partition = partition
        self.offset = offset
        self.answers = answers
    }
}

/// Writes the answers of a memory: numbers in groups of seven bits, the lowest first; signed ones have their sign in
/// the lowest bit.
struct AnswerWriter {
    private(set) var bytes: [UInt8] = []

    mutating func add(_ number: Int64) {
        var rest = UInt64(bitPattern: (number << 1) ^ (number >> 63))
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    mutating func add(_ number: Int) { add(Int64(number)) }

    /// A 1 and the number, or a 0.
    mutating func add(optional number: Int64?) {
        add(number == nil ? 0 : 1)
        if let number { add(number) }
    }

    /// The length in bytes, then the text.
    mutating func add(_ text: String) {
        add(text.utf8.count)
        bytes.append(contentsOf: text.utf8)
    }

    /// A 1 and the text, or a 0.
    mutating func add(optional text: String?) {
        add(text == nil ? 0 : 1)
        if let text { add(text) }
    }
}

/// Reads the output of `AnswerWriter`; nil for truncated or invalid bytes.
struct AnswerReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func number() -> Int64? {
        var number: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 70, by: 7) {
            guard let byte = rest.popFirst() else { return nil }
            number |= UInt64(byte & 0x7F) << shift
            guard byte >= 0x80 else {
                return Int64(bitPattern: number >> 1) ^ -Int64(bitPattern: number & 1)
            }
        }
        return nil
    }

    /// An optional number; the outer optional is nil if it cannot be read.
    mutating func optionalNumber() -> Int64?? {
        switch number() {
        case 0: .some(nil)
        case 1: number().map { .some($0) }
        default: nil
        }
    }

    /// An optional text; the outer optional is nil if it cannot be read.
    mutating func optionalText() -> String?? {
        switch number() {
        case 0: .some(nil)
        case 1: text().map { .some($0) }
        default: nil
        }
    }

    mutating func text() -> String? {
        guard let count = number(), count >= 0, count <= rest.count else { return nil }
        defer { rest.removeFirst(Int(count)) }
        return String(decoding: rest.prefix(Int(count)), as: UTF8.self)
    }
}
