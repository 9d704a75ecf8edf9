import ConfigurationValues
import JSON
import Store
import Streams

/// A postback for an export: Apple's fields, their decoded values, and the catalog's names. Nil for fields that the
/// postback does not have.
struct ExportedPostback {
    private let published: PublishedPostback
    private let text: UnsafeRawBufferPointer
    private let postback: JSONValue
    private let conversion: JSONValue?
    private let catalog: Catalog
    private let campaign: CatalogCampaign?
    let receivedMilliseconds: Int64

    /// True for AdAttributionKit.
    let isJWS: Bool

    /// Parses a published document, given as text and as JSON; nil if it is not a postback.
    init?(
        _ published: PublishedPostback, _ text: UnsafeRawBufferPointer, _ document: JSONValue,
        _ catalog: Catalog
    ) {
        guard let postback = document.firstMember("postback"),
            let received = UTC.milliseconds(text: document.firstMember("received_at")?.text ?? "")
        else { return nil }
        self.published = published
        self.text = text
        self.postback = postback
        self.catalog = catalog
        conversion = document.firstMember("conversion")
        isJWS = postback.firstMember("jws_string") != nil
        receivedMilliseconds = received
        let match = catalog.campaign(
            network: published.adNetworkID, app: published.appID, campaign: published.campaign,
            as: isJWS
                ? .sourceIdentifier : CampaignIDKind(skanVersion: Self.version(of: postback)))
        if case .matched(let found) = match { campaign = found } else { campaign = nil }
    }

    var adNetworkID: String { published.adNetworkID }
    var appID: Int64 { published.appID }
    var isValid: Bool { published.isValid }
    var framework: String { isJWS ? "adattributionkit" : "skadnetwork" }
    /// For SKAdNetwork, the transaction.
    var postbackID: String? {
        transactionID ?? postback.firstMember("postback_identifier")?.text
    }
    var campaignText: String { published.campaign }
    /// AdAttributionKit's term, also used for SKAdNetwork's number.
    var interaction: String? {
        isJWS
            ? postback.firstMember("ad_interaction_type")?.text
            : fidelityType.map { $0 == 1 ? "click" : "view" }
    }
    var conversionType: String? {
        isJWS
            ? postback.firstMember("conversion_type")?.text
            : isRedownload.map { $0 ? "redownload" : "download" }
    }
    var marketplace: String? { postback.firstMember("marketplace_identifier")?.text }
    var publisherAppID: Int128? {
        sourceAppID ?? postback.firstMember("publisher_item_identifier")?.integer
    }
    var modelVersion: String? { conversion?.firstMember("model")?.text }
    var receivedTime: String { UTC.text(milliseconds: receivedMilliseconds) }
    /// SKAdNetwork's version; nil for AdAttributionKit.
    var version: String? { isJWS ? nil : Self.version(of: postback) }
    var transactionID: String? { postback.firstMember("transaction_id")?.text }
    var campaignID: Int128? { postback.firstMember("campaign_id")?.integer }
    var sourceIdentifier: String? { postback.firstMember("source_identifier")?.textOrDigits }
    var sourceAppID: Int128? { postback.firstMember("source_app_id")?.integer }
    var sourceDomain: String? { postback.firstMember("source_domain")?.text }
    var sequenceIndex: Int128 { postback.firstMember("postback_sequence_index")?.integer ?? 0 }
    var fidelityType: Int128? { postback.firstMember("fidelity_type")?.integer }
    var isRedownload: Bool? { postback.firstMember("redownload")?.boolean }
    var didWin: Bool? { postback.firstMember("did_win")?.boolean }
    var signature: String? { postback.firstMember("attribution_signature")?.text }
    var country: String? { postback.firstMember("country_code")?.text }
    var conversionValue: Int128? { conversion?.firstMember("value")?.integer }
    var coarseValue: String? { conversion?.firstMember("coarse")?.text }
    var isAmbiguous: Bool { conversion?.firstMember("ambiguous")?.boolean ?? false }
    var networkName: String? { catalog.networkName(adNetworkID) }
    var appName: String? { catalog.appName(appID) }
    var campaignName: String? { campaign?.name }
    var mediaSource: String? { campaign?.mediaSource }
    var revenueCurrency: String? {
        conversion?.firstMember("revenue")?.firstMember("currency")?.text
    }
    /// In units of the currency, as decimal digits.
    var revenueMin: String? { Self.amount(after: Self.leastRevenue, in: text) }
    var revenueMax: String? {
        revenueMin.flatMap {
            Self.amount(after: Self.leastRevenue + $0.utf8 + Self.mostRevenue, in: text)
        }
    }

