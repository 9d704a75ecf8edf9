/// A mapping whose keys are all known ones.
struct ConfigurationMapping {
    let node: ConfigurationNode
    fileprivate let values: [String: ConfigurationNode]

    init(node: ConfigurationNode, values: [String: ConfigurationNode]) {
        self.node = node
        self.values = values
    }

    subscript(key: String) -> ConfigurationNode? { values[key] }

    func required(_ key: String) throws(ConfigurationError) -> ConfigurationNode {
        guard let value = values[key] else {
            let path = node.path.isEmpty ? key : "\(node.path).\(key)"
            throw ConfigurationError(
                kind: .missingKey,
                file: node.file,
                line: node.line,
                keyPath: path,
                words: "is missing: add it"
            )
        }
        return value
    }

    func integer(
        _ key: String,
        in range: ClosedRange<Int64>,
        default absent: Int64
    ) throws(ConfigurationError) -> Int64 {
        try values[key]?.integer(in: range) ?? absent
    }

    func boolean(_ key: String, default absent: Bool) throws(ConfigurationError) -> Bool {
        try values[key]?.boolean() ?? absent
    }
}
