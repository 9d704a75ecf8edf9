import Pipelines

/// A text under a name: a parameter of the address, of a form, or a header.
struct FieldTemplate: Equatable, Sendable {
    let name: String
    let template: TextTemplate
    let missing: Partner.Delivery.Missing

    /// The value with its macros encoded, and what stands between them by `literals`; nil when the field is
    /// left out.
    func value(
        _ document: PostbackDocument, encoded encode: (String) -> String,
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