    /// The text that precedes each of the two amounts of the revenue. It cannot match within a string, where quotes are
    /// escaped.
    private static let leastRevenue = Array("\"revenue\":{\"min\":".utf8)
    private static let mostRevenue = Array(",\"max\":".utf8)

    /// The digits after the first `lead`, exactly as written: a floating-point number would lose digits. Nil without
    /// digits.
    private static func amount(
        after lead: [UInt8], in text: UnsafeRawBufferPointer
    ) -> String? {
        let indices = 0..<max(0, text.count - lead.count)
        guard let first = lead.first,
            let index = indices.first(where: { index in
                text[index] == first && text[index...].starts(with: lead)
            })
        else { return nil }
        let digits = text[(index + lead.count)...].prefix { byte in
            byte == UInt8(ascii: ".") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        }
        return digits.isEmpty ? nil : String(decoding: digits, as: UTF8.self)
    }

    /// Whether the postback has the three windows of version 4.0.
    private var hasWindows: Bool {
        CampaignIDKind(skanVersion: Self.version(of: postback)) != .campaignID
    }

    /// An SKAdNetwork postback without a version is version 1.0.
    private static func version(of postback: JSONValue) -> String {
        postback.firstMember("version")?.text ?? "1.0"
    }

    var receivedSeconds: Int128 { Int128(receivedMilliseconds / 1000) }

    /// `2026-11-21`.
    var receivedDay: String { Self.day(receivedMilliseconds) }

    /// `2026-11-21 05:28:00`.
    var receivedTimeOfDay: String {
        let text = UTC.text(milliseconds: receivedMilliseconds / 1000 * 1000)
        return text.replacing("T", with: " ").replacing("Z", with: "")
    }

    /// The name of the report's event for the postback; nil for postbacks outside the install report.
    var appsflyerEvent: String? {
        guard didWin ?? true, sequenceIndex == 0, let isRedownload else { return nil }
        return isRedownload ? "af_skad_redownload" : "af_skad_install"
    }

    /// The day to which AppsFlyer assigns the install: the arrival minus an average delay.
    var appsflyerInstallDate: String? {
        let hoursBefore: Int64 =
            switch (hasWindows, sequenceIndex) {
            case (true, 0): 48 + 36
            case (true, 1): 168 + 84
            case (true, _): 840 + 84
            case (false, _): conversionValue == 0 ? 36 : 36 + 12
            }
        return Self.day(receivedMilliseconds - hoursBefore * Hour.milliseconds)
    }

    /// Singular's terms for a first and a repeated download.
    var singularDownload: String? {
        isRedownload.map { $0 ? "redownload" : "download" }
    }

    private static func day(_ milliseconds: Int64) -> String {
        String(UTC.text(milliseconds: milliseconds).prefix { $0 != "T" })
    }
}

extension JSONValue {
    fileprivate var text: String? {
        string.map { String(decoding: $0, as: UTF8.self) }
    }

    /// An integer, or a text of one: identifiers arrive as either.
    fileprivate var integer: Int128? {
        if let text { return Int128(text) }
        return switch number {
        case .integer(let integer): Int128(integer)
        case .large(let large): Int128(large)
        case .double(let double): Int128(exactly: double)
        case nil: nil
        }
    }

    fileprivate var textOrDigits: String? { text ?? integer?.description }
}
