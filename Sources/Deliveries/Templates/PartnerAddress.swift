import ConfigurationFiles

/// The address of a partner: a fixed scheme, host and port, then a path and parameters with macros.
/// No value of a postback can change where a request goes.
struct PartnerAddress: Equatable, Sendable {
    let isSecure: Bool
    /// Lower case; an IPv6 address without its brackets.
    let host: String
    let port: Int
    /// Scheme, host and port, as written before the path.
    let origin: String
    private let path: TextTemplate
    private let pathMissing: Partner.Delivery.Missing
    private let parameters: [FieldTemplate]

    /// Field names that rules about missing values may use.
    var fieldNames: [String] { ["path"] + parameters.map(\.name) }

    init(
        _ source: PositionedText, rules: Partner.Delivery.MissingRules,
        secrets: [String: Secret], further: [FieldTemplate] = []
    ) throws(ConfigurationError) {
        let text = source.text[...]
        isSecure = text.prefix(8).lowercased() == "https://"
        let rest = text.dropFirst(isSecure ? 8 : 7)
        let end = rest.firstIndex { "/?#".contains($0) } ?? rest.endIndex
        let authority = try Authority(String(rest[..<end]), in: source)
        host = authority.host
        port = authority.port ?? (isSecure ? 443 : 80)
        let written = host.contains(":") ? "[\(host)]" : host
        origin =
            (isSecure ? "https://" : "http://") + written + (authority.port.map { ":\($0)" } ?? "")
        let target = rest[end...]
        guard !target.contains("#") else {
            throw source.fault("has a fragment, which is never sent: remove # and what follows")
        }
        let question = target.firstIndex(of: "?") ?? target.endIndex
        let pathText = target[..<question].isEmpty ? "/" : target[..<question]
        path = try Self.encodingLiterals(TextTemplate(source, part: pathText, secrets: secrets))
        pathMissing = rules.outcome(for: "path")
        parameters =
            try Self.parameters(target[question...].dropFirst(), source, rules, secrets) + further
    }

    private static func parameters(
        _ query: Substring, _ source: PositionedText, _ rules: Partner.Delivery.MissingRules,
        _ secrets: [String: Secret]
    ) throws(ConfigurationError) -> [FieldTemplate] {
        var fields: [FieldTemplate] = []
        for pair in query.split(separator: "&") {
            let template = try encodingLiterals(TextTemplate(source, part: pair, secrets: secrets))
            let name = String(pair.prefix { $0 != "=" })
            guard !name.contains("{") else {
                throw source.fault(
                    "has a macro in the name of a parameter, '\(name)': write a name")
            }
            fields.append(
                FieldTemplate(name: name, template: template, missing: rules.outcome(for: name)))
        }
        return fields
    }

    private static func encodingLiterals(_ template: TextTemplate) -> TextTemplate {
        TextTemplate(
            template.pieces.map { piece in
                guard case .literal(let text) = piece else { return piece }
                return .literal(PercentEncoding.literal(text))
            })
    }

    func url(_ document: DeliveryDocument) throws(RenderingFault) -> String {
        if let macro = path.missing(in: document), pathMissing != .empty {
            throw .held(field: "path", macro: macro)
        }
        let path = path.text(document, encoded: PercentEncoding.value)
        guard !path.split(separator: "/").contains(where: { $0 == "." || $0 == ".." }) else {
            throw .unusable(
                field: "path", explanation: "a value of dots alone would lead elsewhere")
        }
        var pairs: [String] = []
        for parameter in parameters {
            guard let pair = try parameter.value(document, encoded: PercentEncoding.value)
            else { continue }
            pairs.append(pair)
        }
        return origin + path + (pairs.isEmpty ? "" : "?" + pairs.joined(separator: "&"))
    }
}

private struct Authority {
    let host: String
    let port: Int?

    init(_ text: String, in source: PositionedText) throws(ConfigurationError) {
        guard !text.contains("{"), !text.contains("}") else {
            throw source.fault(
                "has a macro in its host or port, so that a postback could say where it goes: write them out"
            )
        }
        guard !text.contains("@") else {
            throw source.fault(
                "has a name or password before the host: give a header, as Authorization: file:PATH"
            )
        }
        let host: Substring
        let port: Substring?
        if text.hasPrefix("["), let end = text.firstIndex(of: "]") {
            host = text[text.index(after: text.startIndex)..<end]
            let rest = text[text.index(after: end)...]
            guard rest.isEmpty || rest.first == ":" else { throw Self.noHost(source) }
            port = rest.isEmpty ? nil : rest.dropFirst()
            guard IPAddress(String(host)) != nil else { throw Self.noHost(source) }
        } else {
            let colon = text.firstIndex(of: ":")
            host = text[..<(colon ?? text.endIndex)]
            port = colon.map { text[text.index(after: $0)...] }
            guard host.isHostName else { throw Self.noHost(source) }
        }
        self.host = host.lowercased()
        self.port = try port.map { port throws(ConfigurationError) in
            guard let number = Int(port), (1...65_535).contains(number),
                port.utf8.allSatisfy({ (0x30...0x39).contains($0) })
            else { throw source.fault("has the port '\(port)': write 1 to 65535") }
            return number
        }
        guard !self.host.looksNumeric || IPAddress(self.host) != nil else {
            throw source.fault(
                "has the host '\(host)', another way to write an address: write it as 203.0.113.7")
        }
    }

    private static func noHost(_ source: PositionedText) -> ConfigurationError {
        source.fault(
            "has no host that can be asked: write a name in letters, digits, dots and dashes, or an address"
        )
    }
}

extension StringProtocol {
    fileprivate var isHostName: Bool {
        (1...253).contains(utf8.count)
            && split(separator: ".", omittingEmptySubsequences: false).allSatisfy { !$0.isEmpty }
            && utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x41...0x5A).contains($0)
                    || (0x61...0x7A).contains($0) || [0x2D, 0x2E, 0x5F].contains($0)
            }
    }

    /// Whether system libraries might take the name for an IPv4 address: its last part is a number.
    fileprivate var looksNumeric: Bool {
        guard let last = split(separator: ".").last else { return true }
        return last.utf8.allSatisfy { (0x30...0x39).contains($0) } || last.hasPrefix("0x")
    }
}

extension Partner.Delivery.MissingRules {
    func outcome(for field: String) -> Partner.Delivery.Missing {
        byField.first { $0.name.text == field }?.value ?? byDefault
    }
}
