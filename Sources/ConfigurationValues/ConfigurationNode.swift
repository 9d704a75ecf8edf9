import ConversionModels

/// A value of a document in its syntax; readers of the configuration interpret it.
///
/// Values are created on demand: a few lines of YAML can refer to one another so often that all values would fill the
/// memory.
package protocol ConfigurationSyntax {
    /// From 1; nil if unknown.
    var line: Int? { get }
    /// Empty without one.
    var tag: String { get }
    var shape: ConfigurationShape { get }
}

package enum ConfigurationShape {
    /// - isPlain: false if quotes or a block mark it as a text.
    case scalar(String, isPlain: Bool)
    case list([any ConfigurationSyntax])
    case mapping([(key: any ConfigurationSyntax, value: any ConfigurationSyntax)])
}

/// A value of a YAML file with its place for errors.
package struct ConfigurationNode {
    package let file: String
    /// The line of the key or list element, from 1.
    package let line: Int
    package let path: String
    private let value: any ConfigurationSyntax

    package init(file: String, root: any ConfigurationSyntax) {
        self.init(file: file, line: root.line ?? 1, path: "", value: root)
    }

    private init(file: String, line: Int, path: String, value: any ConfigurationSyntax) {
        self.file = file
        self.line = line
        self.path = path
        self.value = value
    }

    package func fault(_ kind: ConfigurationError.Kind, _ explanation: String) -> ConfigurationError
    {
        ConfigurationError(
            kind: kind, file: file, line: line, keyPath: path, explanation: explanation)
    }

    fileprivate func path(of key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }

    package func badValue(_ explanation: String) -> ConfigurationError {
        fault(.badValue, explanation)
    }

    package static func duplicate(
        _ key: String, file: String, line: Int, path: String
    ) -> ConfigurationError {
        ConfigurationError(
            kind: .duplicateKey, file: file, line: line, keyPath: path,
            explanation: "key '\(key)' occurs more than once, first here: keep one")
    }

    /// The pairs of a mapping with keys of the user's choice, in the order of the file.
    package func entries() throws(ConfigurationError) -> [(key: String, value: ConfigurationNode)] {
        guard case .mapping(let mapping) = value.shape else {
            throw wrongType("a mapping of keys")
        }
        try checkTag()
        var entries: [(key: String, value: ConfigurationNode)] = []
        var lines: [String: Int] = [:]
        for (keySyntax, valueSyntax) in mapping {
            guard case .scalar(let key, _) = keySyntax.shape else {
                throw fault(.wrongType, "a key must be plain text, but this is a list or mapping")
            }
            let keyLine = keySyntax.line ?? line
            let keyPath = path(of: key)
            // "1" and 1 are two keys to YAML but one to Weir.
            if let first = lines.updateValue(keyLine, forKey: key) {
                throw Self.duplicate(key, file: file, line: first, path: keyPath)
            }
            let value = ConfigurationNode(
                file: file, line: keyLine, path: keyPath, value: valueSyntax)
            entries.append((key, value))
        }
        return entries
    }

    /// A mapping with fixed keys. Throws for any other key.
    package func mapping(
        _ known: [String], declared: [ConfigurationKey] = []
    ) throws(ConfigurationError) -> ConfigurationMapping {
        var values: [String: ConfigurationNode] = [:]
        for (key, value) in try entries() {
            guard known.contains(key) else {
                throw value.fault(
                    .unknownKey, "unknown key; known here: \(known.joined(separator: ", "))")
            }
            values[key] = value
        }
        return ConfigurationMapping(node: self, declared: declared, values: values)
    }

    package func elements() throws(ConfigurationError) -> [ConfigurationNode] {
        guard case .list(let list) = value.shape else { throw wrongType("a list") }
        try checkTag()
        return list.enumerated().map { index, element in
            ConfigurationNode(
                file: file, line: element.line ?? line, path: "\(path)[\(index)]",
                value: element)
        }
    }

    /// The values of a list, each read by a method of its node.
    package func list<Value>(
        _ read: (ConfigurationNode) -> () throws(ConfigurationError) -> Value
    ) throws(ConfigurationError) -> [Value] {
        try elements().map { element throws(ConfigurationError) in try read(element)() }
    }

    package var isMapping: Bool {
        if case .mapping = value.shape { true } else { false }
    }

    package var isList: Bool {
        if case .list = value.shape { true } else { false }
    }

    /// The text of a scalar as written; nil for a list, a mapping or null.
    package var scalarText: String? {
        guard case .scalar(let text, let isPlain) = value.shape else { return nil }
        return isPlain && ["", "~", "null", "Null", "NULL"].contains(text) ? nil : text
    }

    /// Whether quotes, a block or a tag mark a scalar as a text.
    package var isText: Bool {
        guard case .scalar(_, let isPlain) = value.shape else { return false }
        return !isPlain || value.tag == Self.core + "str"
    }

    package func wrongType(_ expected: String) -> ConfigurationError {
        let found =
            switch value.shape {
            case .mapping: "a mapping"
            case .list: "a list"
            case .scalar: scalarText.map { "'\($0)'" } ?? "empty"
            }
        return fault(.wrongType, "must be \(expected), but is \(found)")
    }

    /// The fault of a model built from this node, at the line of the faulty value.
    package func fault(_ fault: ModelFault) -> ConfigurationError {
        let place = fault.path.reduce(self) { $0.step($1) }
        return place.badValue(fault.problem.description)
    }

    /// One step down. If the file has no such value, only the path grows.
    private func step(_ step: ModelFault.Step) -> ConfigurationNode {
        let (found, path): (ConfigurationNode?, String) =
            switch step {
            case .key(let key):
                ((try? entries())?.first { $0.key == key }?.value, self.path(of: key))
            case .index(let index):
                ((try? elements())?.dropFirst(index).first, "\(self.path)[\(index)]")
            }
        return found ?? ConfigurationNode(file: file, line: line, path: path, value: value)
    }

    /// Tags of the core types change nothing, because each key decides how its value is read. Other tags would change
    /// the meaning.
    func checkTag() throws(ConfigurationError) {
        let core = ["str", "int", "float", "bool", "null", "seq", "map", "timestamp", "merge"]
        let name = value.tag
        guard name.isEmpty || name == "!" || core.contains(where: { name == Self.core + $0 }) else {
            throw fault(.wrongType, "has the tag '\(name)': write the value without a tag")
        }
    }

    private static let core = "tag:yaml.org,2002:"
}

