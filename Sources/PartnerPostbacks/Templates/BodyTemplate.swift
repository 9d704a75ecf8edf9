import Pipelines
import Streams

enum BodyTemplate: Sendable {
    case none
    /// The document as stored in the log.
    case document
    case json(JSONTemplate)
    case form([FieldTemplate])
    /// All macros with a value, dots replaced by underscores, without Apple's JSON and lists of
    /// objects.
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

/// JSON with macros in its strings. A string that is exactly one macro becomes the value itself: a
/// number stays a number. Any other string stays a string.
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
    private func isPresent(in document: PostbackDocument) throws(RenderingFault) -> Bool {
        guard case .text(let field) = self, let macro = field.template.missing(in: document) else {
            return true
        }
        switch field.missing {
        case .empty: return true
        case .drop: return false
        case .hold: throw .held(field: field.name, macro: macro)
        }
    }

    func write(_ document: PostbackDocument, to json: inout JSONText) throws(RenderingFault) {
        switch self {
        case .literal(let literal): json.raw(literal)
        case .text(let field): Self.write(field.template, document, to: &json)
        case .array(let elements):
            try Self.carry { fault in
                json.array { json in
                    fault = Self.fault {
                        () throws(RenderingFault) in
                        for element in elements where try element.isPresent(in: document) {
                            try element.write(document, to: &json)
                        }
                    }
                }
            }
        case .object(let members):
            try Self.carry { fault in
                json.object { json in
                    fault = Self.fault {
                        () throws(RenderingFault) in
                        for member in members where try member.value.isPresent(in: document) {
                            json.name(member.name)
                            try member.value.write(document, to: &json)
                        }
                    }
                }
            }
        }
    }

    /// `JSONText` calls bodies that cannot throw: the fault leaves them through a variable.
    private static func carry(
        _ body: (inout RenderingFault?) -> Void
    ) throws(RenderingFault) {
        var fault: RenderingFault?
        body(&fault)
        if let fault { throw fault }
    }

    private static func fault(_ body: () throws(RenderingFault) -> Void) -> RenderingFault? {
        do throws(RenderingFault) {
            try body()
            return nil
        } catch {
            return error
        }
    }

    private static func write(
        _ template: TextTemplate, _ document: PostbackDocument, to json: inout JSONText
    ) {
        guard let macro = template.soleMacro else {
            return json.string(template.text(document) { $0 })
        }
        write(document.value(macro), to: &json)
    }

    private static func write(_ value: MacroValue?, to json: inout JSONText) {
        switch value {
        case nil: json.raw("null")
        case .text(let text): json.string(text)
        case .literal(let text), .json(let text): json.raw(text)
        case .list(let elements):
            json.array { json in for element in elements { write(element, to: &json) } }
        }
    }
}
