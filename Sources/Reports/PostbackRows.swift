import ConfigurationValues
import ConversionModels
import Store
import Streams

/// What the columns of `postbacks` and of `conversion-values` say of the postbacks of a row.
struct PostbackRow {
    let hour: String
    let network: String
    let campaign: String
    let app: Int64
    let sourceApp: Int64
    let sequenceIndex: Int64
    let conversionType: String
    let didWin: Bool
    let verdict: String
    /// The kind of the campaign's id.
    let kind: CampaignIDKind

    static let columns = [
        "hour", "framework", "version", "ad_network_id", "campaign", "app_id", "source_app_id",
        "sequence_index", "conversion_type", "did_win", "verdict",
    ]

    /// Reads a row that begins with these columns.
    init(_ columns: [StoredValue]) {
        hour = columns[0].text
        kind = CampaignIDKind(framework: columns[1].text, version: columns[2].text)
        network = columns[3].text
        campaign = columns[4].text
        app = columns[5].integer
        sourceApp = columns[6].integer
        sequenceIndex = columns[7].integer
        conversionType = columns[8].text
        didWin = columns[9].integer != 0
        verdict = columns[10].text
    }

    var timing: PostbackTiming { PostbackTiming(kind, sequenceIndex: sequenceIndex) }

    /// Re-engagements install nothing, and the windows of development devices last minutes.
    var hasInstall: Bool { conversionType != "re-engagement" && verdict != "development" }

    func isTrusted(trustsDevelopment: Bool) -> Bool {
        verdict == "valid" || (trustsDevelopment && verdict == "development")
    }
}

/// A row of `conversion-values`: a number of winning postbacks that brought the same value.
struct ValuedPostbacks {
    let row: PostbackRow
    /// 0 to 63; nil for a coarse value.
    let fine: Int?
    let coarse: CoarseValue?
    let count: Int64

    /// What is read of the aggregate.
    static let table = ConversionValuesKey.table.selecting(
        PostbackRow.columns + ["kind", "value"], measures: ["postbacks"])

    /// nil for postbacks that did not win.
    init?(_ columns: [StoredValue], _ measures: [Int64]) {
        row = PostbackRow(columns)
        guard row.didWin, measures[0] != 0 else { return nil }
        let value = columns[12].text
        fine = columns[11].text == "fine" ? Int(value) : nil
        coarse = columns[11].text == "coarse" ? CoarseValue(rawValue: value) : nil
        count = measures[0]
    }

    /// What a model says of the value.
    ///
    /// Versions take effect at whole hours, and a value was set whole hours before its postback
    /// came. So the stored hour decides as the exact time would.
    func decoding(_ model: ConversionModel, hourMilliseconds: Int64) -> ModelDecoding? {
        model.decoding(
            received: hourMilliseconds, timing: row.timing, fine: fine, coarse: coarse,
            sequenceIndex: Int(row.sequenceIndex))
    }
}

/// How the postbacks of a partition were decoded, as its store recorded it.
struct RecordedDecoding {
    /// The last models, by app. Versions are only appended, so these decode earlier postbacks as
    /// they were decoded then.
    let models: [Int64: ConversionModel]
    /// Whether postbacks of development devices were trusted at the end.
    let trustsDevelopment: Bool
    let changedTrust: Bool

    init(_ epochs: [Epoch]) throws(RecordedConfigurationFault) {
        var trust: [Bool] = []
        for epoch in epochs { trust.append(try epoch.configuration.trustsDevelopment()) }
        trustsDevelopment = trust.last ?? false
        changedTrust = Set(trust).count > 1
        let models = try epochs.last.map { epoch throws(RecordedConfigurationFault) in
            try [ConversionModel](recordedIn: epoch.configuration.text)
        }
        self.models = Dictionary(
            (models ?? []).map { ($0.app, $0) }, uniquingKeysWith: { first, _ in first })
    }
}