/// A mapping with fixed keys.
package struct ConfigurationMapping {
    package let node: ConfigurationNode
    /// The declarations of its keys, if they have any.
    let declared: [ConfigurationKey]
    fileprivate let values: [String: ConfigurationNode]

    package subscript(key: String) -> ConfigurationNode? { values[key] }

    package func required(_ key: String) throws(ConfigurationError) -> ConfigurationNode {
        guard let value = values[key] else {
            throw ConfigurationError(
                kind: .missingKey, file: node.file, line: node.line, keyPath: node.path(of: key),
                explanation: "is missing: add it")
        }
        return value
    }

    package func integer(
        _ key: String, in range: ClosedRange<Int64>, default absent: Int64
    ) throws(ConfigurationError) -> Int64 {
        try values[key]?.integer(in: range) ?? absent
    }

    package func boolean(_ key: String, default absent: Bool) throws(ConfigurationError) -> Bool {
        try values[key]?.boolean() ?? absent
    }
}

extension ConfigurationNode {
    /// Any scalar as written, quoted or not.
    package func text(_ expected: String = "a text") throws(ConfigurationError) -> String {
        try checkTag()
        guard let text = scalarText else { throw wrongType(expected) }
        return text
    }

    /// 1 to 255 bytes without control characters.
    package func name() throws(ConfigurationError) -> String {
        let text = try text("a name")
        let printable = text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
        guard printable, (1...255).contains(text.utf8.count) else {
            throw badValue("is not a name: write 1 to 255 bytes without control characters")
        }
        return text
    }

