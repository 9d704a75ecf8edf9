/// The bytes that Apple or a network signs: values joined with U+2063.
enum SignedText {
    /// Is told each signed field in order; the value is nil for a required field that is absent.
    typealias Visitor = (_ name: StaticString, _ value: SignedValue?) -> Void

    /// U+2063 INVISIBLE SEPARATOR in UTF-8.
    private static let separator: [UInt8] = [0xE2, 0x81, 0xA3]

    /// Appends the fields that `visit` names, joined.
    ///
    /// - Returns: false, with nothing appended, when a field is absent or contains the separator.
    static func append(to text: inout [UInt8], _ visit: (Visitor) -> Void) -> Bool {
        let start = text.count
        var isFirst = true
        var isComplete = true
        visit { _, value in
            guard isComplete, let value, !value.containsSeparator else {
                isComplete = false
                return
            }
            if !isFirst { text.append(contentsOf: separator) }
            value.append(to: &text)
            isFirst = false
        }
        if !isComplete { text.removeSubrange(start...) }
        return isComplete
    }

    /// The fields that `visit` names, for people to read.
    static func fields(_ visit: (Visitor) -> Void) -> [SignedField] {
        var fields: [SignedField] = []
        visit { name, value in
            var text: [UInt8] = []
            value?.append(to: &text)
            fields.append(
                SignedField(
                    name: name.description,
                    value: value == nil ? nil : String(decoding: text, as: UTF8.self)
                )
            )
        }
        return fields
    }
}
