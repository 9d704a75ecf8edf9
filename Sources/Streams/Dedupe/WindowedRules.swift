import ConfigurationValues
import JSON

/// The configuration of a fold that remembers ids for a window of event time.
package struct WindowedRules: StreamRules {
    package static let number: Int64 = 2

    package var stream: String
    /// The time for which an id is remembered, in milliseconds of event time.
    package var dedupeWindowMilliseconds: Int64
    /// Longer values are rejected.
    package var maxRecordBytes: Int

    package init(stream: String, dedupeWindowMilliseconds: Int64, maxRecordBytes: Int) {
        self.stream = stream
        self.dedupeWindowMilliseconds = dedupeWindowMilliseconds
        self.maxRecordBytes = maxRecordBytes
    }

    init(stream: String, _ file: StreamFile) {
        self.init(
            stream: stream,
            dedupeWindowMilliseconds: Int64(file.dedupeWindowSeconds ?? 0) * 1000,
            maxRecordBytes: file.settings.maxRecordBytes)
    }

    /// Reads the text of `configuration`; it contains no secrets.
    package init(recorded text: String, from source: RuleSource) throws {
        self = try RecordedConfiguration.read(text) {
            configuration throws(RecordedConfigurationFault) in
            try WindowedRules(recorded: configuration)
        }
    }

    init(recorded configuration: RecordedConfiguration) throws(RecordedConfigurationFault) {
        self.init(
            stream: try configuration.member("stream").text(),
            dedupeWindowMilliseconds: try configuration.member("dedupe_window_ms").integer(),
            maxRecordBytes: Int(try configuration.member("max_record_bytes").integer()))
    }

    package var configuration: FoldConfiguration { configuration { _ in } }

    /// The rules as recorded in a store, with a stream's additions.
    func configuration(adding write: (inout JSONText) -> Void) -> FoldConfiguration {
        var text = JSONText()
        text.object { text in
            text.member("stream", stream)
            text.member("rules", Self.number)
            text.member("dedupe_window_ms", dedupeWindowMilliseconds)
            text.member("max_record_bytes", maxRecordBytes)
            write(&text)
        }
        return FoldConfiguration(
            text: text.text, dedupeWindowMilliseconds: dedupeWindowMilliseconds)
    }
}