    /// A text with its place, for another module to parse.
    package func positionedText(_ expected: String) throws(ConfigurationError) -> PositionedText {
        let text = try text(expected)
        guard !text.isEmpty else { throw badValue("is empty: write \(expected)") }
        return PositionedText(text: text, file: file, line: line, keyPath: path)
    }

    /// A scalar that is not marked as a text.
    private func unquoted(_ expected: String) throws(ConfigurationError) -> String {
        let text = try text(expected)
        guard !isText else {
            throw fault(
                .wrongType,
                "must be \(expected), but is the text '\(text)': remove the quotes or the tag")
        }
        return text
    }

    package func integer(in range: ClosedRange<Int64>) throws(ConfigurationError) -> Int64 {
        _ = try unquoted("a whole number")
        return try identifier(in: range)
    }

    /// An id that is a whole number, quoted or not. Rejects a leading zero: some YAML readers treat such a number as
    /// octal.
    package func identifier(in range: ClosedRange<Int64>) throws(ConfigurationError) -> Int64 {
        let text = try text("a whole number")
        guard let number = try Self.integer(text, for: self) else {
            throw wrongType("a whole number in plain digits")
        }
        guard range.contains(number) else {
            throw badValue("is \(number): write \(range.explanation)")
        }
        return number
    }

    /// The key of a mapping as a whole number. `node` is its value, which has the line.
    package static func integerKey(
        _ key: String, in range: ClosedRange<Int64>, of node: ConfigurationNode
    ) throws(ConfigurationError) -> Int64 {
        guard let number = try integer(key, for: node) else {
            throw node.badValue("the key must be a whole number in plain digits")
        }
        guard range.contains(number) else {
            throw node.badValue("the key must be \(range.explanation)")
        }
        return number
    }

    package func boolean() throws(ConfigurationError) -> Bool {
        switch try unquoted("true or false") {
        case "true": return true
        case "false": return false
        default: throw wrongType("true or false")
        }
    }

    /// An amount of money in micros.
    package func micros() throws(ConfigurationError) -> Int64 {
        let text = try unquoted("an amount")
        do {
            return try DecimalAmount.micros(text)
        } catch {
            throw error == .notADecimal
                ? wrongType("an amount in plain digits, for example 4.99")
                : badValue(error.description)
        }
    }

    package func word<Word: RawRepresentable<String> & CaseIterable>(
        _: Word.Type
    ) throws(ConfigurationError) -> Word {
        let text = try text("a word")
        guard let word = Word(rawValue: text) else {
            let known = Word.allCases.map(\.rawValue).joined(separator: ", ")
            throw badValue("is '\(text)': write one of \(known)")
        }
        return word
    }

    /// The id of an ad network, in lower case: 1 to 255 printable ASCII characters without spaces.
    package func networkID() throws(ConfigurationError) -> String {
        try Self.networkID(text("the id of an ad network"), of: self)
    }

    /// The same for a key. `node` is its value, which has the line.
    package static func networkID(
        _ text: String, of node: ConfigurationNode
    ) throws(ConfigurationError) -> String {
        guard (1...255).contains(text.utf8.count),
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else {
            throw node.badValue(
                "is not an ad network: write its id, for example example.skadnetwork")
        }
        return text.asciiLowercased
    }

    package func app() throws(ConfigurationError) -> Int64 { try identifier(in: 1...Int64.max) }

    private static func integer(
        _ text: String, for node: ConfigurationNode
    ) throws(ConfigurationError) -> Int64? {
        let digits = text.first == "-" ? text.dropFirst() : text[...]
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        guard digits.count == 1 || digits.first != "0" else {
            throw node.badValue("'\(text)' starts with 0: write the number without leading zeros")
        }
        guard let number = Int64(text) else {
            throw node.badValue("'\(text)' does not fit in 64 bits: write a smaller number")
        }
        return number
    }
}

extension ClosedRange<Int64> {
    var explanation: String {
        upperBound == .max ? "\(lowerBound) or more" : "\(lowerBound) to \(upperBound)"
    }
}

extension String {
    /// With only the ASCII letters in lower case, as in the keys of aggregates.
    package var asciiLowercased: String {
        String(
            decoding: utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
    }
}
