import Pipelines
import Streams

/// JSON with macros in its texts. A text that is one macro and nothing else becomes the value as it is:
/// a number stays one. Any other text stays a text.
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

    /// Whether the member or element is to be written at all.
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

    /// Carries a fault out of the bodies that `JSONText` calls.
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
