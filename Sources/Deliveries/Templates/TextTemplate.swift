import ConfigurationValues
import Store
import Streams

/// A text with macros: `{name}` is a value of the document, `{secret.NAME}` a secret of the partner; `{{` and `}}`
/// are braces.
struct TextTemplate: Equatable, Sendable {
    enum Piece: Equatable, Sendable {
        case literal(String)
        case macro(Macro)
        case secret(Secret)
    }

    let pieces: [Piece]

    init(_ pieces: [Piece]) {
        self.pieces = pieces
    }

    /// Parses `part` of a configured text. Positions in errors count from the start of the whole text.
    init(
        _ source: PositionedText, part: Substring? = nil, secrets: [String: Secret]
    ) throws(ConfigurationError) {
        let part = part ?? source.text[...]
        var pieces: [Piece] = []
        var literal = ""
        var rest = part
        while let character = rest.popFirst() {
            let position = source.text.distance(
                from: source.text.startIndex, to: rest.startIndex)
            guard character == "{" || character == "}" else {
                literal.append(character)
                continue
            }
            if rest.first == character {
                rest.removeFirst()
                literal.append(character)
                continue
            }
            guard character == "{", let end = rest.firstIndex(of: "}") else {
                throw source.fault(
                    "has a lone \(character) at character \(position): write \(character)\(character) for the brace itself, or {name} for a macro"
                )
            }
            let name = String(rest[..<end])
            let piece = try Self.piece(name, secrets, in: source, position: position)
            rest = rest[rest.index(after: end)...]
            if !literal.isEmpty { pieces.append(.literal(literal)) }
            literal = ""
            pieces.append(piece)
        }
        if !literal.isEmpty { pieces.append(.literal(literal)) }
        self.pieces = pieces
    }

    private static func piece(
        _ name: String, _ secrets: [String: Secret], in source: PositionedText, position: Int
    ) throws(ConfigurationError) -> Piece {
        if let macro = Macro(rawValue: name) { return .macro(macro) }
        if name.hasPrefix(secretPrefix) {
            guard let secret = secrets[String(name.dropFirst(secretPrefix.count))] else {
                throw source.fault(
                    "names {\(name)} at character \(position), which is not in `secrets`: add it there"
                )
            }
            return .secret(secret)
        }
        let nearest = Macro.nearest(to: name).map { "did you mean {\($0.rawValue)}?" }
        throw source.fault(
            "names {\(name)} at character \(position), which is not a macro: \(nearest ?? "see the list in docs/reference/partner-delivery.md")"
        )
    }

    private static let secretPrefix = "secret."

    /// The macro, if the text consists of nothing else.
    var soleMacro: Macro? {
        guard pieces.count == 1, case .macro(let macro) = pieces[0] else { return nil }
        return macro
    }

    var hasSecret: Bool {
        pieces.contains { if case .secret = $0 { true } else { false } }
    }

    /// The first macro without a value in a document.
    func missing(in document: DeliveryDocument) -> Macro? {
        for case .macro(let macro) in pieces where document.value(macro) == nil { return macro }
        return nil
    }

    /// The text, with each value encoded for its place. Missing values are empty.
    func text(
        _ document: DeliveryDocument, encoded encode: (String) -> String,
        literals: (String) -> String = { $0 }
    ) -> String {
        pieces.reduce(into: "") { text, piece in
            switch piece {
            case .literal(let literal): text += literals(literal)
            case .secret(let secret): text += secret.text(encoded: encode)
            case .macro(let macro): text += document.value(macro).map { encode($0.text) } ?? ""
            }
        }
    }
}

/// A text with a name: a parameter of the address or of a form, or a header.
struct FieldTemplate: Equatable, Sendable {
    let name: String
    let template: TextTemplate
    let missing: Partner.Delivery.Missing

    /// The value, with macros encoded by `encode` and literal text by `literals`; nil if the field is omitted.
    func value(
        _ document: DeliveryDocument, encoded encode: (String) -> String,
        literals: (String) -> String = { $0 }
    ) throws(RenderingFault) -> String? {
        if let macro = template.missing(in: document) {
            switch missing {
            case .empty: break
            case .drop: return nil
            case .hold: throw .held(field: name, macro: macro)
            }
        }
        return template.text(document, encoded: encode, literals: literals)
    }
}

/// The partner's secrets and rules for missing values, which are needed to read fields.
struct FieldReading {
    let rules: Partner.Delivery.MissingRules
    let secrets: [String: Secret]

    /// A field of `text`, or of a part of it.
    func field(
        _ name: String, _ text: PositionedText, part: Substring? = nil
    ) throws(ConfigurationError) -> FieldTemplate {
        FieldTemplate(
            name: name, template: try TextTemplate(text, part: part, secrets: secrets),
            missing: outcome(for: name))
    }

    func outcome(for field: String) -> Partner.Delivery.Missing {
        rules.byField.first { $0.name.text == field }?.value ?? rules.byDefault
    }
}

/// Percent-encoding of RFC 3986.
enum PercentEncoding {
    /// Encodes everything except unreserved characters, so that a value cannot leave its place.
    static func value(_ text: String) -> String {
        encode(text) { isUnreserved($0) }
    }

    /// Encodes text of a configured address: only characters that addresses must not contain. `%` stays.
    static func literal(_ text: String) -> String {
        encode(text) { isUnreserved($0) || "!$&'()*+,;=:@/?[]%".utf8.contains($0) }
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        byte.isASCIILetterOrDigit || "-._~".utf8.contains(byte)
    }

    private static func encode(_ text: String, keeping isKept: (UInt8) -> Bool) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        let digits = Array("0123456789ABCDEF".utf8)
        for byte in text.utf8 {
            if isKept(byte) {
                bytes.append(byte)
            } else {
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
