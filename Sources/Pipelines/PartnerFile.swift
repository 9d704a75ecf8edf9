/// Reads `partners/<name>.yaml`.
enum PartnerFile {
    static func partner(
        _ node: ConfigurationNode,
        fileName: String
    ) throws(ConfigurationError) -> Partner {
        let mapping = try node.mapping(["name", "trust", "filter", "delivery"])
        let nameNode = try mapping.required("name")
        let name = try nameNode.name()
        guard isName(name) else {
            throw nameNode.badValue("is '\(name)': write lower-case letters, digits and dashes")
        }
        guard name == fileName else {
            throw nameNode.badValue(
                "is '\(name)', and the file is named \(fileName).yaml: make one both"
            )
        }
        return Partner(
            name: name,
            trust: try mapping.required("trust").trust(),
            filter: try mapping["filter"]?.filter()
                ?? Partner.Filter(networks: nil, apps: nil, windows: nil),
            delivery: try PartnerDeliveryFile.delivery(mapping.required("delivery"))
        )
    }

    static func isName(_ text: String) -> Bool {
        (1...100).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "-")
            }
    }
}

extension ConfigurationNode {
    fileprivate func trust() throws(ConfigurationError) -> Set<Partner.Verdict> {
        try set(
            whenEmpty:
                "is empty, so that nothing would be sent: write [valid], or remove the partner"
        ) { node throws(ConfigurationError) in try node.word(Partner.Verdict.self) }
    }

    fileprivate func filter() throws(ConfigurationError) -> Partner.Filter {
        let mapping = try mapping(["networks", "apps", "windows"])
        let whenEmpty = "is empty, so that nothing would be sent: remove the key to send all"
        return Partner.Filter(
            networks: try mapping["networks"]?.set(whenEmpty: whenEmpty) {
                node throws(ConfigurationError) in try node.networkID()
            },
            apps: try mapping["apps"]?.set(whenEmpty: whenEmpty) {
                node throws(ConfigurationError) in try node.app()
            },
            windows: try mapping["windows"]?.set(whenEmpty: whenEmpty) {
                node throws(ConfigurationError) in try node.integer(in: 0...2).asInt
            }
        )
    }

    private func set<Element: Hashable>(
        whenEmpty words: String,
        _ read: (ConfigurationNode) throws(ConfigurationError) -> Element
    ) throws(ConfigurationError) -> Set<Element> {
        var set: Set<Element> = []
        for node in try elements() {
            guard set.insert(try read(node)).inserted else {
                throw node.badValue("is listed twice: keep one")
            }
        }
        guard !set.isEmpty else { throw badValue(words) }
        return set
    }
}
