import AggregateStore
import Attestation
import ConversionModels
import Pipelines
import Streams

/// What the fold of postbacks depends on.
package struct PostbackRules: FoldRules {
    /// A longer value is refused.
    package var maxRecordBytes: Int
    /// Whether postbacks of development devices count as trusted.
    package var trustsDevelopment: Bool
    /// Keys as Apple's production key, SubjectPublicKeyInfo in base64.
    package var productionKeys: [String]
    /// Keys as Apple's development keys, SubjectPublicKeyInfo in base64.
    package var developmentKeys: [String]
    /// Keys of AdAttributionKit.
    package var adAttributionKitKeys: [AdAttributionKitKey]
    /// The conversion models, in order of their apps.
    package var models: [ConversionModel]
    /// The partners, in order of their names.
    package var partners: [PartnerRule]

    /// Takes what configuration says.
    package init(
        pipeline: PostbacksPipeline, models: [ConversionModel], partners: [PartnerRule]
    ) {
        maxRecordBytes = pipeline.stream.maxRecordBytes
        trustsDevelopment = pipeline.trustDevelopment
        productionKeys = pipeline.trustedKeys.production.map(\.text)
        developmentKeys = pipeline.trustedKeys.development.map(\.text)
        adAttributionKitKeys = pipeline.trustedKeys.adAttributionKit.map(AdAttributionKitKey.init)
        self.models = models
        self.partners = partners
    }

    /// The rules as a store records them.
    package var configuration: FoldConfiguration {
        var json = JSONText()
        json.object { json in
            json.name("stream")
            json.string(PostbacksFold.streamName)
            json.name("rules")
            json.raw(1)
            json.name("max_record_bytes")
            json.raw(maxRecordBytes)
            json.name("trust_development")
            json.raw(trustsDevelopment)
            json.name("trusted_keys")
            writeKeys(to: &json)
            json.name("models")
            json.array { json in for model in models { json.raw(model.canonicalText) } }
            json.name("partners")
            json.array { json in for partner in partners { Self.write(partner, to: &json) } }
        }
        return FoldConfiguration(text: json.text, dedupeWindowMilliseconds: nil)
    }

    private func writeKeys(to json: inout JSONText) {
        json.object { json in
            json.name("production")
            Self.write(productionKeys.sorted(), to: &json)
            json.name("development")
            Self.write(developmentKeys.sorted(), to: &json)
            json.name("adattributionkit")
            Self.write(
                adAttributionKitKeys.map { "\($0.kid) \($0.key) \($0.verdict.name)" }.sorted(),
                to: &json)
        }
    }

    private static func write(_ partner: PartnerRule, to json: inout JSONText) {
        json.object { json in
            json.name("name")
            json.string(partner.name)
            json.name("trust")
            write(partner.trust.map(\.name).sorted(), to: &json)
            if let networks = partner.networks {
                json.name("networks")
                write(networks.sorted(), to: &json)
            }
            if let apps = partner.apps {
                json.name("apps")
                json.array { json in for app in apps.sorted() { json.raw(app) } }
            }
            // A key that came later is written only where it is given: the text of the others is as it was.
            if let windows = partner.windows {
                json.name("windows")
                json.array { json in for window in windows.sorted() { json.raw(window) } }
            }
        }
    }

    private static func write(_ texts: [String], to json: inout JSONText) {
        json.array { json in for text in texts { json.string(text) } }
    }
}

extension AdAttributionKitKey {
    init(_ configured: ConfiguredKeys.AdAttributionKitKey) {
        self.init(
            kid: configured.kid.text, key: configured.key.text,
            verdict: configured.verdict == .valid ? .valid : .development)
    }
}

extension PartnerRule {
    init(_ partner: Partner) {
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
