import DatabaseFiles
import Foundation
import Yams

/// Reads one YAML file.
enum ConfigurationFile {
    /// The root; an empty file is an empty mapping.
    static func read(_ file: String) throws(ConfigurationError) -> ConfigurationNode {
        try read(text(of: file), of: file)
    }

    /// The root of a file with this text; an empty one is an empty mapping.
    static func read(
        _ text: String, of file: String
    ) throws(ConfigurationError) -> ConfigurationNode {
        try content(text, of: file) ?? ConfigurationNode(file: file, root: Node([(Node, Node)]()))
    }

    /// The root; nil when the file has only comments.
    static func content(of file: String) throws(ConfigurationError) -> ConfigurationNode? {
        try content(text(of: file), of: file)
    }

    private static func content(
        _ text: String, of file: String
    ) throws(ConfigurationError) -> ConfigurationNode? {
        do {
            return try Yams.compose(yaml: text, .default, .default, .utf8)
                .map { ConfigurationNode(file: file, root: $0) }
        } catch let error as YamlError {
            throw fault(error, in: file, text: text)
        } catch {
            throw ConfigurationError(kind: .syntax, file: file, explanation: "\(error)")
        }
    }

    /// The text without a byte order mark. Throws when it is not a regular file, not UTF-8 or too large.
    static func text(of file: String) throws(ConfigurationError) -> String {
        do throws(RegularFileError) {
            let text = try RegularFile.text(of: file)
            let scalars = text.unicodeScalars
            return scalars.first == "\u{FEFF}" ? String(scalars.dropFirst()) : text
        } catch {
            throw ConfigurationError(
                kind: .unreadable, file: file, explanation: error.description)
        }
    }

    /// The parser's words. Those that describe its code are replaced by words about the file.
    private static func explanation(_ problem: String) -> String {
        if problem.contains("nesting level") {
            return "lists or mappings lie in one another too deep"
        }
        if problem.contains("found another document") {
            return "a second document begins (---), and there may be one"
        }
        return problem
    }

    private static func fault(
        _ error: YamlError, in file: String, text: String
    ) -> ConfigurationError {
        func syntax(_ line: Int?, _ problem: String) -> ConfigurationError {
            // Where the text ends too early, the parser names the line after the last.
            let lastLine = text.count(where: \.isNewline) + 1
            return ConfigurationError(
                kind: .syntax, file: file, line: line.map { min($0, lastLine) },
                explanation: "not YAML: \(explanation(problem)); mend it here")
        }
        switch error {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            return syntax(mark.line, problem)
        case .reader(let problem, let offset, _, _):
            let line = offset.map { text.prefix($0).count(where: \.isNewline) + 1 }
            return syntax(line, problem)
        case .duplicatedKeysInMapping(let keys, _) where keys.contains("<uncovertable>"):
            // Yams' word for a key without a text. Between such keys and others it knows no order, and so no line.
            return ConfigurationError(
                kind: .wrongType, file: file,
                explanation: "a key must be plain text, and a list or mapping is one, twice")
        case .duplicatedKeysInMapping(let keys, let context):
            return ConfigurationNode.duplicate(
                keys.first ?? "", file: file, line: context.mark.line, path: keys.first ?? "")
        case .no, .memory, .writer, .emitter, .representer, .dataCouldNotBeDecoded:
            return syntax(nil, "\(error)")
        }
    }
}
