import Foundation
import JSON
import TestKit
import Testing

/// A whole document in memory.
indirect enum JSONTree: Equatable {
    case null
    case boolean(Bool)
    case number(JSONNumber)
    case string(String)
    case array([JSONTree])
    case object([Member])

    struct Member: Equatable {
        var name: String
        var value: JSONTree
    }

    init(_ value: JSONValue) {
        switch value.kind {
        case .null: self = .null
        case .boolean: self = .boolean(value.boolean ?? false)
        case .number: self = .number(value.number ?? .integer(0))
        case .string: self = .string(Self.text(value.string))
        case .array: self = .array(value.elements.map { JSONTree($0) })
        case .object:
            var members: [Member] = []
            value.forEachMember { name, value in
                members.append(Member(name: Self.text(name), value: JSONTree(value)))
            }
            self = .object(members)
        }
    }

    private static func text(_ bytes: UnsafeRawBufferPointer?) -> String {
        bytes.map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}

/// Makes documents, and writes them down in one of the many ways that the grammar allows.
struct RandomDocuments {
    var random: SeededGenerator

    private static let texts = [
        "", "a", "ab", "version", "skadn", "né", "𝄞 clef", "\u{0}", "\"\\/", "\n\t\r", "\u{7F}",
        "日本", "\u{FEFF}", "\u{1F600}", "id", "\u{E9}", "e\u{301}",
    ]

    mutating func tree(depth: Int = 0) -> JSONTree {
        switch Int.random(in: 0..<(depth > 5 ? 5 : 9), using: &random) {
        case 0: return .null
        case 1: return .boolean(.random(using: &random))
        case 2, 3: return .number(number())
        case 4: return .string(text())
        case 5, 6: return .array((0..<count()).map { _ in tree(depth: depth + 1) })
        default:
            return .object(
                (0..<count()).map { _ in .init(name: text(), value: tree(depth: depth + 1)) })
        }
    }

    private mutating func count() -> Int { Int.random(in: 0...5, using: &random) }

    private mutating func text() -> String {
        (0..<Int.random(in: 0...3, using: &random))
            .map { _ in Self.texts.randomElement(using: &random) ?? "" }.joined()
    }

    private mutating func number() -> JSONNumber {
        switch Int.random(in: 0..<6, using: &random) {
        case 0: .integer(Int64.random(in: .min ... .max, using: &random))
        case 1: .integer(Int64.random(in: -100...100, using: &random))
        case 2: .large(UInt64.random(in: UInt64(Int64.max) + 1 ... .max, using: &random))
        case 3: .double(Double.random(in: -1...1, using: &random))
        case 4: .double(Double.random(in: 1e18...1e300, using: &random))
        default: .double(Double(Int.random(in: 0...9, using: &random)) / 8 + 0.0625)
        }
    }

    mutating func write(_ tree: JSONTree) -> String { blanks() + bare(tree) + blanks() }

    private mutating func bare(_ tree: JSONTree) -> String {
        switch tree {
        case .null: "null"
        case .boolean(let value): value ? "true" : "false"
        case .number(.integer(let value)): "\(value)"
        case .number(.large(let value)): "\(value)"
        case .number(.double(let value)): "\(value)"
        case .string(let value): quoted(value)
        case .array(let elements):
            "[" + (elements.isEmpty ? blanks() : list(elements.map { write($0) })) + "]"
        case .object(let members):
            "{"
                + (members.isEmpty
                    ? blanks()
                    : list(
                        members.map {
                            blanks() + quoted($0.name) + blanks() + ":" + write($0.value)
                        })) + "}"
        }
    }

    private func list(_ parts: [String]) -> String { parts.joined(separator: ",") }

    private mutating func blanks() -> String {
        guard Int.random(in: 0..<4, using: &random) == 0 else { return "" }
        return [" ", "\n", "\t", "\r", "  \n "].randomElement(using: &random) ?? ""
    }

    private mutating func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            let mustEscape = scalar.value < 0x20 || scalar == "\"" || scalar == "\\"
            if mustEscape || Int.random(in: 0..<4, using: &random) == 0 {
                quoted += escape(scalar)
            } else {
                quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }

    private mutating func escape(_ scalar: Unicode.Scalar) -> String {
        let short: [Unicode.Scalar: String] = [
            "\"": "\\\"", "\\": "\\\\", "/": "\\/", "\n": "\\n", "\r": "\\r", "\t": "\\t",
        ]
        if let text = short[scalar], Bool.random(using: &random) { return text }
        return Character(scalar).utf16.map { unit in
            let digits = String(unit, radix: 16, uppercase: .random(using: &random))
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }.joined()
    }
}

/// Parses bytes and gives the value, which lives as long as the parser, to `body`.
func withParsed<Result>(_ bytes: [UInt8], _ body: (JSONValue) throws -> Result) throws -> Result {
    let parser = try #require(JSONParser())
    return try withExtendedLifetime(parser) {
        try body(bytes.withUnsafeBytes { try parser.parse($0) })
    }
}

func withParsed<Result>(_ text: String, _ body: (JSONValue) throws -> Result) throws -> Result {
    try withParsed(Array(text.utf8), body)
}

/// Why the bytes are refused; nil when they are accepted.
func fault(of bytes: [UInt8]) throws -> JSONFault? {
    do {
        try withParsed(bytes) { _ in }
        return nil
    } catch let fault as JSONFault {
        return fault
    }
}

func fault(of text: String) throws -> JSONFault? { try fault(of: Array(text.utf8)) }

/// The number that a document consists of.
func number(_ text: String) throws -> JSONNumber? { try withParsed(text) { $0.number } }

extension JSONFault {
    /// The words of a malformed document, without the place.
    var explanation: String {
        guard case .malformed(let what) = self else { return "" }
        return what.components(separatedBy: " at byte ")[0]
    }
}
