import Foundation

/// How the parts of evidence are written and read: JSON with names in snake case, the same for the same
/// parts.
enum EvidenceCoding {
    static func encode(_ part: some Encodable, pretty: Bool = false) throws -> Data {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        if pretty { encoder.outputFormatting.insert(.prettyPrinted) }
        return try encoder.encode(part) + Data("\n".utf8)
    }

    static func decode<Part: Decodable>(_ part: Part.Type, _ bytes: Data) throws -> Part {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try decoder.decode(part, from: bytes)
    }

    /// Reads a part a line.
    static func lines<Part: Decodable>(_ part: Part.Type, _ bytes: Data) throws -> [Part] {
        try bytes.split(separator: UInt8(ascii: "\n")).map { try decode(part, Data($0)) }
    }
}
