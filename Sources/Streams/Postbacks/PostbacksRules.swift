import ConfigurationValues
import ConversionModels
import JSON
import Signatures

/// The configuration of the postbacks fold: `postbacks.yaml`, the conversion models and the partners.
package struct PostbacksRules: StreamRules {
    package static let number: Int64 = 3

    /// Longer values are rejected.
    package var maxRecordBytes: Int
    /// Whether postbacks of development devices count as trusted.
    package var trustsDevelopment: Bool
    /// Keys with the role of Apple's production key, SubjectPublicKeyInfo in base64.
    package var productionKeys: [String] = []
    /// Keys with the role of Apple's development keys, SubjectPublicKeyInfo in base64.
    package var developmentKeys: [String] = []
    package var adAttributionKitKeys: [AdAttributionKitKey] = []
    /// The conversion models, sorted by app.
    package var models: [ConversionModel]
    /// The partners, sorted by name.
    package var partners: [PartnerRule]

    /// Rules that trust Apple's keys only.
    package init(
        maxRecordBytes: Int, trustsDevelopment: Bool = false, models: [ConversionModel] = [],
        partners: [PartnerRule] = []
    ) {
        self.maxRecordBytes = maxRecordBytes
        self.trustsDevelopment = trustsDevelopment
        self.models = models
        self.partners = partners
    }

    /// The verdict for a signature by an AdAttributionKit key.
    enum KeyVerdict: String, CaseIterable { case valid, development }

    static let fileKeys: [ConfigurationKey] = [
        .boolean(
            "trust_development", default: false,
            """
            Whether postbacks with the verdict `development` count in installs and decoded events. Never use \
            it where money depends on the numbers.
            """),
        .keys(
            "trusted_keys", trustedKeysKeys,
            "Public keys to trust in addition to Apple's, for tests that sign their own postbacks."),
    ]

    private static let trustedKeysKeys: [ConfigurationKey] = [
        .text(
            "production", "list of SubjectPublicKeyInfo in base64",
            "Keys that give the verdict `valid`."),
        .text(
            "development", "list of SubjectPublicKeyInfo in base64",
            "Keys that give the verdict `development`."),
        .list("adattributionkit", adAttributionKitKeyKeys, "Keys of AdAttributionKit."),
    ]

    fileprivate static let adAttributionKitKeyKeys: [ConfigurationKey] = [
        .text("kid", "text", required: true, "The key id that postbacks name."),
        .text("key", "SubjectPublicKeyInfo in base64", required: true, "A key on the curve P-256."),
        .word(
            "verdict", KeyVerdict.self, required: true, "The verdict of postbacks that it signed."),
    ]

    /// Reads `postbacks.yaml`. Throws at the line of an invalid key.
    init(
        _ file: StreamFile, models: [ConversionModel], partners: [PartnerRule]
    ) throws(ConfigurationError) {
        let keys = try file.mapping["trusted_keys"]?.mapping(Self.trustedKeysKeys)
        maxRecordBytes = file.settings.maxRecordBytes
        trustsDevelopment = try file.mapping.boolean("trust_development")
        productionKeys = try keys?["production"]?.publicKeys() ?? []
        developmentKeys = try keys?["development"]?.publicKeys() ?? []
        adAttributionKitKeys = try keys?["adattributionkit"]?.adAttributionKitKeys() ?? []
        self.models = models
        self.partners = partners
        do {
            _ = try trustedKeys
        } catch {
            throw (file.mapping["trusted_keys"] ?? file.mapping.node).badValue("\(error)")
        }
    }

    var trustedKeys: TrustedKeys {
        get throws {
            try TrustedKeys(
                production: productionKeys, development: developmentKeys,
                adAttributionKit: adAttributionKitKeys)
        }
    }

    package mutating func keepSumsOnly() { partners = [] }

    package func differences(from old: PostbacksRules) -> [String] {
        let before = Dictionary(old.partners.map { ($0.name, $0) }) { first, _ in first }
        let names = Set(partners.map(\.name))
        return partners.compactMap { partner in
            guard let known = before[partner.name] else {
                return "partner \(partner.name) was added"
            }
            return known == partner ? nil : "trust or filter of partner \(partner.name) changed"
        }
            + old.partners.filter { !names.contains($0.name) }.map {
                "partner \($0.name) was removed"
            }
    }

    package mutating func emitAll() {
        partners = [
            PartnerRule(name: "all", trust: Set(Verdict.allCases), networks: nil, apps: nil)
        ]
    }

    package var configuration: FoldConfiguration {
        var json = JSONText()
        json.object { json in
            json.member("stream", PostbacksFold.streamName)
            json.member("rules", Self.number)
            json.member("max_record_bytes", maxRecordBytes)
            json.member("trust_development", trustsDevelopment)
            json.object("trusted_keys") { json in
                json.member("production", productionKeys.sorted())
                json.member("development", developmentKeys.sorted())
                json.member(
                    "adattributionkit",
                    adAttributionKitKeys.map { "\($0.kid) \($0.key) \($0.verdict.name)" }.sorted())
            }
            json.name("models")
            json.array { json in for model in models { json.raw(model.canonicalText) } }
            json.objects("partners", partners, Self.write)
        }
        return FoldConfiguration(text: json.text, dedupeWindowMilliseconds: nil)
    }

    private static func write(_ partner: PartnerRule, to json: inout JSONText) {
        func write(_ name: String, _ numbers: [some BinaryInteger]) {
            json.name(name)
            json.array { json in for number in numbers { json.raw(number) } }
        }
        json.member("name", partner.name)
        json.member("trust", partner.trust.map(\.name).sorted())
        if let networks = partner.networks { json.member("networks", networks.sorted()) }
        if let apps = partner.apps { write("apps", apps.sorted()) }
        // Later keys are written only if set, so that the text of other configurations stays unchanged.
        if let windows = partner.windows { write("windows", windows.sorted()) }
    }
}

