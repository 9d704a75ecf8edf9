import AggregateStore
import JSONReader
import Pipelines
import Streams

/// A postback of SKAdNetwork for an export: Apple's fields, what they were decoded to, and the
/// catalog's names. nil: the postback does not have it.
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

    /// Reads a published document, given as text and parsed; nil when it is no postback of
    /// SKAdNetwork.
    init?(
        _ published: PublishedPostback, _ text: UnsafeRawBufferPointer, _ document: JSONValue,
        _ catalog: Catalog
    ) {
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
        revenueMin = Self.amount(behind: Self.leastRevenue, in: text)
        revenueMax = revenueMin.flatMap {
            Self.amount(behind: Self.leastRevenue + $0.utf8 + Self.mostRevenue, in: text)
        }
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

    /// The text before each of the two amounts of the revenue. In strings quotes are escaped.
    private static let leastRevenue = Array("\"revenue\":{\"min\":".utf8)
    private static let mostRevenue = Array(",\"max\":".utf8)

    /// The digits after the first `lead`, as they were written: a floating-point number would lose
    /// some. nil when there are none.
    private static func amount(
        behind lead: [UInt8], in text: UnsafeRawBufferPointer
    ) -> String? {
        let places = 0..<max(0, text.count - lead.count)
        guard let first = lead.first,
            let place = places.first(where: { place in
                text[place] == first && text[place...].starts(with: lead)
            })
        else { return nil }
        let digits = text[(place + lead.count)...].prefix { byte in
            byte == UInt8(ascii: ".") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        }
        return digits.isEmpty ? nil : String(decoding: digits, as: UTF8.self)
    }

    /// Whether it has the three windows of version 4.0.
    private var hasWindows: Bool { Self.kind(version) != .campaignID }

    /// A postback without a version is one of 1.0.
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

    /// The name of the report's event for the postback; nil for those that are in no install
    /// report.
    var appsflyerEvent: String? {
        guard didWin ?? true, sequenceIndex == 0, let isRedownload else { return nil }
        return isRedownload ? "af_skad_redownload" : "af_skad_install"
    }

    /// The day to which AppsFlyer assigns the install: an average delay before the arrival.
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

    /// An integer, or a text of one: identifiers come as either.
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
