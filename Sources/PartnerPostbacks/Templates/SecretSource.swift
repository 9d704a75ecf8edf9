import Foundation
import Pipelines

/// Where a secret is: `env:NAME` or `file:PATH`.
struct SecretSource: Sendable {
    private let source: PositionedText

    /// Nil for a text that names no secret.
    init?(_ source: PositionedText) {
        guard source.text.hasPrefix("env:") || source.text.hasPrefix("file:") else { return nil }
        self.source = source
    }

    /// The variable's value, or the file's first line. A path is relative to the pipelines directory.
    func read(directory: String) throws(ConfigurationError) -> String {
        let text = source.text
        if text.hasPrefix("env:") {
            let name = String(text.dropFirst("env:".count))
            guard let found = ProcessInfo.processInfo.environment[name], !found.isEmpty else {
                throw source.fault("names the variable \(name), which is not set: set it")
            }
            return try checked(found)
        }
        let lines = try Self.lines(
            of: String(text.dropFirst("file:".count)), directory: directory, source)
        return try checked(lines.first ?? "")
    }

    private func checked(_ secret: String) throws(ConfigurationError) -> String {
        guard !secret.isEmpty, secret.isHeaderValue else {
            throw source.fault("leads to no secret that a request can carry: mend what it names")
        }
        return secret
    }

    /// Lines of a file that are not empty.
    static func lines(
        of path: String, directory: String, _ source: PositionedText
    ) throws(ConfigurationError) -> [String] {
        let path = path.hasPrefix("/") ? path : "\(directory)/\(path)"
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            throw source.fault("names the file \(path), which cannot be read")
        }
        return text.split(whereSeparator: \.isNewline)
            .map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }
}
