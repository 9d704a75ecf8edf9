import ConfigurationValues
import JSON

/// The configuration of the costs fold.
package struct CostsRules: StreamRules {
    package static let number: Int64 = 2

    /// Longer values are rejected.
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

    /// Reads the text of `configuration`; it contains no secrets.
    package init(recorded text: String, from source: RuleSource) throws {
        self = try RecordedConfiguration.read(text) {
            configuration throws(RecordedConfigurationFault) in
            CostsRules(
                maxRecordBytes: Int(try configuration.member("max_record_bytes").integer()))
        }
    }
}
