import ConversionModels
import ConversionValues
import EventLog

/// The records of the demo's day: the same in every run.
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

/// Installs that ask for their conversion values on the demo's day, answered by the configured
/// models.
enum DemoConversions {
    private static let app: Int64 = 525_463_029

    /// The answers that installs got, as the collector would have appended them.
    static func records(models: [ConversionModel]) throws -> [OutgoingRecord] {
        let model = models.first { $0.app == app }
        let apps = ConversionApps(models: models, apps: [app])
        return try (0..<12).flatMap { try records(install: $0, model: model, apps: apps) }
    }

    /// A first session, and rides that are paid. One install sets nothing of what it is answered,
    /// one pays in a currency that the model does not know, and one asks again after its last
    /// window.
    private static func records(
        install: Int, model: ConversionModel?, apps: ConversionApps
    ) throws -> [OutgoingRecord] {
        let firstCall = DemoRecords.dayMilliseconds + Int64(install) * 1_800_000
        var state: InstallState?
        var value: Int?
        var coarse: CoarseValue?
        var records: [OutgoingRecord] = []
        for step in 0..<(install == 11 ? 2 : 1 + install % 4) {
            let isLate = install == 11 && step == 1
            let now = firstCall + (isLate ? 36 * 86_400_000 : Int64(step) * 3_600_000)
            let request = try ConversionRequest(
                .conversionValue,
                ConversionParameters([
                    (name: "app_id", value: "\(app)"),
                    (name: "idfv", value: "00000000-0000-4000-8000-0000000000\(10 + install)"),
                    (name: "n", value: step == 0 ? ConversionRequest.session : "ride"),
                    (name: "p0_coarse", value: coarse?.rawValue ?? ""),
                    (name: "skan_current_conversion_value", value: value.map { "\($0)" } ?? ""),
                    (
                        name: "skan_first_call_to_skadnetwork_timestamp",
                        value: "\(firstCall / 1000)"
                    ),
                    (
                        name: "total_revenue_by_currency",
                        value: "{\"\(install == 6 ? "EUR" : "USD")\":\(step * 4).99}"
                    ),
                ]), apps: apps, nowMilliseconds: now)
            let (answer, update) = ConversionEngine.answer(
                request, state: state, model: model, nowMilliseconds: now)
            state = InstallState.after(update, state)
            if install != 7 {
                value = answer.fine ?? value
                coarse = answer.coarse ?? coarse
            }
            var record = try update.record(topic: "conversion-updates")
            record.timestampMilliseconds = now
            records.append(record)
        }
        return records
    }
}
