/// What a macro stands for in one document.
enum MacroValue: Equatable, Sendable {
    /// A text.
    case text(String)
    /// A number, true or false, as JSON has it.
    case literal(String)
    /// A list of texts or numbers.
    case list([MacroValue])
    /// JSON of another kind.
    case json(String)

    /// As text, before it is encoded for its place.
    var text: String {
        switch self {
        case .text(let text), .literal(let text), .json(let text): text
        case .list(let elements): elements.map(\.text).joined(separator: ",")
        }
    }
}
