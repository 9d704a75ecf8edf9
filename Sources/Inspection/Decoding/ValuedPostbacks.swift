import AggregateStore
import ConversionModels
import Pipelines
import Streams

/// A row of `conversion-values` of winning postbacks: so many postbacks that brought one value.
struct ValuedPostbacks {
    let hour: String
    let network: String
    let campaign: String
    let app: Int64
    let sourceApp: Int64
    let sequenceIndex: Int64
    let conversionType: String
    let verdict: String
    /// Which id the campaign is.
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

    /// Takes a row of the table; nil for postbacks that did not win.
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

    /// Whether the verdict is trusted.
    func isTrusted(trustsDevelopment: Bool) -> Bool {
        verdict == "valid" || (trustsDevelopment && verdict == "development")
    }

    /// What a model says of the value.
    ///
    /// Versions are in effect from whole hours on, and a value was set whole hours before its postback
    /// came: the stored hour decides as the moment itself does.
    func decoding(_ model: ConversionModel, hourMilliseconds: Int64) -> ModelDecoding? {
        model.decoding(
            received: hourMilliseconds, timing: timing, fine: fine, coarse: coarse,
            sequenceIndex: Int(sequenceIndex))
    }
}
