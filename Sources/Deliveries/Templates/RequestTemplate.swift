import ConfigurationValues
import HTTPClient
import Store

/// The request that a partner's file describes. It is parsed once at start, so that a mistake is reported then.
package struct RequestTemplate: Sendable {
    let address: PartnerAddress
    private let method: Partner.Delivery.Method
    private let headers: [HeaderTemplate]
    private let body: BodyTemplate
    private let secrets: [String: Secret]

    /// Parses the templates with secrets masked; the secrets may be missing. Throws at the line of the mistake.
    package init(_ delivery: Partner.Delivery) throws(ConfigurationError) {
        try self.init(delivery, reading: .masked)
    }

    init(_ delivery: Partner.Delivery, reading: SecretReading) throws(ConfigurationError) {
        let secrets = try reading.secrets(delivery.secrets)
        self.secrets = secrets
        method = delivery.method
        let fields = FieldReading(rules: delivery.missing, secrets: secrets)
        let preset = try Self.presetFields(delivery, fields)
        let goesToAddress =
            delivery.body == Partner.Delivery.Body.none
            || (delivery.body == nil && delivery.method == .get)
        address = try PartnerAddress(
            delivery.url, fields, further: goesToAddress ? preset.map(\.asParameter) : [])
        headers = try delivery.headers.map { field throws(ConfigurationError) in
            try HeaderTemplate(field, fields, reading)
        }
        var names: Set<String> = []
        var bodyNames: [String] = []
        body =
            goesToAddress
            ? .none : try Self.body(delivery, preset: preset, fields, names: &bodyNames)
        for (header, field) in zip(headers, delivery.headers) {
            guard names.insert(header.name.lowercased()).inserted else {
                throw field.name.fault("is given twice with different case: keep one")
            }
        }
        let valid = Set(address.fieldNames + bodyNames + headers.map(\.name))
        for rule in delivery.missing.byField where !valid.contains(rule.name.text) {
            throw rule.name.fault(
                "names no field of this delivery: write one of \(valid.sorted().joined(separator: ", "))"
            )
        }
    }

    private static func presetFields(
        _ delivery: Partner.Delivery, _ reading: FieldReading
    ) throws(ConfigurationError) -> [FieldTemplate] {
        guard let preset = delivery.preset else { return [] }
        return try Preset.fields(preset).map { field throws(ConfigurationError) in
            try reading.field(
                field.name,
                PositionedText(
                    text: field.value, file: delivery.url.file, line: delivery.url.line,
                    keyPath: "delivery.preset"))
        }
    }

    private static func body(
        _ delivery: Partner.Delivery, preset: [FieldTemplate], _ reading: FieldReading,
        names: inout [String]
    ) throws(ConfigurationError) -> BodyTemplate {
        switch delivery.body {
        case .none?: return .none
        case nil where preset.isEmpty: return .document
        case .json? where preset.isEmpty: return .document
        case .form? where preset.isEmpty: return .everything
        case .json?:
            names = preset.map(\.name)
            return .json(.object(preset.map { ($0.name, .text($0)) }))
        case nil, .form?:
            names = preset.map(\.name)
            return .form(preset)
        case .jsonTemplate(let shape)?:
            let template = try JSONTemplate(shape, path: "", reading, names: &names)
            guard !preset.isEmpty, case .object(let members) = template else {
                return .json(template)
            }
            names += preset.map(\.name)
            let own = Set(members.map(\.name))
            let kept = preset.filter { !own.contains($0.name) }
            return .json(.object(kept.map { ($0.name, .text($0)) } + members))
        case .formTemplate(let fields)?:
            let own = try fields.map { field throws(ConfigurationError) in
                try reading.field(field.name.text, field.value)
            }
            names = preset.map(\.name) + own.map(\.name)
            let ownNames = Set(own.map(\.name))
            return .form(preset.filter { !ownNames.contains($0.name) } + own)
        }
    }

    func request(
        _ document: DeliveryDocument
    ) throws(RenderingFault) -> OutgoingRequest {
        var written: [OutgoingRequest.Header] = []
        for header in headers {
            switch header.value {
            case .secret(let secret):
                written.append(
                    .init(header.name, secret.text(encoded: { $0 }), isSecret: true))
            case .template(let field):
                guard let value = try field.value(document, encoded: { $0 }) else { continue }
                guard value.isHeaderValue else {
                    throw .unusable(
                        field: header.name, explanation: "the value has control characters")
                }
                written.append(
                    .init(header.name, value, isSecret: field.template.hasSecret))
            }
        }
        let names = headers.map { $0.name.lowercased() }
        if let type = body.contentType, !names.contains("content-type") {
            written.append(.init("Content-Type", type))
        }
        written.append(.init("Idempotency-Key", document.idempotencyKey))
        if !names.contains("user-agent") { written.append(.init("User-Agent", "Weir")) }
        return OutgoingRequest(
            method: method.rawValue, url: try address.url(document), headers: written,
            body: try body.bytes(document))
    }

    /// Replaces secrets of the partner in a text, plain or percent-encoded, by the mask.
    func masking(_ text: String) -> String {
        secretTexts.reduce(text) { text, secret in text.replacing(secret, with: Secret.mask) }
    }

    /// Longest first, because one secret may be part of another.
    private var secretTexts: [String] {
        let ofHeaders = headers.compactMap { header in
            if case .secret(let secret) = header.value { secret.value } else { nil }
        }
        return (secrets.values.compactMap(\.value) + ofHeaders)
            .flatMap { [$0, PercentEncoding.value($0)] }
            .sorted { ($0.utf8.count, $0) > ($1.utf8.count, $1) }
    }
}

