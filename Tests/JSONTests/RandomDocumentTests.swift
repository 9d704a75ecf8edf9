import Foundation
import JSON
import JSONComparison
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

    /// `WEIR_TEST_DOCUMENTS=10000000` tries so many.
    @Test(
        "damaged documents are refused where simdjson's own second stage refuses them, else have the same values"
    )
    func simdjson() throws {
        let environment = ProcessInfo.processInfo.environment["WEIR_TEST_DOCUMENTS"]
        let comparison = try #require(JSONComparison())
        var documents = RandomDocuments(random: SeededGenerator(seed: 3))
        var (accepted, refused) = (0, 0)
        for _ in 0..<(environment.flatMap { Int($0) } ?? 10_000) {
            var bytes = Array(documents.write(documents.tree()).utf8)
            for _ in 0..<Int.random(in: 0...3, using: &documents.random) {
                documents.damage(&bytes)
            }
            guard let (isAccepted, isSame) = comparison.compare(bytes) else { continue }
            #expect(isSame, "\(bytes)")
            if isAccepted { accepted += 1 } else { refused += 1 }
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
        let index = Int.random(in: 0..<bytes.count, using: &random)
        let byte = Self.bytes.randomElement(using: &random) ?? 0
        switch Int.random(in: 0..<6, using: &random) {
        case 0: bytes[index] = byte
        case 1: bytes.insert(byte, at: index)
        case 2: bytes.remove(at: index)
        case 3: bytes.removeSubrange(index...)
        case 4: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        default:
            let end = min(bytes.count, index + Int.random(in: 1...8, using: &random))
            bytes.insert(contentsOf: bytes[index..<end], at: index)
        }
    }
}
