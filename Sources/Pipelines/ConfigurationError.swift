/// What is wrong with a file of the configuration, where, and what to do.
package struct ConfigurationError: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Kind: Equatable, Sendable {
        /// The directory or a required file is missing.
        case missingFile
        case unknownFile
        case unreadable
        case syntax
        case unknownKey
        case duplicateKey
        case missingKey
        case wrongType
        /// A value has the right type and is not allowed.
        case badValue
    }

    package let kind: Kind
    /// The path: the directory as it was given, and the name in it.
    package let file: String
    /// From 1; nil when the fault has no line. A fault in a value has the line of its key or list
    /// element.
    package let line: Int?
    /// Keys and list indexes down to the fault, such as `trusted_keys.production[0]`; empty at the
    /// top.
    package let keyPath: String
    package let words: String

    package init(kind: Kind, file: String, line: Int? = nil, keyPath: String = "", words: String) {
        self.kind = kind
        self.file = file
        self.line = line
        self.keyPath = keyPath
        self.words = words
    }

    /// One line: `pipelines/postbacks.yaml:7: trusted_keys.production[0]: what to do`.
    package var description: String {
        let place = line.map { "\(file):\($0)" } ?? file
        return [place, keyPath, words].filter { !$0.isEmpty }.joined(separator: ": ")
            .withoutControls
    }
}

/// A text of the configuration that another module parses, with its place for errors.
package struct PositionedText: Hashable, Sendable {
    /// As it was written.
    package let text: String
    /// The path: the directory as it was given, and the name in it.
    package let file: String
    /// From 1.
    package let line: Int
    package let keyPath: String

    package init(text: String, file: String, line: Int, keyPath: String) {
        self.text = text
        self.file = file
        self.line = line
        self.keyPath = keyPath
    }

    /// The error for this text; `words` say what is wrong and what to do.
    package func fault(_ words: String) -> ConfigurationError {
        ConfigurationError(kind: .badValue, file: file, line: line, keyPath: keyPath, words: words)
    }
}

extension String {
    /// Escapes (`\u{202E}`, `\n`) control characters, line and paragraph separators, characters
    /// that change the direction of writing, and invisible ones. So no text from outside breaks a
    /// line, moves a terminal's cursor or reads as something else. For sentences: applied twice, it
    /// changes nothing more.
    package var withoutControls: String { escaped { $0.isDeceptive } }

    /// The same for a text that stands alone, such as a cell. Backslashes are doubled, so that no
    /// two texts look alike.
    package var escaped: String { escaped { $0 == "\\" || $0.isDeceptive } }

    private func escaped(_ isEscaped: (Unicode.Scalar) -> Bool) -> String {
        let backslash = UInt8(ascii: "\\")
        let isPlain = utf8.allSatisfy { (0x20..<0x7F).contains($0) && $0 != backslash }
        guard !isPlain else { return self }
        return unicodeScalars.reduce(into: "") { text, scalar in
            if isEscaped(scalar) {
                text += scalar.escaped(asASCII: true)
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
    }

    /// JSON text with the same characters from U+007F on as JSON escapes. They can stand only
    /// inside strings, and a parser reads the same values.
    package var withoutControlsInJSON: String {
        guard !utf8.allSatisfy({ $0 < 0x7F }) else { return self }
        return unicodeScalars.reduce(into: "") { text, scalar in
            guard scalar.value >= 0x7F, scalar.isDeceptive else {
                return text.unicodeScalars.append(scalar)
            }
            for unit in String(scalar).utf16 {
                let digits = String(unit, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
        }
    }
}

extension Unicode.Scalar {
    /// Whether a terminal obeys it or a person cannot see it.
    package var isDeceptive: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: properties.isDefaultIgnorableCodePoint
        }
    }
}
