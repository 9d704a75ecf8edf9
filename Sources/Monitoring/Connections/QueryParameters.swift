import JSON

/// The decoded parameters of a query or a form. The first value of a name counts.
package struct QueryParameters: Sendable, Equatable {
    private var values: [String: String] = [:]
    /// Names that occur more than once.
    package private(set) var repeated: Set<String> = []

    static let maxCount = 256

    /// Reads `name=value&name=value`. Nil if an escape is malformed, if bytes are not UTF-8, or beyond `maxCount`
    /// parameters.
    package init?(_ text: some StringProtocol) {
        guard !text.isEmpty else { return }
        for (count, pair) in text.utf8.split(separator: UInt8(ascii: "&")).enumerated() {
            guard count < Self.maxCount else { return nil }
            let equals = pair.firstIndex(of: UInt8(ascii: "="))
            let nameEnd = equals ?? pair.endIndex
            let valueStart = equals.map { pair.index(after: $0) } ?? pair.endIndex
            guard let name = Self.decoded(pair[..<nameEnd]),
                let value = Self.decoded(pair[valueStart...])
            else { return nil }
            if values[name] == nil { values[name] = value } else { repeated.insert(name) }
        }
    }

    package subscript(name: String) -> String? { values[name] }

    /// In bytewise order.
    package var names: [String] {
        values.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// Undoes percent-encoding. A plus is a space.
    static func decoded(_ text: some Collection<UInt8>) -> String? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var rest = text[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+"): bytes.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                guard let high = rest.popFirst()?.hexDigit, let low = rest.popFirst()?.hexDigit
                else { return nil }
                bytes.append(high << 4 | low)
            default: bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
