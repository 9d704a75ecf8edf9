import JSON
import Signatures

extension SignedField {
    /// The members of an object as they stand in it, but for names in `seen`; notes theirs there.
    package static func members(
        of object: JSONValue, notIn seen: inout Set<String>
    ) -> [SignedField] {
        var fields: [SignedField] = []
        object.forEachMember { name, member in
            let name = String(decoding: name, as: UTF8.self)
            guard seen.insert(name).inserted else { return }
            var json = JSONText()
            json.value(member)
            let text = member.string.map { String(decoding: $0, as: UTF8.self) }
            fields.append(SignedField(name: name, value: text ?? json.text))
        }
        return fields
    }
}
