import ConfigurationValues
import HTTPClient

/// The address of a partner: a fixed scheme, host and port, then a path and parameters with macros. No value of a
/// postback can change where a request goes.
struct PartnerAddress: Equatable, Sendable {
    let isSecure: Bool
    /// Lower case; an IPv6 address without its brackets.
    let host: String
    let port: Int
    /// Scheme, host and port, as written before the path.
    let origin: String
    private let path: FieldTemplate
    private let parameters: [FieldTemplate]

    /// Field names for rules about missing values.
    var fieldNames: [String] { ["path"] + parameters.map(\.name) }

    init(
        _ source: PositionedText, _ reading: FieldReading, further: [FieldTemplate] = []
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
            throw source.fault(
                "has a fragment, which is never sent: remove # and the text after it")
        }
        let question = target.firstIndex(of: "?") ?? target.endIndex
        let pathText = target[..<question].isEmpty ? "/" : target[..<question]
        path = try reading.field("path", source, part: pathText)
            .encodingLiterals(PercentEncoding.literal)
        let query = target[question...].dropFirst()
        parameters =
            try query.split(separator: "&").map { pair throws(ConfigurationError) in
                let name = String(pair.prefix { $0 != "=" })
                let field = try reading.field(name, source, part: pair)
                guard !name.contains("{") else {
                    throw source.fault(
                        "has a macro in the name of a parameter, '\(name)': write a name")
                }
                return field.encodingLiterals(PercentEncoding.literal)
            } + further
    }

    func url(_ document: DeliveryDocument) throws(RenderingFault) -> String {
        if let macro = path.template.missing(in: document), path.missing != .empty {
            throw .held(field: path.name, macro: macro)
        }
        let path = path.template.text(document, encoded: PercentEncoding.value)
        guard !path.split(separator: "/").contains(where: { $0 == "." || $0 == ".." }) else {
            throw .unusable(
                field: "path", explanation: "a value of only dots would change the path")
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
                "has a macro in its host or port, so a postback could choose its receiver: write host and port without macros"
            )
        }
        guard !text.contains("@") else {
            throw source.fault(
                "has a name or password before the host: use a header, for example Authorization: file:PATH"
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
                "has the host '\(host)', which is an unusual form of an address: write it like 203.0.113.7"
            )
        }
    }

    private static func noHost(_ source: PositionedText) -> ConfigurationError {
        source.fault(
            "has no valid host: write a name of letters, digits, dots and dashes, or an address"
        )
    }
}

extension StringProtocol {
    fileprivate var isHostName: Bool {
        (1...253).contains(utf8.count)
            && split(separator: ".", omittingEmptySubsequences: false).allSatisfy { !$0.isEmpty }
            && utf8.allSatisfy { $0.isASCIILetterOrDigit || "-._".utf8.contains($0) }
    }

    /// Whether system libraries might treat the name as an IPv4 address: its last part is a number.
    fileprivate var looksNumeric: Bool {
        guard let last = split(separator: ".").last else { return true }
        return last.utf8.allSatisfy { (0x30...0x39).contains($0) } || last.hasPrefix("0x")
    }
}
