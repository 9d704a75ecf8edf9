import AggregateStore
import JSONReader
import Pipelines
import Streams

/// A postback of SKAdNetwork on its way into an export: Apple's fields, what they were decoded to, and
/// the catalog's names. Nil stands for what the postback does not have.
struct ExportedPostback {
    let adNetworkID: String
    let appID: Int64
    let isValid: Bool
    let version: String?
    let transactionID: String?
    let campaignID: Int128?
    let sourceIdentifier: String?
    let sourceAppID: Int128?
    let sourceDomain: String?
    let conversionValue: Int128?
    let coarseValue: String?
    let sequenceIndex: Int128
    let fidelityType: Int128?
    let isRedownload: Bool?
    let didWin: Bool?
    let signature: String?
    let country: String?
    let isAmbiguous: Bool
    /// In units of the currency, as decimal digits.
    let revenueMin: String?
    let revenueMax: String?
    let revenueCurrency: String?
    let receivedMilliseconds: Int64
    let networkName: String?
    let appName: String?
    let campaignName: String?
    let mediaSource: String?

    /// Reads what partners got; nil for what is no postback of SKAdNetwork.
    init?(_ published: PublishedPostback, _ document: JSONValue, _ catalog: Catalog) {
        guard let postback = document.firstMember("postback"),
            postback.firstMember("jws_string") == nil,
            let received = UTC.milliseconds(text: document.firstMember("received_at")?.text ?? "")
        else { return nil }
        adNetworkID = published.adNetworkID
        appID = published.appID
        isValid = published.isValid
        version = postback.firstMember("version")?.text
        transactionID = postback.firstMember("transaction_id")?.text
        campaignID = postback.firstMember("campaign_id")?.integer
        sourceIdentifier = postback.firstMember("source_identifier")?.textOrDigits
        sourceAppID = postback.firstMember("source_app_id")?.integer
        sourceDomain = postback.firstMember("source_domain")?.text
        sequenceIndex = postback.firstMember("postback_sequence_index")?.integer ?? 0
        fidelityType = postback.firstMember("fidelity_type")?.integer
        isRedownload = postback.firstMember("redownload")?.boolean
        didWin = postback.firstMember("did_win")?.boolean
        signature = postback.firstMember("attribution_signature")?.text
        country = postback.firstMember("country_code")?.text
        let conversion = document.firstMember("conversion")
        conversionValue = conversion?.firstMember("value")?.integer
        coarseValue = conversion?.firstMember("coarse")?.text
        isAmbiguous = conversion?.firstMember("ambiguous")?.boolean ?? false
        let revenue = conversion?.firstMember("revenue")
        let amounts = published.document.firstMatch(of: Self.revenue)
        revenueMin = amounts.map { String($0.1) }
        revenueMax = amounts.map { String($0.2) }
        revenueCurrency = revenue?.firstMember("currency")?.text
        receivedMilliseconds = received
        networkName = catalog.networkName(published.adNetworkID)
        appName = catalog.appName(published.appID)
        let match = catalog.campaign(
            network: published.adNetworkID, app: published.appID, campaign: published.campaign,
            as: Self.kind(version))
        var known: CatalogCampaign?
        if case .known(let campaign) = match { known = campaign }
        campaignName = known?.name
        mediaSource = known?.mediaSource
    }

    /// The digits as they were written: a floating-point number would not hold each of them. Within
    /// strings quotes are escaped.
    private static var revenue: Regex<(Substring, Substring, Substring)> {
        /"revenue":{"min":([0-9.]+),"max":([0-9.]+),/
    }

    /// Whether it is one of the three windows of version 4.0.
    private var hasWindows: Bool { Self.kind(version) != .campaignID }

    /// A postback that says no version is one of 1.0.
    private static func kind(_ version: String?) -> CampaignIDKind {
        CampaignIDKind(skanVersion: version ?? "1.0")
    }

    var receivedSeconds: Int128 { Int128(receivedMilliseconds / 1000) }

    /// `2026-11-21`.
    var receivedDay: String { Self.day(receivedMilliseconds) }

    /// `2026-11-21 05:28:00`.
    var receivedTimeOfDay: String {
        let text = UTC.text(milliseconds: receivedMilliseconds / 1000 * 1000)
        return text.replacing("T", with: " ").replacing("Z", with: "")
    }

    /// The name of the report's event for the postback as a whole; nil for those that no install
    /// report has.
    var appsflyerEvent: String? {
        guard didWin ?? true, sequenceIndex == 0, let isRedownload else { return nil }
        return isRedownload ? "af_skad_redownload" : "af_skad_install"
    }

    /// The day on which AppsFlyer puts the install: an average delay before the arrival.
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

    /// Singular's words for a first and a repeated download.
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

    /// An integer, or a text that is one: identifiers come as either.
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
