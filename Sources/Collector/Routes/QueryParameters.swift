/// The parameters of a query or of a form, decoded: of those of one name the first counts.
package struct QueryParameters: Sendable, Equatable {
    private var values: [String: String] = [:]

    /// More of them are not read.
    package static let maxCount = 256

    /// No parameters.
    package init() {}

    /// Reads `name=value&name=value`; nil when an escape is none, when bytes are not UTF-8, or when
    /// there are more than `maxCount`.
    package init?(_ text: some StringProtocol) {
        for (count, pair) in text.utf8.split(separator: UInt8(ascii: "&")).enumerated() {
            guard count < Self.maxCount else { return nil }
            let equals = pair.firstIndex(of: UInt8(ascii: "="))
            let nameEnd = equals ?? pair.endIndex
            let valueStart = equals.map { pair.index(after: $0) } ?? pair.endIndex
            guard let name = Self.decoded(pair[..<nameEnd]),
                let value = Self.decoded(pair[valueStart...])
            else { return nil }
            if values[name] == nil { values[name] = value }
        }
    }

    /// The value of a parameter; nil when it is absent.
    package subscript(name: String) -> String? { values[name] }

    /// The names, in bytewise order.
    package var names: [String] {
        values.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// Undoes percent-encoding; a plus is a space.
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

extension UInt8 {
    /// The value of an ASCII hexadecimal digit; nil for other bytes.
    fileprivate var hexDigit: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
