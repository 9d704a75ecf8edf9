import Foundation
import JSONReader
import Testing

/// Parses bytes and gives the value, which lives as long as the parser, to `body`.
func withParsed<Result>(
    _ bytes: [UInt8], _ body: (JSONValue) throws -> Result
) throws -> Result {
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
    var words: String {
        guard case .malformed(let what) = self else { return "" }
        return what.components(separatedBy: " at byte ")[0]
    }
}
