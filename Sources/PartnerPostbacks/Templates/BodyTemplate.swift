import Pipelines
import Streams

/// What is sent as the body.
enum BodyTemplate: Sendable {
    case none
    /// The document as the log has it.
    case document
    case json(JSONTemplate)
    case form([FieldTemplate])
    /// All macros that have a value, dots as underscores; Apple's JSON and lists of objects left out.
    case everything

    var contentType: String? {
        switch self {
        case .none: nil
        case .document, .json: "application/json"
        case .form, .everything: "application/x-www-form-urlencoded"
        }
    }

    func bytes(_ document: PostbackDocument) throws(RenderingFault) -> [UInt8]? {
        switch self {
        case .none: return nil
        case .document: return document.bytes
        case .json(let template):
            var json = JSONText()
            try template.write(document, to: &json)
            return Array(json.text.utf8)
        case .form(let fields):
            var pairs: [String] = []
            for field in fields {
                let encode = PercentEncoding.value
                guard let value = try field.value(document, encoded: encode, literals: encode)
                else { continue }
                pairs.append("\(encode(field.name))=\(value)")
            }
            return Array(pairs.joined(separator: "&").utf8)
        case .everything:
            let left: Set<Macro> = [.payload, .payloadBase64, .conversionEvents, .revenue]
            let pairs = Macro.allCases.filter { !left.contains($0) }.compactMap { macro in
                document.value(macro).map { value in
                    let name = macro.rawValue.split(separator: ".").joined(separator: "_")
                    return "\(name)=\(PercentEncoding.value(value.text))"
                }
            }
            return Array(pairs.joined(separator: "&").utf8)
        }
    }
}
