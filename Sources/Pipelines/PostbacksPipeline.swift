/// `postbacks.yaml`. Ids of postbacks are remembered forever, so there is no window.
package struct PostbacksPipeline: Equatable, Sendable {
    package let stream: StreamSettings
    /// `trust_development`: whether the verdict `development` counts as trusted; by default it does
    /// not.
    package let trustDevelopment: Bool
    /// `trusted_keys`: keys that are trusted in addition to Apple's.
    package let trustedKeys: ConfiguredKeys

    init(_ node: ConfigurationNode) throws(ConfigurationError) {
        if let window = try node.entries().first(where: { $0.key == "dedupe_window_seconds" }) {
            throw window.value.fault(
                .unknownKey, "ids of postbacks are remembered forever: remove this key")
        }
        let mapping = try node.mapping(StreamSettings.keys + ["trust_development", "trusted_keys"])
        stream = try StreamSettings(mapping, topic: .postbacks)
        trustDevelopment = try mapping.boolean("trust_development", default: false)
        trustedKeys =
            try mapping["trusted_keys"].map { node throws(ConfigurationError) in
                try ConfiguredKeys(node)
            } ?? ConfiguredKeys()
    }
}

/// Public keys in addition to Apple's, as they are written. The module that parses a key reports a
/// bad one with `PositionedText.fault`.
package struct ConfiguredKeys: Equatable, Sendable {
    package struct AdAttributionKitKey: Equatable, Sendable {
        package let kid: PositionedText
        /// SubjectPublicKeyInfo in base64.
        package let key: PositionedText
        /// The verdict on a postback that this key has signed.
        package let verdict: Verdict
    }

    package enum Verdict: String, CaseIterable, Sendable {
        case valid
        case development
    }

    /// Keys that count like Apple's production key, SubjectPublicKeyInfo in base64.
    package let production: [PositionedText]
    /// Keys that count like Apple's development keys, SubjectPublicKeyInfo in base64.
    package let development: [PositionedText]
    /// No two have the same kid.
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
