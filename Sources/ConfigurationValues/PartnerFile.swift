/// Reads `partners/<name>.yaml`.
package enum PartnerFile {
    /// All keys of the file, those of mappings after the mapping.
    package static let allKeys = keys + filterKeys + PartnerDeliveryFile.keys

    private static let keys = ["name", "trust", "filter", "delivery"]
    fileprivate static let filterKeys = ["networks", "apps", "windows"]

    static func partner(
        _ node: ConfigurationNode, fileName: String
    ) throws(ConfigurationError) -> Partner {
        let mapping = try node.mapping(keys)
        let nameNode = try mapping.required("name")
        let name = try nameNode.name()
        guard isName(name) else {
            throw nameNode.badValue("is '\(name)': write lower-case letters, digits and dashes")
        }
        guard name == fileName else {
            throw nameNode.badValue(
                "is '\(name)', but the file is named \(fileName).yaml: make them equal")
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
        text.wholeMatch(of: /[a-z0-9\-]{1,100}/) != nil
    }
}

extension ConfigurationNode {
    fileprivate func trust() throws(ConfigurationError) -> Set<Partner.Verdict> {
        try set(
            whenEmpty:
                "is empty, so Weir would send nothing: write [valid], or remove the partner",
            Self.verdict)
    }

    private func verdict() throws(ConfigurationError) -> Partner.Verdict {
        try word(Partner.Verdict.self)
    }

    fileprivate func filter() throws(ConfigurationError) -> Partner.Filter {
        let mapping = try mapping(PartnerFile.filterKeys)
        let whenEmpty = "is empty, so Weir would send nothing: remove the key to send all"
        return Partner.Filter(
            networks: try mapping["networks"]?.set(whenEmpty: whenEmpty, Self.networkID),
            apps: try mapping["apps"]?.set(whenEmpty: whenEmpty, Self.app),
            windows: try mapping["windows"]?.set(whenEmpty: whenEmpty, Self.window))
    }

    private func window() throws(ConfigurationError) -> Int { try integer(in: 0...2).asInt }

    private func set<Element: Hashable>(
        whenEmpty explanation: String,
        _ read: (ConfigurationNode) -> () throws(ConfigurationError) -> Element
    ) throws(ConfigurationError) -> Set<Element> {
        var set: Set<Element> = []
        for node in try elements() {
            guard set.insert(try read(node)()).inserted else {
                throw node.badValue("is listed twice: keep one")
            }
        }
        guard !set.isEmpty else { throw badValue(explanation) }
        return set
    }
}

private typealias TextField = Partner.Delivery.Field<PositionedText>

/// Reads `delivery` of `partners/<name>.yaml`.
enum PartnerDeliveryFile {
    static let keys = [
        "url", "allow_private", "method", "headers", "body", "preset", "missing",
        "timeout_seconds", "concurrency", "rate_per_second", "secret_file", "secrets",
    ]

    /// A receiver of warnings. It has fewer keys, because each warning is sent whole.
    static func webhook(_ node: ConfigurationNode) throws(ConfigurationError) -> Partner {
        let mapping = try node.mapping([
            "url", "allow_private", "headers", "timeout_seconds", "secret_file", "secrets",
        ])
        _ = try mapping.required("url")
        return Partner(
            name: "watch", trust: [],
            filter: Partner.Filter(networks: nil, apps: nil, windows: nil),
            delivery: try delivery(node))
    }

    static func delivery(_ node: ConfigurationNode) throws(ConfigurationError) -> Partner.Delivery {
        let mapping = try node.mapping(keys)
        let delivery = Partner.Delivery(
            isOff: mapping["url"] == nil,
            url: try mapping["url"]?.address() ?? node.noAddress,
            allowPrivate: try mapping.boolean("allow_private", default: false),
            method: try mapping["method"]?.word(Partner.Delivery.Method.self) ?? .post,
            headers: try mapping["headers"]?.templates() ?? [],
            body: try mapping["body"]?.body(),
            preset: try mapping["preset"]?.word(Partner.Delivery.Preset.self),
            missing: try mapping["missing"]?.missing() ?? .init(byDefault: .drop, byField: []),
            timeoutSeconds:
                try mapping.integer("timeout_seconds", in: 1...60, default: 10).asInt,
            concurrency: try mapping.integer("concurrency", in: 1...64, default: 4).asInt,
            ratePerSecond: try mapping["rate_per_second"]?.integer(in: 1...10_000).asInt,
            secretFile: try mapping["secret_file"]?.positionedText("the path of a file"),
            secrets: try mapping["secrets"]?.secrets() ?? []
        )
        if delivery.method == .get, let body = delivery.body, body != .none,
            let node = mapping["body"]
        {
            throw node.badValue(
                "is sent only with POST and PUT: give `method`, or put the fields into the url")
        }
        return delivery
    }
}

extension ConfigurationNode {
    fileprivate var noAddress: PositionedText {
        PositionedText(
            text: Partner.Delivery.noAddress, file: file, line: line, keyPath: "\(path).url")
    }

    fileprivate func address() throws(ConfigurationError) -> PositionedText {
        let address = try positionedText("an address, for example https://example.com/postbacks")
        let schemes = ["https://", "http://"]
        let scheme = schemes.first { address.text.asciiLowercased.hasPrefix($0) }
        let rest = address.text.dropFirst(scheme?.count ?? 0)
        let hasHost = rest.first.map { !"/?#:".contains($0) } ?? false
        let isVisible = address.text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }
        guard scheme != nil, hasHost, isVisible else {
            throw badValue("is not an address: write it as https://example.com/postbacks")
        }
        return address
    }

    /// Any text, which may be empty.
    private func template() throws(ConfigurationError) -> PositionedText {
        PositionedText(text: try text(), file: file, line: line, keyPath: path)
    }

    private func named(_ key: String) -> PositionedText {
        PositionedText(text: key, file: file, line: line, keyPath: path)
    }

    fileprivate func templates() throws(ConfigurationError) -> [TextField] {
        try entries().map { key, value throws(ConfigurationError) in
            guard !key.isEmpty else { throw value.badValue("has no name: add one") }
            return TextField(name: value.named(key), value: try value.template())
        }
    }

    /// The sources of secrets. An error does not quote a bad value: it may be the secret.
    fileprivate func secrets() throws(ConfigurationError) -> [TextField] {
        try entries().map { key, value throws(ConfigurationError) in
            guard key.wholeMatch(of: /[A-Za-z0-9_\-]+/) != nil else {
                throw value.badValue("is not a name: write letters, digits, - and _")
            }
            let place = try value.template()
            let path = ["env:", "file:"].first { place.text.hasPrefix($0) }
            guard let path, place.text.count > path.count else {
                throw value.badValue(
                    "is not the place of a secret: write env:NAME or file:PATH, not the secret")
            }
            return TextField(name: value.named(key), value: place)
        }
    }

    fileprivate func body() throws(ConfigurationError) -> Partner.Delivery.Body {
        guard isMapping else {
            switch try text("json, form, none or a template") {
            case "json": return .json
            case "form": return .form
            case "none": return .none
            case let word:
                throw badValue("is '\(word)': write json, form, none, or a mapping of json or form")
            }
        }
        let mapping = try mapping(["json", "form"])
        switch (mapping["json"], mapping["form"]) {
        case (let json?, nil): return .jsonTemplate(try json.shape(depth: 0))
        case (nil, let form?): return .formTemplate(try form.templates())
        default: throw badValue("must have one of json and form")
        }
    }

    private func shape(depth: Int) throws(ConfigurationError) -> Partner.Delivery.JSONShape {
        guard depth < 32 else { throw badValue("is nested too deep: the limit is 32 levels") }
        if isMapping {
            return .object(
                try entries().map { key, value throws(ConfigurationError) in
                    .init(name: value.named(key), value: try value.shape(depth: depth + 1))
                })
        }
        if isList {
            return .array(
                try elements().map { element throws(ConfigurationError) in
                    try element.shape(depth: depth + 1)
                })
        }
        try checkTag()
        guard let text = scalarText else { return .literal("null") }
        if !isText, ["true", "false"].contains(text) { return .literal(text) }
        if !isText, text.isJSONNumber {
            guard Double(text)?.isFinite == true else {
                throw badValue("is \(text), which is too large for readers of JSON: quote it")
            }
            return .literal(text)
        }
        return .text(try template())
    }

    fileprivate func missing() throws(ConfigurationError) -> Partner.Delivery.MissingRules {
        guard isMapping else {
            return .init(byDefault: try word(Partner.Delivery.Missing.self), byField: [])
        }
        var byDefault = Partner.Delivery.Missing.drop
        var byField: [Partner.Delivery.Field<Partner.Delivery.Missing>] = []
        for (key, value) in try entries() {
            let outcome = try value.word(Partner.Delivery.Missing.self)
            if key == "*" {
                byDefault = outcome
            } else {
                byField.append(.init(name: value.named(key), value: outcome))
            }
        }
        return .init(byDefault: byDefault, byField: byField)
    }
}

extension String {
    /// Whether it is a number in JSON's grammar.
    fileprivate var isJSONNumber: Bool {
        wholeMatch(of: /-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/) != nil
    }
}
