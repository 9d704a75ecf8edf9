import JSONReader
import Streams

/// The document of a partner postback, read again.
package struct PostbackDocumentText {
    private let members: [(name: String, json: String)]
    /// Every value that is neither an object nor null, as JSON, by its path.
    private let leaves: [String: String]

    /// Members that say which document it is, and not what it says.
    private static let identifying: Set = ["id", "revision", "supersedes", "withdrawn", "campaign"]

    /// Reads a document.
    package init(_ text: String) throws(WorkerError) {
        guard let parser = JSONParser() else {
            throw .unexpected("no memory for a JSON parser")
        }
        var members: [(name: String, json: String)] = []
        var leaves: [String: String] = [:]
        let isRead = Array(text.utf8).withUnsafeBytes { bytes in
            guard let value = try? parser.parse(bytes), value.isObject else { return false }
            value.forEachMember { name, member in
                let name = String(decoding: name, as: UTF8.self)
                guard !Self.identifying.contains(name) else { return }
                members.append((name, Self.json(member)))
                Self.collect(member, path: name, into: &leaves)
            }
            return true
        }
        guard isRead else { throw .unexpected("a published document is not understood: \(text)") }
        self.members = members
        self.leaves = leaves
    }

    /// What follows the revision of a document that takes this one back: the same without a conversion.
    var withdrawn: String {
        ",\"withdrawn\":true"
            + members.map { name, json in
                ",\"\(name)\":\(name == "conversion" ? "null" : json)"
            }.joined() + "}"
    }

    /// A value by its path, as JSON; nil when it is null or not there.
    package subscript(path: String) -> String? { leaves[path] }

    /// Where two documents differ, in bytewise order of the paths; values as JSON.
    package static func differences(
        from old: PostbackDocumentText, to new: PostbackDocumentText
    ) -> [(path: String, from: String?, to: String?)] {
        Set(old.leaves.keys).union(new.leaves.keys)
            .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
            .filter { old.leaves[$0] != new.leaves[$0] }
            .map { ($0, old.leaves[$0], new.leaves[$0]) }
    }

    private static func json(_ value: JSONValue) -> String {
        var text = JSONText()
        text.value(value)
        return text.text
    }

    private static func collect(
        _ value: JSONValue, path: String, into leaves: inout [String: String]
    ) {
        guard value.isObject else {
            if !value.isNull { leaves[path] = json(value) }
            return
        }
        value.forEachMember { name, member in
            collect(member, path: "\(path).\(String(decoding: name, as: UTF8.self))", into: &leaves)
        }
    }
}