extension FieldTemplate {
    /// The field as `name=value` in the address.
    fileprivate var asParameter: FieldTemplate {
        let value = encodingLiterals(PercentEncoding.value).template.pieces
        let start = TextTemplate.Piece.literal(PercentEncoding.value(name) + "=")
        return FieldTemplate(name: name, template: TextTemplate([start] + value), missing: missing)
    }

    func encodingLiterals(_ encode: (String) -> String) -> FieldTemplate {
        let pieces = template.pieces.map { piece in
            guard case .literal(let text) = piece else { return piece }
            return TextTemplate.Piece.literal(encode(text))
        }
        return FieldTemplate(name: name, template: TextTemplate(pieces), missing: missing)
    }
}

/// A configured header: a text with macros, or a secret.
struct HeaderTemplate: Sendable {
    enum Value: Sendable {
        case template(FieldTemplate)
        case secret(Secret)
    }

    let name: String
    let value: Value

    /// Headers that frame the request, or that Weir writes itself.
    private static let reserved: Set = [
        "host", "content-length", "transfer-encoding", "connection", "keep-alive", "te", "trailer",
        "upgrade", "expect", "proxy-authorization", "proxy-connection", "idempotency-key",
        "webhook-id", "webhook-timestamp", "webhook-signature",
    ]

    init(
        _ field: Partner.Delivery.Field<PositionedText>, _ fields: FieldReading,
        _ reading: SecretReading
    ) throws(ConfigurationError) {
        name = field.name.text
        guard name.isHeaderName else {
            throw field.name.fault("is not a header name: write letters, digits and dashes")
        }
        guard !Self.reserved.contains(name.lowercased()) else {
            throw field.name.fault("is a header that Weir writes itself: remove it")
        }
        guard field.value.text.isHeaderValue else {
            throw field.value.fault("has control characters, which headers must not contain")
        }
        if let secret = try reading.secret(field.value) {
            value = .secret(secret)
        } else {
            value = .template(try fields.field(name, field.value))
        }
    }
}

extension String {
    fileprivate var isHeaderName: Bool {
        !isEmpty
            && utf8.allSatisfy { $0.isASCIILetterOrDigit || "!#$%&'*+-.^_`|~".utf8.contains($0) }
    }

    /// Whether the text is a valid header value: no character in it ends the line.
    var isHeaderValue: Bool { utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } }
}

enum RenderingFault: Error, Equatable, CustomStringConvertible {
    /// A macro has no value, and its field is configured to hold the document.
    case held(field: String, macro: Macro)
    /// A value is not allowed at its place in the template.
    case unusable(field: String, explanation: String)

    var description: String {
        switch self {
        case .held(let field, let macro): "\(field): {\(macro.rawValue)} has no value"
        case .unusable(let field, let explanation): "\(field): \(explanation)"
        }
    }
}

extension OutgoingRequest {
    /// Adds the headers of a signature, which covers the time.
    mutating func sign(_ signature: String, key: String, timestampSeconds: Int64) {
        headers += [
            Header("webhook-id", key), Header("webhook-timestamp", "\(timestampSeconds)"),
            Header("webhook-signature", signature, isSecret: true),
        ]
    }
}
