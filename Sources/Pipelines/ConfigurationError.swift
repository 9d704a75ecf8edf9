/// What is wrong with a file of the pipelines directory, where, and what to do about it.
package struct ConfigurationError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The closed list of what can be wrong.
    package enum Kind: Equatable, Sendable {
        /// The directory, or a file that must be there, is not.
        case missingFile
        /// A YAML file has a name that nothing reads.
        case unknownFile
        /// The file cannot be read, is too large or is not UTF-8.
        case unreadable
        /// The file is not YAML.
        case syntax
        /// A key is not known here.
        case unknownKey
        /// A key is given twice in one mapping.
        case duplicateKey
        /// A key that must be there is not.
        case missingKey
        /// A value is of another type than its key asks for.
        case wrongType
        /// A value of the right type is not allowed.
        case badValue
    }

    /// What sort of fault it is.
    package let kind: Kind
    /// The file, as the directory was given and the name in it.
    package let file: String
    /// Line in the file, from 1; nil when the fault is not at a line. A fault in a value is at the
    /// line of its key, or of its list element.
    package let line: Int?
    /// Keys and list indexes down to the fault: `trusted_keys.production[0]`; empty at the top.
    package let keyPath: String
    /// What is wrong and what to do.
    package let words: String

    /// A fault in a file.
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
