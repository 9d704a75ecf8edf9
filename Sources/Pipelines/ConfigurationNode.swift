import ConversionModels
import Yams

/// A value of a YAML file, with its file, line and key path for errors.
struct ConfigurationNode {
    let file: String
    /// The line of the value's key or list element, from 1.
    let line: Int
    let path: String
    private let node: Node

    init(file: String, root: Node) {
        self.init(file: file, line: root.mark?.line ?? 1, path: "", node: root)
    }

    private init(file: String, line: Int, path: String, node: Node) {
        self.file = file
        self.line = line
        self.path = path
        self.node = node
    }

    func fault(_ kind: ConfigurationError.Kind, _ words: String) -> ConfigurationError {
        ConfigurationError(kind: kind, file: file, line: line, keyPath: path, words: words)
    }

    func badValue(_ words: String) -> ConfigurationError { fault(.badValue, words) }

    static func duplicate(
        _ key: String,
        file: String,
        line: Int,
        path: String
    ) -> ConfigurationError {
        ConfigurationError(
            kind: .duplicateKey,
            file: file,
            line: line,
            keyPath: path,
            words: "key '\(key)' is given more than once, first here: keep one"
        )
    }

    /// The pairs of a mapping whose keys are the user's own, in the order of the file.
    func entries() throws(ConfigurationError) -> [(key: String, value: ConfigurationNode)] {
        guard case .mapping(let mapping) = node else { throw wrongType("a mapping of keys") }
        try checkTag(mapping.tag)
        var entries: [(key: String, value: ConfigurationNode)] = []
        var lines: [String: Int] = [:]
        for (keyNode, valueNode) in mapping {
            guard case .scalar(let scalar) = keyNode else {
                throw fault(.wrongType, "a key must be plain text, and here is a list or mapping")
            }
            let key = scalar.string
            let keyLine = scalar.mark?.line ?? line
            let keyPath = path.isEmpty ? key : "\(path).\(key)"
            // Quoted and unquoted, as "1" and 1, are two keys to YAML and one to us.
            if let first = lines.updateValue(keyLine, forKey: key) {
                throw Self.duplicate(key, file: file, line: first, path: keyPath)
            }
            let value = ConfigurationNode(
                file: file,
                line: keyLine,
                path: keyPath,
                node: valueNode
            )
            entries.append((key, value))
        }
        return entries
    }

    /// A mapping whose keys are ours.
    func mapping(
        _ known: [String]
    ) throws(ConfigurationError) -> ConfigurationMapping {
        var values: [String: ConfigurationNode] = [:]
        for (key, value) in try entries() {
            guard known.contains(key) else {
                throw value.fault(
                    .unknownKey,
                    "unknown key; known here: \(known.joined(separator: ", "))"
                )
            }
            values[key] = value
        }
        return ConfigurationMapping(node: self, values: values)
    }

    /// The elements of a list.
    func elements() throws(ConfigurationError) -> [ConfigurationNode] {
        guard case .sequence(let sequence) = node else { throw wrongType("a list") }
        try checkTag(sequence.tag)
        return sequence.enumerated().map { index, element in
            ConfigurationNode(
                file: file,
                line: element.mark?.line ?? line,
                path: "\(path)[\(index)]",
                node: element
            )
        }
    }

    var isMapping: Bool {
        if case .mapping = node { true } else { false }
    }

    var isList: Bool {
        if case .sequence = node { true } else { false }
    }

    /// The text of a scalar as it is written; nil when it is a list or mapping, or nothing.
    var scalarText: String? {
        guard case .scalar(let scalar) = node else { return nil }
        let isNothing =
            scalar.style == .plain && ["", "~", "null", "Null", "NULL"].contains(scalar.string)
        return isNothing ? nil : scalar.string
    }

    /// Whether a scalar is marked as a text, by quotes, as a block or by its tag.
    var isText: Bool {
        guard case .scalar(let scalar) = node else { return false }
        return ![.plain, .any].contains(scalar.style) || scalar.tag.rawValue == Self.core + "str"
    }

    func checkTag() throws(ConfigurationError) {
        if case .scalar(let scalar) = node { try checkTag(scalar.tag) }
    }

    func wrongType(_ expected: String) -> ConfigurationError {
        let found =
            switch node {
            case .mapping: "a mapping"
            case .sequence: "a list"
            case .scalar, .alias: scalarText.map { "'\($0)'" } ?? "nothing"
            }
        return fault(.wrongType, "must be \(expected), and here is \(found)")
    }

    /// The fault of a model that was made from this node, at the line that it is about.
    func fault(_ fault: ModelFault) -> ConfigurationError {
        let place = fault.path.reduce(self) { $0.step($1) }
        return place.badValue(fault.problem.description)
    }

    /// One step down; where the file has nothing there, only the path goes on.
    private func step(_ step: ModelFault.Step) -> ConfigurationNode {
        let found: ConfigurationNode?
        let path: String
        switch step {
        case .key(let key):
            found = (try? entries())?.first { $0.key == key }?.value
            path = self.path.isEmpty ? key : "\(self.path).\(key)"
        case .index(let index):
            found = (try? elements())?.dropFirst(index).first
            path = "\(self.path)[\(index)]"
        }
        return found ?? ConfigurationNode(file: file, line: line, path: path, node: node)
    }

    /// Tags of the core types change nothing, since every key says what it reads; others would.
    private func checkTag(_ tag: Tag) throws(ConfigurationError) {
        let core = ["str", "int", "float", "bool", "null", "seq", "map", "timestamp", "merge"]
        let name = tag.rawValue
        guard name.isEmpty || name == "!" || core.contains(where: { name == Self.core + $0 }) else {
            throw fault(.wrongType, "has the tag '\(name)': write the value without a tag")
        }
    }

    private static let core = "tag:yaml.org,2002:"
}
