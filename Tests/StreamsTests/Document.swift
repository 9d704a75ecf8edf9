import JSON
import Streams
import TestKit

/// A JSON document that tests write, alter and send: order, duplicates and the way in which numbers
/// are written are kept.
indirect enum Document: Equatable, Sendable {
    case null
    case boolean(Bool)
    /// A number, or anything else, word for word.
    case raw(String)
    case string(String)
    case array([Document])
    case object([Member])

    struct Member: Equatable, Sendable {
        var name: String
        var value: Document
    }

    init(_ value: JSONValue) {
        switch value.kind {
        case .null: self = .null
        case .boolean: self = .boolean(value.boolean ?? false)
        case .string: self = .string(value.string.map { String(decoding: $0, as: UTF8.self) } ?? "")
        case .number:
            let text = value.numberText.map { String(decoding: $0, as: UTF8.self) }
            self = .raw(text ?? "\(value.number?.double ?? 0)")
        case .array: self = .array(value.elements.map { Document($0) })
        case .object:
            var members: [Member] = []
            value.forEachMember { name, value in
                members.append(
                    Member(name: String(decoding: name, as: UTF8.self), value: Document(value)))
            }
            self = .object(members)
        }
    }

    init(text: some StringProtocol) throws {
        guard let parser = JSONParser() else { throw TestFault("no memory for a parser") }
        self = try Array(text.utf8).withUnsafeBytes { Document(try parser.parse($0)) }
    }

    var text: String {
        switch self {
        case .null: "null"
        case .boolean(let value): value ? "true" : "false"
        case .raw(let text): text
        case .string(let text): Self.quoted(text)
        case .array(let elements): "[" + elements.map(\.text).joined(separator: ",") + "]"
        case .object(let members):
            "{" + members.map { Self.quoted($0.name) + ":" + $0.value.text }.joined(separator: ",")
                + "}"
        }
    }

    private static func quoted(_ text: String) -> String {
        var json = JSONText()
        json.string(text)
        return json.text
    }

    /// The value at a path of names and places joined by dots; setting nil takes it away, and objects
    /// that are not there are made.
    subscript(path: String) -> Document? {
        get { self[path.split(separator: ".")[...]] }
        set { self[path.split(separator: ".")[...]] = newValue }
    }

    private subscript(path: ArraySlice<Substring>) -> Document? {
        get {
            guard let first = path.first else { return self }
            switch self {
            case .array(let elements):
                guard let index = Int(first), elements.indices.contains(index) else { return nil }
                return elements[index][path.dropFirst()]
            case .object(let members):
                return members.first { $0.name == first }?.value[path.dropFirst()]
            default: return nil
            }
        }
        set {
            guard let first = path.first else {
                self = newValue ?? .null
                return
            }
            let rest = path.dropFirst()
            switch self {
            case .array(var elements):
                guard let index = Int(first) else { return }
                if rest.isEmpty, newValue == nil {
                    elements.remove(at: index)
                } else if index == elements.count {
                    elements.append(newValue ?? .null)
                } else {
                    elements[index][rest] = newValue
                }
                self = .array(elements)
            default:
                var members = members
                if let index = members.firstIndex(where: { $0.name == first }) {
                    if rest.isEmpty, newValue == nil {
                        members.remove(at: index)
                    } else {
                        members[index].value[rest] = newValue
                    }
                } else if let newValue {
                    var value = Document.object([])
                    value[rest] = newValue
                    members.append(Member(name: String(first), value: value))
                }
                self = .object(members)
            }
        }
    }

    /// The members of an object; none for anything else.
    var members: [Member] {
        if case .object(let members) = self { members } else { [] }
    }

    /// The elements of an array; none for anything else.
    var elements: [Document] {
        if case .array(let elements) = self { elements } else { [] }
    }

    var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    var integer: Int64? {
        if case .raw(let text) = self { Int64(text) } else { nil }
    }

    /// The document with some values set, or taken away where nil.
    func with(_ changes: KeyValuePairs<String, Document?>) -> Document {
        var document = self
        for (path, value) in changes { document[path] = value }
        return document
    }
}

extension Document: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    init(stringLiteral value: String) { self = .string(value) }
    init(integerLiteral value: Int64) { self = .raw("\(value)") }
    init(floatLiteral value: Double) { self = .raw("\(value)") }
    init(booleanLiteral value: Bool) { self = .boolean(value) }
    init(arrayLiteral elements: Document...) { self = .array(elements) }
    init(dictionaryLiteral elements: (String, Document)...) {
        self = .object(elements.map { Member(name: $0.0, value: $0.1) })
    }
}
