/// Why a document gives no request.
enum RenderingFault: Error, Equatable, CustomStringConvertible {
    /// A macro has no value, and its field says to wait.
    case held(field: String, macro: Macro)
    /// A value cannot stand where the template has it.
    case unusable(field: String, words: String)

    var description: String {
        switch self {
        case .held(let field, let macro): "\(field): {\(macro.rawValue)} has no value"
        case .unusable(let field, let words): "\(field): \(words)"
        }
    }
}
