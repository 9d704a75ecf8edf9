import ConfigurationValues
import DatabaseFiles
import Foundation
import Yams

/// The files of a configuration on disk, in YAML.
package struct YAMLFiles: ConfigurationSource {
    package init() {}

    package func content(of file: String) throws(ConfigurationError) -> ConfigurationNode? {
        try Self.content(text(of: file), of: file)
    }

    package func names(in directory: String) -> [String]? {
        try? FileManager.default.contentsOfDirectory(atPath: directory)
    }

    package func isNamed(_ path: String) -> Bool {
        var found = stat()
        return lstat(path, &found) == 0
    }

    package func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    package func isDirectory(_ path: String) -> Bool {
        var isDirectory: ObjCBool = false
        return FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory)
            && isDirectory.boolValue
    }

    /// The root of a document with this text; nil if it has only comments.
    static func content(
        _ text: String, of file: String
    ) throws(ConfigurationError) -> ConfigurationNode? {
        do {
            return try Yams.compose(yaml: text, .default, .default, .utf8)
                .map { ConfigurationNode(file: file, root: YAMLSyntax(node: $0)) }
        } catch let error as YamlError {
            throw fault(error, in: file, text: text)
        } catch {
            throw ConfigurationError(kind: .syntax, file: file, explanation: "\(error)")
        }
    }

    /// Throws if it is not a regular file, not UTF-8 or too large.
    package func text(of file: String) throws(ConfigurationError) -> String {
        do throws(RegularFileError) {
            let text = try RegularFile.text(of: file)
            let scalars = text.unicodeScalars
            return scalars.first == "\u{FEFF}" ? String(scalars.dropFirst()) : text
        } catch {
            throw ConfigurationError(
                kind: .unreadable, file: file, explanation: error.description)
        }
    }

    /// The parser's message. Messages about its code become messages about the file.
    private static func explanation(_ problem: String) -> String {
        if problem.contains("nesting level") {
            return "lists or mappings are nested too deep"
        }
        if problem.contains("found another document") {
            return "a second document begins (---), but a file has one document"
        }
        return problem
    }

    private static func fault(
        _ error: YamlError, in file: String, text: String
    ) -> ConfigurationError {
        func syntax(_ line: Int?, _ problem: String) -> ConfigurationError {
            // If the text ends too early, the parser names the line after the last.
            let lastLine = text.count(where: \.isNewline) + 1
            return ConfigurationError(
                kind: .syntax, file: file, line: line.map { min($0, lastLine) },
                explanation: "not YAML: \(explanation(problem)); correct it here")
        }
        switch error {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            return syntax(mark.line, problem)
        case .reader(let problem, let offset, _, _):
            let line = offset.map { text.prefix($0).count(where: \.isNewline) + 1 }
            return syntax(line, problem)
        case .duplicatedKeysInMapping(let keys, _) where keys.contains("<uncovertable>"):
            // Yams' message for a duplicate key that is not a text. It cannot order such keys, so it has no line.
            return ConfigurationError(
                kind: .wrongType, file: file,
                explanation: "a key must be plain text, but two keys are lists or mappings")
        case .duplicatedKeysInMapping(let keys, let context):
            return ConfigurationNode.duplicate(
                keys.first ?? "", file: file, line: context.mark.line, path: keys.first ?? "")
        case .no, .memory, .writer, .emitter, .representer, .dataCouldNotBeDecoded:
            return syntax(nil, "\(error)")
        }
    }
}

/// A value from the parser.
private struct YAMLSyntax: ConfigurationSyntax {
    let node: Node

    var line: Int? { node.mark?.line }

    /// As written: the node's own tag is the parser's interpretation of the text.
    var tag: String {
        switch node {
        case .scalar(let scalar): scalar.tag.rawValue
        case .sequence(let sequence): sequence.tag.rawValue
        case .mapping(let mapping): mapping.tag.rawValue
        case .alias: ""
        }
    }

    var shape: ConfigurationShape {
        switch node {
        case .scalar(let scalar): .scalar(scalar.string, isPlain: scalar.style == .plain)
        case .sequence(let sequence): .list(sequence.map { YAMLSyntax(node: $0) })
        case .mapping(let mapping):
            .mapping(mapping.map { (YAMLSyntax(node: $0), YAMLSyntax(node: $1)) })
        // The parser replaces aliases by their targets.
        case .alias: .scalar("", isPlain: true)
        }
    }
}
