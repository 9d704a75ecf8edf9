import AggregateStore
import ArgumentParser
import Attestation
import ConversionModels
import Foundation
import Pipelines
import Streams

/// `weir-postbacks`: verifies and folds the topic `postbacks`, and publishes to partners.
public struct PostbacksWorker: WorkerProgram {
    /// Name of the program.
    public static let programName = "weir-postbacks"

    /// Help.
    public static let configuration = CommandConfiguration(
        commandName: programName,
        abstract: "Verifies postbacks and folds them into postbacks.sqlite.",
        discussion: """
            Checks the signature of every SKAdNetwork and AdAttributionKit postback, counts it under \
            its verdict, decodes its conversion value by the app's model, and publishes it to the \
            partners whose files ask for it (topic partner-postbacks). Stop it at any time: it goes \
            on where it was.

              weir publish --topic postbacks postbacks.ndjson
              weir-postbacks --until-end
              weir dump postbacks --by day,campaign,verdict
            """)

    /// What every worker can be told.
    @OptionGroup public var options: WorkerOptions

    /// Options that were not given.
    public init() {}

    /// Reads `postbacks.yaml`.
    public static func streamSettings(of pipelines: PipelineDirectory) throws -> StreamSettings {
        try pipelines.postbacks().stream
    }

    /// Makes the fold that `postbacks.yaml`, the conversion models and the partners' files describe.
    public static func makeFold(
        pipelines: PipelineDirectory, settings: StreamSettings, store: AggregateStore
    ) throws -> (fold: PostbacksFold, configuration: FoldConfiguration) {
        let pipeline = try pipelines.postbacks()
        let models = try pipelines.conversionModels()
        let partners = try pipelines.partners().map(PartnerRule.init)
        let keys = try TrustedKeys(configured: pipeline.trustedKeys)
        let fold = PostbacksFold(
            topic: settings.topic,
            configuration: PostbacksFold.Configuration(
                maxRecordBytes: settings.maxRecordBytes,
                trustsDevelopment: pipeline.trustDevelopment, models: models, partners: partners),
            attestor: Attestor(
                keys: keys, threadCount: ProcessInfo.processInfo.activeProcessorCount),
            parser: try makeParser(), jwsParser: try makeParser(),
            memory: try PostbackIDs(store: store))
        let text = PostbacksConfigurationText(
            pipeline: pipeline, models: models, partners: partners)
        return (fold, FoldConfiguration(text: text.text, dedupeWindowMilliseconds: nil))
    }
}

extension TrustedKeys {
    /// Apple's keys and those of configuration. Throws at the line of a key that is none.
    public init(configured: ConfiguredKeys) throws(ConfigurationError) {
        for key in configured.production + configured.development
        where VerificationKey(base64: key.text) == nil {
            throw key.fault(
                "is not a P-192 or P-256 public key: give its SubjectPublicKeyInfo (DER) in base64")
        }
        for key in configured.adAttributionKit {
            guard case .p256? = VerificationKey(base64: key.key.text) else {
                throw key.key.fault(
                    "is not a P-256 public key: give its SubjectPublicKeyInfo (DER) in base64")
            }
        }
        do {
            try self.init(
                production: configured.production.map(\.text),
                development: configured.development.map(\.text),
                adAttributionKit: configured.adAttributionKit.map { key in
                    AdAttributionKitKey(
                        kid: key.kid.text, key: key.key.text,
                        verdict: key.verdict == .valid ? .valid : .development)
                })
        } catch {
            throw ConfigurationError(
                kind: .badValue, file: "postbacks.yaml", keyPath: "trusted_keys", words: "\(error)")
        }
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

/// All that folding postbacks depends on, as one deterministic text.
struct PostbacksConfigurationText {
    private(set) var text = ""

    init(pipeline: PostbacksPipeline, models: [ConversionModel], partners: [PartnerRule]) {
        var json = JSONText()
        json.object { json in
            json.name("stream")
            json.string(PostbacksFold.streamName)
            json.name("rules")
            json.raw(1)
            json.name("max_record_bytes")
            json.raw(pipeline.stream.maxRecordBytes)
            json.name("trust_development")
            json.raw(pipeline.trustDevelopment)
            json.name("trusted_keys")
            Self.write(pipeline.trustedKeys, to: &json)
            json.name("models")
            json.array { json in for model in models { json.raw(model.canonicalText) } }
            json.name("partners")
            json.array { json in for partner in partners { Self.write(partner, to: &json) } }
        }
        text = json.text
    }

    private static func write(_ keys: ConfiguredKeys, to json: inout JSONText) {
        json.object { json in
            json.name("production")
            write(keys.production.map(\.text).sorted(), to: &json)
            json.name("development")
            write(keys.development.map(\.text).sorted(), to: &json)
            json.name("adattributionkit")
            write(
                keys.adAttributionKit.map { "\($0.kid.text) \($0.key.text) \($0.verdict.rawValue)" }
                    .sorted(), to: &json)
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
