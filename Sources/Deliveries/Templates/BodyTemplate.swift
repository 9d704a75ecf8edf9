import ConfigurationValues
import JSON
import Store
import Streams

enum BodyTemplate: Sendable {
    case none
    /// The document as stored in the log.
    case document
    case json(JSONTemplate)
    case form([FieldTemplate])
    /// All macros with a value, dots replaced by underscores, without Apple's JSON and lists of objects.
    case everything

    var contentType: String? {
        switch self {
        case .none: nil
        case .document, .json: "application/json"
        case .form, .everything: "application/x-www-form-urlencoded"
        }
    }

    func bytes(_ document: DeliveryDocument) throws(RenderingFault) -> [UInt8]? {
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

/// JSON with macros in its strings. A string that is exactly one macro becomes the value itself: a number stays a
/// number. Any other string stays a string.
indirect enum JSONTemplate: Equatable, Sendable {
    case text(FieldTemplate)
    case literal(String)
    case array([JSONTemplate])
    case object([(name: String, value: JSONTemplate)])

    static func == (one: JSONTemplate, other: JSONTemplate) -> Bool {
        switch (one, other) {
        case (.text(let one), .text(let other)): one == other
        case (.literal(let one), .literal(let other)): one == other
        case (.array(let one), .array(let other)): one == other
        case (.object(let one), .object(let other)):
            one.elementsEqual(other) { $0.name == $1.name && $0.value == $1.value }
        default: false
        }
    }

    /// Whether the member or element is written.
    private func isPresent(in document: DeliveryDocument) throws(RenderingFault) -> Bool {
        guard case .text(let field) = self, let macro = field.template.missing(in: document) else {
            return true
        }
        switch field.missing {
        case .empty: return true
        case .drop: return false
        case .hold: throw .held(field: field.name, macro: macro)
        }
    }

    func write(_ document: DeliveryDocument, to json: inout JSONText) throws(RenderingFault) {
        switch self {
        case .literal(let literal): json.raw(literal)
        case .text(let field):
            guard let macro = field.template.soleMacro else {
                return json.string(field.template.text(document) { $0 })
            }
            if let value = document.value(macro) {
                value.write(to: &json)
            } else {
                json.raw("null")
            }
        case .array(let elements):
            try json.array { json throws(RenderingFault) in
                for element in elements where try element.isPresent(in: document) {
                    try element.write(document, to: &json)
                }
            }
        case .object(let members):
            try json.object { json throws(RenderingFault) in
                for member in members where try member.value.isPresent(in: document) {
                    json.name(member.name)
                    try member.value.write(document, to: &json)
                }
            }
        }
    }
}

extension JSONTemplate {
    /// Parses a shape. Rules for missing values name a member by its path, such as `revenue.min`.
    init(
        _ shape: Partner.Delivery.JSONShape, path: String, _ reading: FieldReading,
        names: inout [String]
    ) throws(ConfigurationError) {
        switch shape {
        case .literal(let literal): self = .literal(literal)
        case .text(let text):
            names.append(path)
            self = .text(try reading.field(path, text))
        case .array(let elements):
            self = .array(
                try elements.map { element throws(ConfigurationError) in
                    try JSONTemplate(element, path: path, reading, names: &names)
                })
        case .object(let fields):
            self = .object(
                try fields.map { field throws(ConfigurationError) in
                    let name = field.name.text
                    let template = try JSONTemplate(
                        field.value, path: path.isEmpty ? name : "\(path).\(name)", reading,
                        names: &names)
                    return (name, template)
                })
        }
    }
}
