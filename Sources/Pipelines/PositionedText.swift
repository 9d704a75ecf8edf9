/// A text of the configuration that another part reads further, with the place where it stands.
package struct PositionedText: Hashable, Sendable {
    /// The text, as it was written.
    package let text: String
    /// The file, as the directory was given and the name in it.
    package let file: String
    /// Line in the file, from 1.
    package let line: Int
    /// Keys and list indexes down to the text.
    package let keyPath: String

    /// A text and its place.
    package init(text: String, file: String, line: Int, keyPath: String) {
        self.text = text
        self.file = file
        self.line = line
        self.keyPath = keyPath
    }

    /// The error for a text that cannot be used; `words` say what is wrong and what to do.
    package func fault(_ words: String) -> ConfigurationError {
        ConfigurationError(
            kind: .badValue,
            file: file,
            line: line,
            keyPath: keyPath,
            words: words
        )
    }
}
