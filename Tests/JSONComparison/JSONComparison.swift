import CSimdjsonDOM
import Foundation
import JSON

/// Weir's reader of documents beside simdjson's own second stage.
package struct JSONComparison {
    private let parser: JSONParser

    /// Nil when there is no memory.
    package init?() {
        guard let parser = JSONParser() else { return nil }
        self.parser = parser
    }

    /// Whether the document is accepted, and whether both say the same of it: both refuse it, or find the same values. Nil
    /// where they are meant to differ: in lone surrogates, which Debian's simdjson accepts, byte order marks, which newer
    /// ones skip, and integers beyond 64 bits, which all of them refuse.
    package func compare(_ bytes: [UInt8]) -> (isAccepted: Bool, isSame: Bool)? {
        let found = bytes.withUnsafeBytes { bytes in
            Result { () throws(JSONFault) in
                var description: [UInt8] = []
                Self.describe(try parser.parse(borrowing: bytes), to: &description)
                return description
            }
        }
        if case .failure(.malformed(let what)) = found, what.hasPrefix("a lone surrogate") {
            return nil
        }
        let digits = bytes.split { !(0x30...0x39).contains($0) }.map(\.count).max() ?? 0
        guard digits < 19, !bytes.starts(with: [0xEF, 0xBB, 0xBF]) else { return nil }
        let own = try? found.get()
        return (own != nil, own == Self.described(bytes))
    }

    /// As `simdjson_describe` describes a document; nil for one that it refuses.
    private static func described(_ bytes: [UInt8]) -> [UInt8]? {
        var count = 0
        guard let found = simdjson_describe(bytes, bytes.count, 64, &count) else { return nil }
        defer { free(found) }
        return Array(UnsafeBufferPointer(start: found, count: count))
    }

    /// The same of a document that Weir has read.
    private static func describe(_ value: JSONValue, to description: inout [UInt8]) {
        func word(_ tag: Unicode.Scalar, _ word: some BitwiseCopyable) {
            description.append(UInt8(ascii: tag))
            withUnsafeBytes(of: word) { description.append(contentsOf: $0) }
        }
        func text(_ text: UnsafeRawBufferPointer) {
            word("\"", UInt32(text.count))
            description.append(contentsOf: text)
        }
        switch value.kind {
        case .object:
            description.append(UInt8(ascii: "{"))
            value.forEachMember { name, value in
                text(name)
                describe(value, to: &description)
            }
            description.append(UInt8(ascii: "}"))
        case .array:
            description.append(UInt8(ascii: "["))
            for element in value.elements { describe(element, to: &description) }
            description.append(UInt8(ascii: "]"))
        case .string: if let string = value.string { text(string) }
        case .number:
            switch value.number {
            case .integer(let integer): word("l", integer)
            case .large(let integer): word("u", integer)
            case .double(let double): word("d", double)
            case nil: break
            }
        case .boolean: description.append(UInt8(ascii: value.boolean == true ? "t" : "f"))
        case .null: description.append(UInt8(ascii: "n"))
        }
    }
}
