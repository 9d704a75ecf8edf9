import Foundation

/// Bytes as JSON: a text where they are UTF-8, else base64.
struct EvidenceBytes: Codable, Equatable {
    private var text: String?
    private var base64: String?

    init(_ bytes: UnsafeRawBufferPointer) {
        text = String(validating: bytes, as: UTF8.self)
        if text == nil { base64 = Data(bytes).base64EncodedString() }
    }

    init(_ bytes: [UInt8]) { self = bytes.withUnsafeBytes { EvidenceBytes($0) } }

    /// The bytes; nil for what is no base64.
    var bytes: [UInt8]? {
        if let text { return Array(text.utf8) }
        return base64.flatMap { Data(base64Encoded: $0) }.map { [UInt8]($0) }
    }
}
