import AggregateStore
import ConversionModels
import Pipelines
import Streams

/// A row of `conversion-values`: a number of winning postbacks that brought the same value.
struct ValuedPostbacks {
    let hour: String
    let network: String
    let campaign: String
    let app: Int64
    let sourceApp: Int64
    let sequenceIndex: Int64
    let conversionType: String
    let verdict: String
    /// The kind of the campaign's id.
    let kind: CampaignIDKind
    /// 0 to 63; nil for a coarse value.
    let fine: Int?
    let coarse: CoarseValue?
    let count: Int64

    /// What is read of the aggregate.
    static let table = ConversionValuesKey.table.selecting(
        [
            "hour", "framework", "version", "ad_network_id", "campaign", "app_id", "source_app_id",
            "sequence_index", "conversion_type", "did_win", "verdict", "kind", "value",
        ], measures: ["postbacks"])

    /// nil for postbacks that did not win.
    init?(_ columns: [StoredValue], _ measures: [Int64]) {
        guard columns[9].integer != 0, measures[0] != 0 else { return nil }
        hour = columns[0].text
        kind = CampaignIDKind(framework: columns[1].text, version: columns[2].text)
        network = columns[3].text
        campaign = columns[4].text
        app = columns[5].integer
        sourceApp = columns[6].integer
        sequenceIndex = columns[7].integer
        conversionType = columns[8].text
        verdict = columns[10].text
        let value = columns[12].text
        fine = columns[11].text == "fine" ? Int(value) : nil
        coarse = columns[11].text == "coarse" ? CoarseValue(rawValue: value) : nil
        count = measures[0]
    }

    var timing: PostbackTiming { PostbackTiming(kind, sequenceIndex: sequenceIndex) }

    /// Re-engagements install nothing, and the windows of development devices last minutes.
    var hasInstall: Bool { conversionType != "re-engagement" && verdict != "development" }

    func isTrusted(trustsDevelopment: Bool) -> Bool {
        verdict == "valid" || (trustsDevelopment && verdict == "development")
    }

    /// What a model says of the value.
    ///
    /// Versions take effect at whole hours, and a value was set whole hours before its postback
    /// came. So the stored hour decides as the exact time would.
    func decoding(_ model: ConversionModel, hourMilliseconds: Int64) -> ModelDecoding? {
        model.decoding(
            received: hourMilliseconds, timing: timing, fine: fine, coarse: coarse,
            sequenceIndex: Int(sequenceIndex))
    }
}

extension StoreView {
    /// Calls `body` with the conversion values of verified, winning postbacks, as rows of
    /// `conversion-updates`.
    ///
    /// The model is the version that decodes the value: the one in effect 24 hours before the
    /// postback came. It is empty for an app without a model.
    func forEachBroughtValue(
        in copy: Copy, _ plan: DumpPlan, _ body: ([StoredValue], [Int64]) -> Void
    ) throws {
        let noted = plan.description.measures.map { _ in Int64(0) }.dropLast()
        var hours = HourColumn()
        try copy.forEachRow(of: Self.values) {
            _, columns, measures in
            guard case .text(let hourText) = columns[0], case .integer(let app) = columns[1],
                columns[6] == .integer(1), Self.verified.contains(columns[7])
            else { return }
            let hour = hours.hour(hourText)
            let values = Self.broughtValue(columns, hour, of: app, plan)
            guard plan.includes(values, timeMilliseconds: hour.milliseconds) else { return }
            body(values, noted + measures)
        }
    }

    /// Whether a row of `conversion-values`, given by its column names, is selected.
    static func includesBroughtValue(
        _ column: (String) -> StoredValue, _ plan: DumpPlan
    ) -> Bool {
        let columns = values.columns.map { column($0.name) }
        guard case .text(let hourText) = columns[0], case .integer(let app) = columns[1],
            columns[6] == .integer(1), verified.contains(columns[7])
        else { return false }
        var hours = HourColumn()
        let hour = hours.hour(hourText)
        return plan.includes(
            broughtValue(columns, hour, of: app, plan), timeMilliseconds: hour.milliseconds)
    }

    /// The columns of `conversion-updates`, with the day after the hour.
    private static func broughtValue(
        _ columns: [StoredValue], _ hour: (milliseconds: Int64, day: String), of app: Int64,
        _ plan: DumpPlan
    ) -> [StoredValue] {
        let model = model(plan.models[app], hourMilliseconds: hour.milliseconds)
        return [
            columns[0], .text(hour.day), columns[1], columns[2], columns[3], .text(model),
            columns[4], columns[5],
        ]
    }

    /// Versions begin at whole hours, so all postbacks of an hour have the same one.
    private static func model(_ model: ConversionModel?, hourMilliseconds: Int64) -> String {
        let latest = PostbackTiming.upTo3.settingInterval(received: hourMilliseconds).latest
        guard let model, let index = model.versionIndex(inEffectAtMilliseconds: latest) else {
            return ""
        }
        return model.versions[index].id
    }

    private static let verified: [StoredValue] = [.text("valid"), .text("development")]

    private static let values = ConversionValuesKey.table.selecting(
        [
            "hour", "app_id", "framework", "sequence_index", "kind", "value", "did_win", "verdict",
        ], measures: ["postbacks"])
}

/// How the postbacks of a partition were decoded, as its store recorded it.
struct RecordedDecoding {
    /// The last models, by app. Versions are only appended, so these decode earlier postbacks as
    /// they were decoded then.
    let models: [Int64: ConversionModel]
    /// Whether postbacks of development devices were trusted at the end.
    let trustsDevelopment: Bool
    /// Whether that setting ever changed.
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

extension StoreView.Copy {
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
