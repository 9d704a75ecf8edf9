import CSimdjsonDOM
import Foundation
import JSON
import TestKit
import Testing

@Suite("Random documents")
struct RandomDocumentTests {
    @Test("whatever way a document is written, the same document is read")
    func roundTrip() throws {
        var documents = RandomDocuments(random: SeededGenerator(seed: 1))
        for _ in 0..<4_000 {
            let tree = documents.tree()
            let text = documents.write(tree)
            #expect(try withParsed(text) { JSONTree($0) } == tree, "\(text)")
        }
    }

    @Test("one parser reads documents of any length, one after the other")
    func reuse() throws {
        let parser = try #require(JSONParser())
        for length in [0, 1, 4095, 4096, 4097, 70_000, 3, 1_000_000, 10] {
            let text = Array(("[\"" + String(repeating: "x", count: length) + "\"]").utf8)
            let count = try text.withUnsafeBytes { bytes in
                try parser.parse(bytes).elements.map { $0.string?.count ?? -1 }
            }
            #expect(count == [length])
            #expect(throws: JSONFault.self) {
                try Array("[".utf8).withUnsafeBytes { _ = try parser.parse($0) }
            }
        }
    }

    /// Where the contract is stricter than RFC 8259, or Foundation reads other encodings as well.
    private func isStricter(_ fault: JSONFault?, _ bytes: [UInt8]) -> Bool {
        switch fault {
        case nil: false
        case .tooDeep: true
        case .invalidUTF8: bytes.contains(0)
        case .malformed(let what):
            what.hasPrefix("a lone surrogate") || what.hasPrefix("a number too large")
                || bytes.starts(with: [0xEF, 0xBB, 0xBF]) || bytes.contains(0)
        }
    }

    @Test("damaged documents never crash it, and are accepted where Foundation accepts them")
    func mutations() throws {
        var documents = RandomDocuments(random: SeededGenerator(seed: 2))
        var accepted = 0
        var refused = 0
        for _ in 0..<6_000 {
            var bytes = Array(documents.write(documents.tree()).utf8)
            for _ in 0..<Int.random(in: 1...3, using: &documents.random) {
                documents.damage(&bytes)
            }
            let fault = try fault(of: bytes)
            let isJSON =
                (try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed))
                != nil
            if fault == nil { accepted += 1 } else { refused += 1 }
            if isStricter(fault, bytes) { continue }
            #expect((fault == nil) == isJSON, "\(String(decoding: bytes, as: UTF8.self)) \(bytes)")
        }
        #expect(accepted > 500)
        #expect(refused > 500)
    }

    /// As `simdjson_describe` describes a document; nil for one that it refuses.
    private func described(_ bytes: [UInt8]) -> [UInt8]? {
        var count = 0
        guard let found = simdjson_describe(bytes, bytes.count, 64, &count) else { return nil }
        defer { free(found) }
        return Array(UnsafeBufferPointer(start: found, count: count))
    }

    /// The same of a document that Weir has read.
    private func describe(_ value: JSONValue, to description: inout [UInt8]) {
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

    /// Whether Weir and simdjson are meant to differ: in lone surrogates, which Debian's simdjson accepts, byte order
    /// marks, which newer ones skip, and integers beyond 64 bits, which all of them refuse.
    private func differs(_ bytes: [UInt8], _ fault: JSONFault?) -> Bool {
        if case .malformed(let what) = fault, what.hasPrefix("a lone surrogate") { return true }
        let digits = bytes.split { !(0x30...0x39).contains($0) }.map(\.count).max() ?? 0
        return digits >= 19 || bytes.starts(with: [0xEF, 0xBB, 0xBF])
    }

    /// `WEIR_TEST_DOCUMENTS=10000000` tries so many.
    @Test(
        "damaged documents are refused where simdjson's own second stage refuses them, else have the same values"
    )
    func simdjson() throws {
        let environment = ProcessInfo.processInfo.environment["WEIR_TEST_DOCUMENTS"]
        let parser = try #require(JSONParser())
        var documents = RandomDocuments(random: SeededGenerator(seed: 3))
        var (accepted, refused) = (0, 0)
        for _ in 0..<(environment.flatMap { Int($0) } ?? 10_000) {
            var bytes = Array(documents.write(documents.tree()).utf8)
            for _ in 0..<Int.random(in: 0...3, using: &documents.random) {
                documents.damage(&bytes)
            }
            var fault: JSONFault?
            var found: [UInt8]?
            do {
                found = try bytes.withUnsafeBytes { bytes in
                    var description: [UInt8] = []
                    describe(try parser.parse(borrowing: bytes), to: &description)
                    return description
                }
            } catch let error as JSONFault {
                fault = error
            }
            if differs(bytes, fault) { continue }
            #expect(found == described(bytes), "\(bytes)")
            if found == nil { refused += 1 } else { accepted += 1 }
        }
        #expect(accepted > 1000)
        #expect(refused > 1000)
    }
}

extension RandomDocuments {
    private static let bytes =
        Array("{}[]\",:\\/u0123456789eE+-. \ntfna".utf8) + [0, 0x80, 0xC3, 0xED, 0xEF, 0xFF]

    /// Changes, adds, drops, repeats or cuts off bytes.
    mutating func damage(_ bytes: inout [UInt8]) {
        guard !bytes.isEmpty else { return bytes.append(0x7B) }
        let place = Int.random(in: 0..<bytes.count, using: &random)
        let byte = Self.bytes.randomElement(using: &random) ?? 0
        switch Int.random(in: 0..<6, using: &random) {
        case 0: bytes[place] = byte
        case 1: bytes.insert(byte, at: place)
        case 2: bytes.remove(at: place)
        case 3: bytes.removeSubrange(place...)
        case 4: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        default:
            let end = min(bytes.count, place + Int.random(in: 1...8, using: &random))
            bytes.insert(contentsOf: bytes[place..<end], at: place)
        }
    }
}
