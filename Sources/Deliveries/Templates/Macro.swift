import Foundation
import JSON
import Streams

/// A name for templates, such as `{postback.app_id}`. The raw value is the name. It is also the path of the value in
/// the document, except for derived values.
enum Macro: String, CaseIterable, Sendable {
    case id
    case revision
    case partner
    /// `id:revision`.
    case idempotencyKey = "idempotency_key"
    /// `id:revision` of the document that a correction replaces.
    case supersedes
    /// `true` in a correction that withdraws a postback.
    case withdrawn
    case receivedAt = "received_at"
    /// Seconds since 1970.
    case receivedAtUnix = "received_at_unix"
    /// `skadnetwork` or `adattributionkit`.
    case framework
    /// Transaction id or postback identifier, as written by Apple.
    case transaction = "transaction_id"
    /// The conversion window, 0...2; 0 below SKAdNetwork 4.0.
    case window = "sequence_index"
    /// 1 or 0.
    case redownloadFlag = "flags.redownload"
    /// 1 or 0.
    case didWinFlag = "flags.did_win"
    /// Apple's JSON with its own names, as the device sent it to the network.
    case payload = "sk_payload"
    /// `payload` in base64.
    case payloadBase64 = "sk_payload_base64"

    case version = "postback.version"
    case adNetworkID = "postback.ad_network_id"
    case transactionID = "postback.transaction_id"
    case appID = "postback.app_id"
    case campaignID = "postback.campaign_id"
    case sourceIdentifier = "postback.source_identifier"
    case redownload = "postback.redownload"
    case sourceAppID = "postback.source_app_id"
    case sourceDomain = "postback.source_domain"
    case fidelityType = "postback.fidelity_type"
    case didWin = "postback.did_win"
    case sequenceIndex = "postback.postback_sequence_index"
    case postbackConversionValue = "postback.conversion_value"
    case postbackCoarseValue = "postback.coarse_conversion_value"
    case countryCode = "postback.country_code"
    case attributionSignature = "postback.attribution_signature"
    case jwsString = "postback.jws_string"
    case adInteractionType = "postback.ad_interaction_type"
    case postbackIdentifier = "postback.postback_identifier"
    case adNetworkIdentifier = "postback.ad_network_identifier"
    case advertisedItemIdentifier = "postback.advertised_item_identifier"
    case publisherItemIdentifier = "postback.publisher_item_identifier"
    case marketplaceIdentifier = "postback.marketplace_identifier"
    case impressionType = "postback.impression_type"
    case conversionType = "postback.conversion_type"

    case campaignName = "campaign.name"
    case campaignNetwork = "campaign.network"
    case campaignApp = "campaign.app"
    case campaignMediaSource = "campaign.media_source"
    /// From either framework, in lower case.
    case campaignNetworkID = "campaign.ad_network_id"
    /// Source identifier, or campaign id before 4.0.
    case campaignNumber = "campaign.campaign"
    /// From either framework.
    case campaignAppID = "campaign.app_id"
    case campaignSourceAppID = "campaign.source_app_id"

    case conversionValue = "conversion.value"
    case conversionCoarse = "conversion.coarse"
    case conversionModel = "conversion.model"
    case conversionAmbiguous = "conversion.ambiguous"
    /// A list of objects; JSON in a text.
    case conversionEvents = "conversion.events"
    /// A list of event names; joined with commas in a text.
    case eventNames = "conversion.event_names"
    /// Minimum counts, in the order of the names.
    case countsMin = "conversion.counts_min"
    /// Maximum counts, in the order of the names.
    case countsMax = "conversion.counts_max"
    /// An object with both bounds and the currency; JSON in a text.
    case revenue = "conversion.revenue"
    case revenueMin = "conversion.revenue.min"
    case revenueMax = "conversion.revenue.max"
    case revenueCurrency = "conversion.revenue.currency"

    case installEarliest = "install_window.earliest"
    case installLatest = "install_window.latest"
    case installEarliestUnix = "install_window.earliest_unix"
    case installLatestUnix = "install_window.latest_unix"

    case originTopic = "origin.topic"
    case originPartition = "origin.partition"
    case originOffset = "origin.offset"

    /// The macro with the closest name to an unknown word; nil if none is close.
    static func nearest(to word: String) -> Macro? {
        let distances = allCases.map { ($0, distance($0.rawValue, word)) }
        let least = distances.min { $0.1 < $1.1 }
        guard let (macro, distance) = least, distance <= max(2, word.count / 3) else {
            return allCases.first { $0.rawValue.hasSuffix("." + word) }
        }
        return macro
    }

    /// The Levenshtein distance in bytes.
    private static func distance(_ one: String, _ other: String) -> Int {
        let other = Array(other.prefix(64).utf8)
        var row = Array(0...other.count)
        for (index, byte) in one.utf8.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for column in other.indices {
                let substituted = diagonal + (other[column] == byte ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(substituted, row[column] + 1, row[column + 1] + 1)
            }
        }
        return row[other.count]
    }
}
