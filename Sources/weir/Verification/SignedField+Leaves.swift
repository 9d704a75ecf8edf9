import Attestation
import JSONReader
import Streams

extension SignedField {
    /// Every value of a document that is neither an object nor an array, by its path: `data.bundleId`,
    /// `items[0].id`. Objects and arrays without any are listed as such.
    ///
    /// It goes as deep as the parser lets documents be.
    static func leaves(of value: JSONValue, path: String = "") -> [SignedField] {
        var fields: [SignedField] = []
        switch value.kind {
        case .object:
            value.forEachMember { name, member in
                let name = String(decoding: name, as: UTF8.self)
                fields += leaves(of: member, path: path.isEmpty ? name : "\(path).\(name)")
            }
        case .array:
            for (index, element) in value.elements.enumerated() {
                fields += leaves(of: element, path: "\(path)[\(index)]")
            }
        case .string, .number, .boolean, .null: break
        }
        guard fields.isEmpty else { return fields }
        var json = JSONText()
        json.value(value)
        let text = value.string.map { String(decoding: $0, as: UTF8.self) }
        return [SignedField(name: path, value: text ?? json.text)]
    }
}
