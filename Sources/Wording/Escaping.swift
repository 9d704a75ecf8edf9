// Texts that are safe on a terminal.

extension String {
    /// Escapes (`\u{202E}`, `\n`) control characters, line and paragraph separators, characters that change the
    /// direction of writing, and invisible ones. So no text from outside can break a line, move a terminal's cursor
    /// or imitate another text. For sentences: applying it twice has no further effect.
    package var withoutControls: String { escaped { $0.isDeceptive } }

    /// The same for a text on its own, such as a cell. Backslashes are doubled, so that no two texts look alike.
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

    /// JSON text with the same characters from U+007F on as JSON escapes. They can occur only inside strings, and a
    /// parser reads the same values.
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
