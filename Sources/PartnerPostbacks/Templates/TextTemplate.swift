import Pipelines

/// A text with macros: `{name}` stands for a value, `{secret.NAME}` for a secret of the partner, `{{` and `}}`
/// for braces.
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

    /// Reads a part of a text of the configuration; positions count from the text's own beginning.
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
                    "names {\(name)} at character \(position), which `secrets` does not have: add it there"
                )
            }
            return .secret(secret)
        }
        let nearest = Macro.nearest(to: name).map { "did you mean {\($0.rawValue)}?" }
        throw source.fault(
            "names {\(name)} at character \(position), which is no macro: \(nearest ?? "docs/partner-delivery.md lists them")"
        )
    }

    private static let secretPrefix = "secret."

    /// The only macro, when there is nothing else.
    var soleMacro: Macro? {
        guard pieces.count == 1, case .macro(let macro) = pieces[0] else { return nil }
        return macro
    }

    /// The macros, in their order.
    var macros: [Macro] {
        pieces.compactMap { if case .macro(let macro) = $0 { macro } else { nil } }
    }

    /// Whether a secret is in it.
    var hasSecret: Bool {
        pieces.contains { if case .secret = $0 { true } else { false } }
    }

    /// The first macro without a value in a document.
    func missing(in document: PostbackDocument) -> Macro? {
        macros.first { document.value($0) == nil }
    }

    /// The text with values in it, each encoded for its place; missing ones are empty.
    func text(
        _ document: PostbackDocument, encoded encode: (String) -> String,
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
