import Pipelines

/// A header of the partner's file: a text with macros, or a secret.
struct HeaderTemplate: Sendable {
    enum Value: Sendable {
        case template(FieldTemplate)
        case secret(Secret)
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
        _ field: Partner.Delivery.Field<PositionedText>, rules: Partner.Delivery.MissingRules,
        secrets: [String: Secret], reading: SecretReading
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
        if let source = SecretSource(field.value) {
            value = .secret(try reading.secret(source))
        } else {
            value = .template(
                FieldTemplate(
                    name: name, template: try TextTemplate(field.value, secrets: secrets),
                    missing: rules.outcome(for: name)))
        }
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
