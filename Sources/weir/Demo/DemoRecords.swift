import ConversionModels
import EventLog

/// The day that the demo is about, as records: the same in every run.
enum DemoRecords {
    /// 2026-11-20T00:00:00Z.
    static let dayMilliseconds: Int64 = 1_795_132_800_000

    /// All records, topic by topic; `models` are those of the configuration.
    static func all(
        models: [ConversionModel]
    ) throws -> [(topic: String, records: [OutgoingRecord])] {
        [
            ("bids", DemoAuctions.records()),
            ("impressions", DemoImpressions.records()),
            ("overlay-clicks", DemoClicks.records()),
            ("postbacks", DemoPostbacks.records()),
            ("store-notifications", DemoNotifications.records()),
            ("conversion-updates", try DemoConversions.records(models: models)),
        ]
    }

    /// A record in CloudEvents' binary mode; a value of nil is a tombstone.
    static func record(
        _ topic: String, key: String, type: String, _ value: String?, at milliseconds: Int64,
        headers: [OutgoingRecord.Header] = []
    ) -> OutgoingRecord {
        OutgoingRecord(
            topic: topic, timestampMilliseconds: milliseconds, key: Array(key.utf8),
            headers: [.init("ce_specversion", "1.0"), .init("ce_type", type)] + headers,
            value: value.map { Array($0.utf8) })
    }
}
