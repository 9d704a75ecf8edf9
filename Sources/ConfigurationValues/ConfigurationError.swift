import Wording

/// A fault in a configuration file, its place and the remedy.
package struct ConfigurationError: OperatorError, Equatable, Sendable {
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
        /// The value has the right type but is not allowed.
        case badValue
    }

    package let kind: Kind
    /// The path: the directory as given, and the name in it.
    package let file: String
    /// From 1; nil if the fault has no line. A fault in a value has the line of its key or list element.
    package let line: Int?
    /// Keys and list indexes down to the fault, such as `trusted_keys.production[0]`; empty at the top.
    package let keyPath: String
    package let explanation: String

    package init(
        kind: Kind, file: String, line: Int? = nil, keyPath: String = "", explanation: String
    ) {
        self.kind = kind
        self.file = file
        self.line = line
        self.keyPath = keyPath
        self.explanation = explanation
    }

    /// One line: `pipelines/postbacks.yaml:7: trusted_keys.production[0]: what to do`.
    package var description: String {
        let location = line.map { "\(file):\($0)" } ?? file
        return [location, keyPath, explanation].filter { !$0.isEmpty }.joined(separator: ": ")
            .withoutControls
    }
}

/// A text of the configuration that another module parses, with its place for errors.
package struct PositionedText: Hashable, Sendable {
    /// As written.
    package let text: String
    /// The path: the directory as given, and the name in it.
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

    /// The error for this text; `explanation` contains the fault and the remedy.
    package func fault(_ explanation: String) -> ConfigurationError {
        ConfigurationError(
            kind: .badValue, file: file, line: line, keyPath: keyPath, explanation: explanation)
    }
}
