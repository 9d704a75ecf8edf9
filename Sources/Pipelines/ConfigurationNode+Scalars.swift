import ConversionModels

extension ConfigurationNode {
    /// Any scalar, as it is written; quotes make no difference.
    func text(_ expected: String = "a text") throws(ConfigurationError) -> String {
        try checkTag()
        guard let text = scalarText else { throw wrongType(expected) }
        return text
    }

    /// A text that names something: 1 to 255 bytes without control characters.
    func name() throws(ConfigurationError) -> String {
        let text = try text("a name")
        let printable = text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
        guard printable, (1...255).contains(text.utf8.count) else {
            throw badValue("is no name: write 1 to 255 bytes without control characters")
        }
        return text
    }

    /// A text with its place, for another part to read.
    func positionedText(_ expected: String) throws(ConfigurationError) -> PositionedText {
        let text = try text(expected)
        guard !text.isEmpty else { throw badValue("is empty: write \(expected)") }
        return PositionedText(text: text, file: file, line: line, keyPath: path)
    }

    /// A scalar that is no text: quotes, or the tag of a text, would make it one.
    private func unquoted(_ expected: String) throws(ConfigurationError) -> String {
        let text = try text(expected)
        guard !isText else {
            throw fault(
                .wrongType,
                "must be \(expected), and here is the text '\(text)': remove the quotes or the tag")
        }
        return text
    }

    /// A whole number in plain digits.
    func integer(in range: ClosedRange<Int64>) throws(ConfigurationError) -> Int64 {
        _ = try unquoted("a whole number")
        return try identifier(in: range)
    }

    /// An id that is a whole number, quoted or not. A leading zero is refused: some readers of YAML
    /// take such a number for octal.
    func identifier(in range: ClosedRange<Int64>) throws(ConfigurationError) -> Int64 {
        let text = try text("a whole number")
        guard let number = try Self.integer(text, for: self) else {
            throw wrongType("a whole number in plain digits")
        }
        guard range.contains(number) else {
            throw badValue("is \(number): write \(range.words)")
        }
        return number
    }

    /// The key of a mapping as a whole number; `node` is its value, which knows the line.
    static func integerKey(
        _ key: String,
        in range: ClosedRange<Int64>,
        of node: ConfigurationNode
    ) throws(ConfigurationError) -> Int64 {
        guard let number = try integer(key, for: node) else {
            throw node.badValue("the key must be a whole number in plain digits")
        }
        guard range.contains(number) else {
            throw node.badValue("the key must be \(range.words)")
        }
        return number
    }

    func boolean() throws(ConfigurationError) -> Bool {
        switch try unquoted("true or false") {
        case "true": return true
        case "false": return false
        default: throw wrongType("true or false")
        }
    }

    /// An amount of money, in micros.
    func micros() throws(ConfigurationError) -> Int64 {
        let text = try unquoted("an amount")
        do {
            return try DecimalAmount.micros(text)
        } catch {
            throw error == .notADecimal
                ? wrongType("an amount in plain digits, as 4.99") : badValue(error.description)
        }
    }

    /// One word of a closed list.
    func word<Word: RawRepresentable<String> & CaseIterable>(
        _: Word.Type
    ) throws(ConfigurationError) -> Word {
        let text = try text("a word")
        guard let word = Word(rawValue: text) else {
            let known = Word.allCases.map(\.rawValue).joined(separator: ", ")
            throw badValue("is '\(text)': write one of \(known)")
        }
        return word
    }

    /// The id of an ad network: printable ASCII without spaces, lower-cased.
    func networkID() throws(ConfigurationError) -> String {
        try Self.networkID(text("the id of an ad network"), of: self)
    }

    /// The id of an ad network that is a key; `node` is its value, which knows the line.
    static func networkID(
        _ text: String,
        of node: ConfigurationNode
    ) throws(ConfigurationError) -> String {
        guard (1...255).contains(text.utf8.count),
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else {
            throw node.badValue("is no ad network: write its id, as example.skadnetwork")
        }
        return text.asciiLowercased
    }

    /// The App Store id of an app.
    func app() throws(ConfigurationError) -> Int64 { try identifier(in: 1...Int64.max) }

    private static func integer(
        _ text: String,
        for node: ConfigurationNode
    ) throws(ConfigurationError) -> Int64? {
        let digits = text.first == "-" ? text.dropFirst() : text[...]
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        guard digits.count == 1 || digits.first != "0" else {
            throw node.badValue("'\(text)' starts with 0: write the number without leading zeros")
        }
        guard let number = Int64(text) else {
            throw node.badValue("'\(text)' does not fit into 64 bits: write a smaller number")
        }
        return number
    }
}

extension ClosedRange<Int64> {
    fileprivate var words: String {
        upperBound == .max ? "\(lowerBound) or more" : "\(lowerBound) to \(upperBound)"
    }
}
