extension String {
    /// Control characters, the ends of lines and paragraphs, and characters that turn the direction of
    /// writing around written as escapes (`\u{202E}`, `\n`), so that no text from outside breaks a line, moves a
    /// terminal's cursor or reads as something else.
    public var withoutControls: String {
        // In UTF-8 those beyond ASCII begin with 0xC2, 0xD8 or 0xE2.
        let isPlain = utf8.allSatisfy { byte in
            byte >= 0x20 && byte != 0x7F && byte != 0xC2 && byte != 0xD8 && byte != 0xE2
        }
        guard !isPlain else { return self }
        return unicodeScalars.reduce(into: "") { text, scalar in
            if scalar.isControl {
                text += scalar.escaped(asASCII: true)
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
    }
}

extension Unicode.Scalar {
    fileprivate var isControl: Bool {
        switch value {
        case 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: properties.generalCategory == .control
        }
    }
}
