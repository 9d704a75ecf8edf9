/// Why bytes are not a JSON document that Weir reads.
package enum JSONFault: Error, Equatable, Sendable {
    /// The bytes are not UTF-8 (RFC 3629), wherever in the document.
    case invalidUTF8
    /// Arrays and objects are nested deeper than `JSONParser.maxDepth`.
    case tooDeep
    /// Anything else: grammar, a number that neither 64 bits nor a finite double hold, a lone surrogate.
    case malformed(String)
}

extension JSONFault: CustomStringConvertible {
    /// What is wrong, in words.
    package var description: String {
        switch self {
        case .invalidUTF8: "it is not UTF-8"
        case .tooDeep: "it is nested deeper than \(JSONParser.maxDepth)"
        case .malformed(let words): words
        }
    }
}
