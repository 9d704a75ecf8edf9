import ConversionModels
import EventLog
import Signatures

/// A copy of a postback that was decoded, whatever became of it: what the copies of several routes are
/// held against each other by.
package struct PostbackCopy: Sendable {
    /// Which postback it is a copy of.
    package var id: RecordID
    /// How it came.
    package var route: PostbackRoute
    /// The partition that it lies in.
    package var partition: Int32
    /// Its offset.
    package var offset: Int64
    /// Its timestamp, in milliseconds since 1970.
    package var timestampMilliseconds: Int64
    /// What became of it.
    package var outcome: Outcome
    /// Who signed it.
    package var verdict: Verdict
    /// What it carries that nobody signed.
    package var values: UnsignedValues
    /// Whose ad it was.
    package var campaign: CampaignKey
    /// 0 to 2; 0 below 4.0.
    package var sequenceIndex: Int
    /// Whether the campaign is a source identifier, and not a campaign id.
    package var hasSourceIdentifier: Bool
    /// Whether it is of the network that won.
    package var didWin: Bool
}

extension PostbackCopy {
    static let table = MemoryTable(
        "postback_copies",
        "Every copy of a postback that was decoded, whatever became of it, in order.",
        [
            .init("offset", .integer),
            .init("id", .bytes, "as in postback_ids"),
            .init("route", .text, "'device', 'developer-copy', 'relay'"),
            .init("timestamp_ms", .integer),
            .init("outcome", .text, "'accepted', 'duplicates', 'conflicts'"),
            .init("verdict", .text, "'valid', 'development', 'invalid', 'unverifiable'"),
            .init("conversion_value", .integer, isOptional: true),
            .init("coarse_value", .text, isOptional: true),
            .init("country", .text, isOptional: true),
            .init("ad_network_id", .text),
            .init("campaign", .text, "source identifier, or campaign id below 4.0"),
            .init("app_id", .integer, "advertised app"),
            .init("source_app_id", .integer, "publisher's app, 0 when absent"),
            .init("sequence_index", .integer, "0, 1 or 2; 0 below 4.0"),
            .init("has_source_identifier", .integer, "1: campaign is one, 0: it is a campaign id"),
            .init("did_win", .integer, "1 or 0: developers get no copy of those that did not"),
        ])

    func row(_ symbols: SymbolTable) -> [MemoryValue] {
        [
            .integer(offset), .id(id), .text("\(route.name)"), .integer(timestampMilliseconds),
            .text(OutcomeKey.table.measures[outcome.rawValue]), .text(verdict.name),
            MemoryValue(values.fineValue.map { Int64($0) }),
            MemoryValue(values.coarseValue?.rawValue), MemoryValue(values.country),
            .text(symbols.text(campaign.adNetworkID)), .text(symbols.text(campaign.campaign)),
            .integer(campaign.appID), .integer(campaign.sourceAppID),
            .integer(Int64(sequenceIndex)), .integer(hasSourceIdentifier ? 1 : 0),
            .integer(didWin ? 1 : 0),
        ]
    }
}
