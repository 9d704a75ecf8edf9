import Pipelines

/// Writes pieces of JSON text as bytes, where there are too many of them for a `String` each.
package enum JSONBytes {
    /// Appends text that is JSON already.
    package static func append(_ text: String, to json: inout [UInt8]) {
        json.append(contentsOf: text.utf8)
    }

    /// Appends a string with its quotes; `text` is UTF-8.
    package static func appendString(_ text: some Sequence<UInt8>, to json: inout [UInt8]) {
        json.append(UInt8(ascii: "\""))
        for byte in text {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                json.append(UInt8(ascii: "\\"))
                json.append(byte)
            case 0x0A: append("\\n", to: &json)
            case 0x0D: append("\\r", to: &json)
            case 0x09: append("\\t", to: &json)
            case 0..<0x20, 0x7F:
                append("\\u00\(byte < 16 ? "0" : "")\(String(byte, radix: 16))", to: &json)
            default: json.append(byte)
            }
        }
        json.append(UInt8(ascii: "\""))
    }

    /// JSON text for whoever reads it at a terminal: the same values, without characters that it would obey.
    package static func shown(_ json: [UInt8]) -> [UInt8] {
        guard json.contains(where: { $0 >= 0x7F }) else { return json }
        return Array(String(decoding: json, as: UTF8.self).withoutControlsInJSON.utf8)
    }
}
