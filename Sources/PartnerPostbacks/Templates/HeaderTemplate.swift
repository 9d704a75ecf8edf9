import Foundation
import Pipelines

/// A header of the partner's file: a text with macros, or a secret.
struct HeaderTemplate: Sendable {
    enum Value: Sendable {
        case template(FieldTemplate)
        case secret(SecretSource)
    }

    let name: String
    let value: Value

    /// Headers that belong to the way a request is sent, or that Weir writes itself.
    private static let reserved: Set = [
        "host", "content-length", "transfer-encoding", "connection", "keep-alive", "te", "trailer",
        "upgrade", "expect", "proxy-authorization", "proxy-connection", "idempotency-key",
        "webhook-id", "webhook-timestamp", "webhook-signature",
    ]

    init(
        _ field: Partner.Delivery.Field<PositionedText>, rules: Partner.Delivery.MissingRules
    ) throws(ConfigurationError) {
        name = field.name.text
        guard name.isHeaderName else {
            throw field.name.fault("is no name of a header: write letters, digits and dashes")
        }
        guard !Self.reserved.contains(name.lowercased()) else {
            throw field.name.fault("is a header that Weir writes itself: remove it")
        }
        guard field.value.text.isHeaderValue else {
            throw field.value.fault("has control characters, which no header may have")
        }
        if let secret = SecretSource(field.value) {
            value = .secret(secret)
        } else {
            value = .template(
                FieldTemplate(
                    name: name, template: try TextTemplate(field.value),
                    missing: rules.outcome(for: name)))
        }
    }
}

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
            throw source.fault("leads to no secret that a header can carry: mend what it names")
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

extension String {
    fileprivate var isHeaderName: Bool {
        !isEmpty
            && utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x41...0x5A).contains($0)
                    || (0x61...0x7A).contains($0) || "!#$%&'*+-.^_`|~".utf8.contains($0)
            }
    }

    /// Whether a header can carry it: nothing in it ends the line.
    var isHeaderValue: Bool { utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } }
}
