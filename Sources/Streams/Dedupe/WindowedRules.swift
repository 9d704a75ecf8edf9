import ConfigurationValues
import JSON

/// What the fold of a stream depends on whose ids are remembered for a window of event time.
package struct WindowedRules: StreamRules {
    package static let number: Int64 = 2

    package var stream: String
    /// How long an id is remembered, in milliseconds of event time.
    package var dedupeWindowMilliseconds: Int64
    /// A longer value is refused.
    package var maxRecordBytes: Int
    /// The keys that networks sign their ads with, in base64, by the networks' ids in lower case; bids
    /// alone have any.
    package var adSigningKeys: [String: [String]]

    package init(
        stream: String, dedupeWindowMilliseconds: Int64, maxRecordBytes: Int,
        adSigningKeys: [String: [String]] = [:]
    ) {
        self.stream = stream
        self.dedupeWindowMilliseconds = dedupeWindowMilliseconds
        self.maxRecordBytes = maxRecordBytes
        self.adSigningKeys = adSigningKeys
    }

    init(stream: String, _ file: StreamFile) {
        self.init(
            stream: stream,
            dedupeWindowMilliseconds: Int64(file.dedupeWindowSeconds ?? 0) * 1000,
            maxRecordBytes: file.settings.maxRecordBytes)
    }

    /// Reads what `configuration` wrote; nothing of it is secret.
    package init(recorded text: String, from source: RuleSource) throws {
        self = try RecordedConfiguration.read(text) {
            configuration throws(RecordedConfigurationFault) in
            var keys: [String: [String]] = [:]
            if let networks = configuration.optional("ad_signing_keys") {
                for (network, texts) in try networks.members() {
                    keys[network] = try texts.texts()
                }
            }
            return WindowedRules(
                stream: try configuration.member("stream").text(),
                dedupeWindowMilliseconds: try configuration.member("dedupe_window_ms").integer(),
                maxRecordBytes: Int(try configuration.member("max_record_bytes").integer()),
                adSigningKeys: keys)
        }
    }

    package var configuration: FoldConfiguration {
        var text = JSONText()
        text.object { text in
            text.member("stream", stream)
            text.member("rules", Self.number)
            text.member("dedupe_window_ms", dedupeWindowMilliseconds)
            text.member("max_record_bytes", maxRecordBytes)
            guard !adSigningKeys.isEmpty else { return }
            text.object("ad_signing_keys") { text in
                for network in adSigningKeys.keys.sorted() {
                    text.member(network, (adSigningKeys[network] ?? []).sorted())
                }
            }
        }
        return FoldConfiguration(
            text: text.text, dedupeWindowMilliseconds: dedupeWindowMilliseconds)
    }
}