extension ConfigurationNode {
    fileprivate func publicKeys() throws(ConfigurationError) -> [String] {
        var keys: [PositionedText] = []
        for element in try elements() {
            keys.append(try element.positionedText("a public key, SPKI in base64"))
        }
        for key in keys where VerificationKey(base64: key.text) == nil {
            throw key.fault(
                "is not a P-192 or P-256 public key: give its SubjectPublicKeyInfo (DER) in base64")
        }
        return keys.map(\.text)
    }

    fileprivate func adAttributionKitKeys() throws(ConfigurationError) -> [AdAttributionKitKey] {
        var keys: [AdAttributionKitKey] = []
        var texts: [PositionedText] = []
        for element in try elements() {
            let mapping = try element.mapping(PostbacksRules.adAttributionKitKeyKeys)
            let kid = try mapping.required("kid").positionedText("the key id")
            let key = try mapping.required("key").positionedText("a public key, SPKI in base64")
            let word = try mapping.required("verdict").word(PostbacksRules.KeyVerdict.self)
            guard !keys.contains(where: { $0.kid == kid.text }) else {
                throw kid.fault("is the kid of an earlier key: give every key its own")
            }
            texts.append(key)
            keys.append(
                AdAttributionKitKey(
                    kid: kid.text, key: key.text, verdict: word == .valid ? .valid : .development))
        }
        for key in texts {
            guard case .p256? = VerificationKey(base64: key.text) else {
                throw key.fault(
                    "is not a P-256 public key: give its SubjectPublicKeyInfo (DER) in base64")
            }
        }
        return keys
    }
}

/// The postbacks that a partner gets.
package struct PartnerRule: Equatable, Sendable {
    package var name: String
    package var trust: Set<Verdict>
    /// Network ids in lower case; nil for all.
    package var networks: Set<String>?
    /// The advertised apps; nil for all.
    package var apps: Set<Int64>?
    /// The conversion windows by sequence index; nil for all.
    package var windows: Set<Int>?

    package init(
        name: String, trust: Set<Verdict>, networks: Set<String>?, apps: Set<Int64>?,
        windows: Set<Int>? = nil
    ) {
        self.name = name
        self.trust = trust
        self.networks = networks
        self.apps = apps
        self.windows = windows
    }

    func admits(verdict: Verdict, network: String, app: Int64, window: Int) -> Bool {
        trust.contains(verdict) && networks?.contains(network) ?? true
            && apps?.contains(app) ?? true && windows?.contains(window) ?? true
    }
}

extension PartnerRule {
    package init(_ partner: Partner) {
        self.init(
            name: partner.name,
            trust: Set(
                Verdict.allCases.filter { verdict in
                    partner.trust.contains { $0.rawValue == verdict.name }
                }),
            networks: partner.filter.networks, apps: partner.filter.apps,
            windows: partner.filter.windows)
    }
}

// MARK: Reading the recorded configuration

extension PostbacksRules {
    /// Reads the text of `configuration`; it contains no secrets.
    package init(recorded text: String, from source: RuleSource) throws {
        let models = try [ConversionModel](recordedIn: text)
        self = try RecordedConfiguration.read(text) {
            configuration throws(RecordedConfigurationFault) in
            try PostbacksRules(recorded: configuration, models: models)
        }
    }

    private init(
        recorded configuration: RecordedConfiguration, models: [ConversionModel]
    ) throws(RecordedConfigurationFault) {
        maxRecordBytes = Int(try configuration.member("max_record_bytes").integer())
        trustsDevelopment = try configuration.member("trust_development").boolean()
        let keys = try configuration.member("trusted_keys")
        productionKeys = try keys.member("production").texts()
        developmentKeys = try keys.member("development").texts()
        adAttributionKitKeys = try keys.member("adattributionkit")
            .elements(AdAttributionKitKey.init(recorded:))
        self.models = models
        partners = try configuration.member("partners").elements(PartnerRule.init(recorded:))
    }
}

extension AdAttributionKitKey {
    /// Reads the key id, the key and the verdict; an id may contain spaces.
    fileprivate init(recorded key: RecordedConfiguration) throws(RecordedConfigurationFault) {
        let parts = try key.text().split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count >= 3,
            let verdict = Verdict.allCases.first(where: { $0.name == parts[parts.count - 1] })
        else { throw key.fault }
        self.init(
            kid: parts.dropLast(2).joined(separator: " "), key: String(parts[parts.count - 2]),
            verdict: verdict)
    }
}

extension PartnerRule {
    fileprivate init(recorded partner: RecordedConfiguration) throws(RecordedConfigurationFault) {
        let trust = try partner.member("trust").elements {
            name throws(RecordedConfigurationFault) in
            let text = try name.text()
            guard let verdict = Verdict.allCases.first(where: { $0.name == text }) else {
                throw name.fault
            }
            return verdict
        }
        self.init(
            name: try partner.member("name").text(), trust: Set(trust),
            networks: try partner.optional("networks")?.texts(),
            apps: try partner.optional("apps")?.integers(),
            windows: try partner.optional("windows")?.integers())
    }
}

extension RecordedConfiguration {
    fileprivate func texts() throws(RecordedConfigurationFault) -> Set<String> {
        let texts: [String] = try texts()
        return Set(texts)
    }

    fileprivate func integers<Number: FixedWidthInteger>() throws(RecordedConfigurationFault)
        -> Set<Number>
    {
        Set(
            try elements { number throws(RecordedConfigurationFault) in
                Number(truncatingIfNeeded: try number.integer())
            })
    }
}
