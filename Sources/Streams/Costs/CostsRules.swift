import ConfigurationValues
import JSON

/// What the fold of costs depends on.
package struct CostsRules: StreamRules {
    package static let number: Int64 = 2

    /// A longer value is refused.
    package var maxRecordBytes: Int

    package init(maxRecordBytes: Int) {
        self.maxRecordBytes = maxRecordBytes
    }

    package var configuration: FoldConfiguration {
        var json = JSONText()
        json.object { json in
            json.member("stream", CostsFold.streamName)
            json.member("rules", Self.number)
            json.member("max_record_bytes", maxRecordBytes)
        }
        return FoldConfiguration(text: json.text, dedupeWindowMilliseconds: nil)
    }

    /// Reads what `configuration` wrote; nothing of it is secret.
    package init(recorded text: String, from source: RuleSource) throws {
        self = try RecordedConfiguration.read(text) {
            configuration throws(RecordedConfigurationFault) in
            CostsRules(
                maxRecordBytes: Int(try configuration.member("max_record_bytes").integer()))
        }
    }
}
