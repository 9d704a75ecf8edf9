import AggregateStore
import ConversionModels
import Pipelines

/// A row of `postbacks` that counts in the funnel: trusted and winning.
struct WinningPostbacks {
    private(set) var count: Int128
    private(set) var nullValues: Int128
    /// Which id the campaign is.
    let kind: CampaignIDKind
    let conversionType: String
    let hour: String
    let network: String
    let campaign: String
    let app: Int64
    let sourceApp: Int64
    let sequenceIndex: Int64
    /// Re-engagements install nothing, and the windows of development devices last minutes.
    let hasInstall: Bool
    let partition: Int32

    /// Takes a row of `FunnelSource.postbacks`; nil for one that does not count.
    init?(
        _ partition: Int32, _ columns: [StoredValue], _ measures: [Int64], trustsDevelopment: Bool
    ) {
        let verdict = columns[10].text
        let isTrusted = verdict == "valid" || (trustsDevelopment && verdict == "development")
        guard isTrusted, columns[9].integer != 0,
            measures.contains(where: { $0 != 0 })
        else { return nil }
        self.partition = partition
        count = Int128(measures[0])
        nullValues = Int128(measures[1])
        hour = columns[0].text
        kind = CampaignIDKind(framework: columns[1].text, version: columns[2].text)
        network = columns[3].text
        campaign = columns[4].text
        app = columns[5].integer
        sourceApp = columns[6].integer
        sequenceIndex = columns[7].integer
        conversionType = columns[8].text
        hasInstall = conversionType != "re-engagement" && verdict != "development"
    }

    /// Adds the same columns' row of another partition.
    mutating func add(_ other: WinningPostbacks) {
        count += other.count
        nullValues += other.nullValues
    }

    var timing: PostbackTiming { PostbackTiming(kind, sequenceIndex: sequenceIndex) }

    /// What decoded events have in common with the postbacks that they come from.
    var decodedKey: RowKeyBytes {
        RowKeyBytes(
            partition,
            [
                .text(hour), .text(network), .text(campaign), .integer(app), .integer(sourceApp),
                .integer(sequenceIndex), .integer(kind == .campaignID ? 0 : 1),
            ])
    }
}
