import JSONReader
import Streams

/// The parameters of a request, as text, whatever carried them. The first of several of one name
/// counts.
package struct ConversionParameters: Sendable {
    private var values: [String: String] = [:]

    /// Parameters of a query or a form, their escapes undone.
    package init(_ pairs: some Sequence<(name: String, value: String)>) {
        for (name, value) in pairs where values[name] == nil { values[name] = value }
    }

    /// Parameters of a JSON object: texts, numbers, booleans, and objects as their own JSON. Null is
    /// absent. Throws `malformed_json` and what else JSON can be refused for, and `wrong_type` when it
    /// is no object.
    package init(json bytes: [UInt8]) throws(Rejection) {
        guard let parser = JSONParser() else {
            throw Rejection(.tooLarge, "no memory to parse it")
        }
        var values: [String: String] = [:]
        let fault = bytes.withUnsafeBytes { bytes -> Rejection? in
            do throws(JSONFault) {
                let root = try parser.parse(bytes)
                guard root.isObject else { return Rejection(.wrongType, "the body is no object") }
                root.forEachMember { name, value in
                    let name = String(decoding: name, as: UTF8.self)
                    guard values[name] == nil, !value.isNull else { return }
                    values[name] = Self.text(value)
                }
                return nil
            } catch {
                return Rejection(error)
            }
        }
        if let fault { throw fault }
        self.values = values
    }

    /// These, and those of others that are not among them.
    package func filled(from others: ConversionParameters) -> ConversionParameters {
        var all = self
        all.values.merge(others.values) { own, _ in own }
        return all
    }

    private static func text(_ value: JSONValue) -> String {
        if let text = value.string { return String(decoding: text, as: UTF8.self) }
        var json = JSONText()
        json.value(value)
        return json.text
    }

    /// A value; nil when it is absent or empty.
    subscript(name: String) -> String? {
        guard let value = values[name], !value.isEmpty else { return nil }
        return value
    }

    /// Whether a parameter is there, be it empty.
    func has(_ name: String) -> Bool { values[name] != nil }
}