extension FoldConfiguration {
    fileprivate func trustsDevelopment() throws(RecordedConfigurationFault) -> Bool {
        try RecordedConfiguration.read(text) {
            configuration throws(RecordedConfigurationFault) in
            try configuration.optional("trust_development")?.boolean() ?? false
        }
    }
}

extension StoreSlice {
    /// How each partition of postbacks was decoded.
    ///
    /// - Throws: `unreadableConfiguration` for what another version has recorded.
    func recordedDecodings() throws -> [Int32: RecordedDecoding] {
        var decodings: [Int32: RecordedDecoding] = [:]
        for number in numbers {
            let epochs = try snapshot.epochs(of: number)
            do throws(RecordedConfigurationFault) {
                decodings[number] = try RecordedDecoding(epochs)
            } catch {
                throw InspectionError.unreadableConfiguration(
                    stream: stream, partition: number, error)
            }
        }
        return decodings
    }
}

extension StoreView {
    /// The last models of the apps, by which readers estimate the days of installs.
    func conversionModels() throws -> [Int64: ConversionModel] {
        var models: [Int64: ConversionModel] = [:]
        for slice in slices where slice.stream == PostbacksFold.streamName {
            for decoding in try slice.recordedDecodings().values { models.add(decoding.models) }
        }
        return models
    }
}

extension [Int64: ConversionModel] {
    /// Adds the models of another partition. While workers change over, some know later versions than others.
    mutating func add(_ others: [Int64: ConversionModel]) {
        merge(others) { $0.versions.count < $1.versions.count ? $1 : $0 }
    }
}

/// The days of installs that a row is of, with the apps and the kinds of their campaigns' ids, which decide the windows
/// in which Apple sends their postbacks.
struct InstallDays {
    private var kinds: [String: [Int64: CampaignIDKinds]] = [:]

    mutating func note(day: String, app: Int64, kinds: CampaignIDKinds) {
        self.kinds[day, default: [:]][app, default: []].formUnion(kinds)
    }

    mutating func formUnion(_ other: InstallDays) {
        kinds.merge(other.kinds) { $0.merging($1) { $0.union($1) } }
    }

    /// The days, with the apps of each.
    var apps: [(day: String, apps: [Int64])] { kinds.map { ($0, Array($1.keys)) } }

    /// The share of the windows of these days that are closed, and the time after which no postback gets a likely
    /// install on them; null where it is not known.
    func maturity(
        at watermarkMilliseconds: Int64?, models: [Int64: ConversionModel]
    ) -> [ReportValue] {
        let ends = kinds.flatMap { day, apps -> [Int64] in
            guard let midnight = UTC.milliseconds(text: day) else { return [] }
            // A window counts once a day, and is closed when it is for all apps.
            var ends: [PostbackTiming: Int64] = [:]
            for (app, kinds) in apps {
                for window in kinds.windows {
                    let end = window.cohortEnd(midnight: midnight, model: models[app])
                    ends[window] = max(ends[window] ?? end, end)
                }
            }
            return Array(ends.values)
        }
        let share = watermarkMilliseconds.map { watermark in
            ReportValue.ratio(Int128(ends.count { watermark >= $0 }), Int128(ends.count))
        }
        return [share ?? .null, .time(ends.max())]
    }
}

extension CampaignIDKinds {
    /// The windows in which Apple sends postbacks for ads with these ids: one for SKAdNetwork up to 3.0,
    /// three from 4.0 on and for AdAttributionKit. When the kind is not known, those of current devices.
    fileprivate var windows: [PostbackTiming] {
        (contains(.campaignID) ? [.upTo3] : [])
            + (contains(.sourceIdentifier) || !contains(.campaignID)
                ? [.window0, .window1, .window2] : [])
    }
}

extension PostbackTiming {
    /// The timing of values and installs, by the version of the framework.
    init(_ kind: CampaignIDKind, sequenceIndex: Int64) {
        self =
            kind == .campaignID
            ? .upTo3 : PostbackTiming.window(Int(truncatingIfNeeded: sequenceIndex)) ?? .window0
    }
}
