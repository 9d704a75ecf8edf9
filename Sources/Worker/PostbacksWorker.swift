import AggregateStore
import ArgumentParser
import Attestation
import Monitoring
import Pipelines
import Streams

/// `weir-postbacks`: verifies and folds the topic `postbacks`, and publishes to partners.
package struct PostbacksWorker: WorkerProgram {
    /// Name of the program.
    package static let programName = "weir-postbacks"

    /// Help.
    package static let configuration = CommandConfiguration(
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
            """,
        version: WeirVersion.current)

    /// What every worker can be told.
    @OptionGroup package var options: WorkerOptions

    /// Options that were not given.
    package init() {}

    /// Reads `postbacks.yaml`.
    package static func streamSettings(of pipelines: PipelineDirectory) throws -> StreamSettings {
        try pipelines.postbacks().stream
    }

    /// Reads `postbacks.yaml`, the conversion models and the partners' files. Throws at the line of a
    /// key that is none.
    package static func rules(of pipelines: PipelineDirectory) throws -> PostbackRules {
        let pipeline = try pipelines.postbacks()
        _ = try TrustedKeys(configured: pipeline.trustedKeys)
        return PostbackRules(
            pipeline: pipeline, models: try pipelines.conversionModels(),
            partners: try pipelines.partners().map(PartnerRule.init))
    }

    /// Makes the fold over the postbacks that the store remembers.
    package static func makeFold(
        _ rules: PostbackRules, topic: String, store: AggregateStore, threadCount: Int
    ) throws -> PostbacksFold {
        try makeFold(
            rules, topic: topic, memory: store, threadCount: threadCount)
    }

    /// Makes the fold over any memory.
    package static func makeFold(
        _ rules: PostbackRules, topic: String, memory: any FoldMemory, threadCount: Int
    ) throws -> PostbacksFold {
        PostbacksFold(
            topic: topic,
            configuration: PostbacksFold.Configuration(
                maxRecordBytes: rules.maxRecordBytes, trustsDevelopment: rules.trustsDevelopment,
                models: rules.models, partners: rules.partners),
            attestor: Attestor(
                keys: try TrustedKeys(
                    production: rules.productionKeys, development: rules.developmentKeys,
                    adAttributionKit: rules.adAttributionKitKeys),
                threadCount: max(1, threadCount)),
            parser: try makeParser(), jwsParser: try makeParser(), memory: memory)
    }
}

extension TrustedKeys {
    /// Apple's keys and those of configuration. Throws at the line of a key that is none.
    package init(configured: ConfiguredKeys) throws(ConfigurationError) {
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
                adAttributionKit: configured.adAttributionKit.map(AdAttributionKitKey.init))
        } catch {
            throw ConfigurationError(
                kind: .badValue, file: "postbacks.yaml", keyPath: "trusted_keys", words: "\(error)")
        }
    }
}
