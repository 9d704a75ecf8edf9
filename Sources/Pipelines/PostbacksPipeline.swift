/// How `weir-postbacks` works: `postbacks.yaml`. Ids of postbacks are remembered forever, so that
/// there is no window.
package struct PostbacksPipeline: Equatable, Sendable {
    /// What every worker has.
    package let stream: StreamSettings
    /// Whether the verdict `development` counts as trusted (`trust_development`, false).
    package let trustDevelopment: Bool
    /// Keys that are trusted beside Apple's (`trusted_keys`).
    package let trustedKeys: ConfiguredKeys

    init(_ node: ConfigurationNode) throws(ConfigurationError) {
        if let window = try node.entries().first(where: { $0.key == "dedupe_window_seconds" }) {
            throw window.value.fault(
                .unknownKey,
                "ids of postbacks are remembered forever: remove this key"
            )
        }
        let mapping = try node.mapping(
            StreamSettings.keys + ["trust_development", "trusted_keys"]
        )
        stream = try StreamSettings(mapping, topic: .postbacks)
        trustDevelopment = try mapping.boolean("trust_development", default: false)
        trustedKeys =
            try mapping["trusted_keys"].map { node throws(ConfigurationError) in
                try ConfiguredKeys(node)
            } ?? ConfiguredKeys()
    }
}

/// Public keys beside Apple's, as they are written, each with its place: whoever reads a key reports
/// a bad one with `PositionedText.fault`.
package struct ConfiguredKeys: Equatable, Sendable {
    /// A key of AdAttributionKit.
    package struct AdAttributionKitKey: Equatable, Sendable {
        /// The key id that a postback names.
        package let kid: PositionedText
        /// The public key, SubjectPublicKeyInfo in base64.
        package let key: PositionedText
        /// What a postback that the key fits is.
        package let verdict: Verdict
    }

    /// The verdicts that a key can give.
    package enum Verdict: String, CaseIterable, Sendable {
        /// As Apple's production key.
        case valid
        /// As one of Apple's development keys.
        case development
    }

    /// Keys as Apple's production key, SubjectPublicKeyInfo in base64.
    package let production: [PositionedText]
    /// Keys as Apple's development keys, SubjectPublicKeyInfo in base64.
    package let development: [PositionedText]
    /// Keys of AdAttributionKit; no two have one kid.
    package let adAttributionKit: [AdAttributionKitKey]

    init() {
        production = []
        development = []
        adAttributionKit = []
    }

    init(_ node: ConfigurationNode) throws(ConfigurationError) {
        let mapping = try node.mapping(["production", "development", "adattributionkit"])
        production = try mapping["production"]?.publicKeys() ?? []
        development = try mapping["development"]?.publicKeys() ?? []
        var keys: [AdAttributionKitKey] = []
        for element in try mapping["adattributionkit"]?.elements() ?? [] {
            let key = try AdAttributionKitKey(element)
            guard !keys.contains(where: { $0.kid.text == key.kid.text }) else {
                throw key.kid.fault("is the kid of an earlier key: give every key its own")
            }
            keys.append(key)
        }
        adAttributionKit = keys
    }
}

extension ConfiguredKeys.AdAttributionKitKey {
    init(_ node: ConfigurationNode) throws(ConfigurationError) {
        let mapping = try node.mapping(["kid", "key", "verdict"])
        kid = try mapping.required("kid").positionedText("the key id")
        key = try mapping.required("key").positionedText("a public key, SPKI in base64")
        verdict = try mapping.required("verdict").word(ConfiguredKeys.Verdict.self)
    }
}

extension ConfigurationNode {
    fileprivate func publicKeys() throws(ConfigurationError) -> [PositionedText] {
        var keys: [PositionedText] = []
        for element in try elements() {
            keys.append(try element.positionedText("a public key, SPKI in base64"))
        }
        return keys
    }
}
