/// `catalog.yaml`: names of networks, apps and campaigns. Names do not affect the folded data.
package struct Catalog: Sendable {
    package struct Network: Equatable, Sendable {
        package let name: String
        /// P-256 public keys that sign its ads, SubjectPublicKeyInfo in base64.
        package let adSigningKeys: [PositionedText]
    }

    /// By id in lower case.
    package let networks: [String: Network]
    /// Names by App Store id.
    package let apps: [Int64: String]
    /// App Store ids by bundle id, for apps with one.
    package let appsByBundle: [String: Int64]
    /// In the order of the file.
    package let campaigns: [CatalogCampaign]
    /// The currency of amounts on pages, if the reader chooses none; nil to show amounts as recorded.
    package let reportCurrency: String?
    /// The time zone of days in reports.
    package let reportTimeZone: ReportTimeZone

    private let indicesByCampaignID: [CampaignText: [Int]]
    private let indicesBySourceIdentifier: [CampaignText: [Int]]
    private let indicesByOffer: [AppOffer: Int]

    package init(
        networks: [String: Network] = [:],
        apps: [Int64: String] = [:],
        appsByBundle: [String: Int64] = [:],
        campaigns: [CatalogCampaign] = [],
        reportCurrency: String? = nil,
        reportTimeZone: ReportTimeZone = .utc
    ) {
        self.networks = networks
        self.apps = apps
        self.appsByBundle = appsByBundle
        self.campaigns = campaigns
        self.reportCurrency = reportCurrency
        self.reportTimeZone = reportTimeZone
        indicesByCampaignID = Self.index(campaigns) { $0.campaignIDTexts }
        indicesBySourceIdentifier = Self.index(campaigns) { $0.sourceIdentifierTexts }
        var offers: [AppOffer: Int] = [:]
        for (index, campaign) in campaigns.enumerated() {
            for offer in campaign.offers {
                offers[AppOffer(app: campaign.app, offer: offer)] = index
            }
        }
        indicesByOffer = offers
    }

    /// `id` in any case. Nil if the network is not in the catalog.
    package func networkName(_ id: String) -> String? { networks[id.asciiLowercased]?.name }

    package func appName(_ id: Int64) -> String? { apps[id] }

    /// The campaign for an id of an event or a postback.
    ///
    /// A source identifier of 2 to 4 digits matches every campaign that has it at the end of its source identifier.
    /// The empty text matches a campaign of the catalog without any id.
    ///
    /// - Parameters:
    ///   - network: id of the ad network, in any case.
    ///   - app: App Store id of the advertised app.
    ///   - campaign: the campaign column: the source identifier, otherwise the campaign id, otherwise "".
    ///   - kind: the kind of id, if known.
    package func campaign(
        network: String, app: Int64, campaign: String, as kind: CampaignIDKind = .either
    ) -> CampaignMatch {
        let text = CampaignText(network: network.asciiLowercased, app: app, campaign: campaign)
        let indices: [Int] =
            switch kind {
            case .campaignID: indicesByCampaignID[text, default: []]
            case .sourceIdentifier: indicesBySourceIdentifier[text, default: []]
            case .either:
                Set(indicesByCampaignID[text, default: []])
                    .union(indicesBySourceIdentifier[text, default: []]).sorted()
            }
        guard let first = indices.first else { return .unknown }
        return indices.count == 1
            ? .matched(campaigns[first]) : .ambiguous(indices.map { campaigns[$0] })
    }

    /// The campaign that an App Store offer belongs to; nil if the catalog does not name one.
    ///
    /// - Parameters:
    ///   - app: App Store id of the app.
    ///   - offer: the offer as in `store-notifications`, such as `promotional:spring`.
    package func campaign(app: Int64, offer: String) -> CatalogCampaign? {
        indicesByOffer[AppOffer(app: app, offer: offer)].map { campaigns[$0] }
    }

    /// The shortened source identifiers that match more than one campaign, sorted by network, app and text.
    package var suffixCollisions: [SuffixCollision] {
        indicesBySourceIdentifier.filter { $0.value.count > 1 }
            .map { text, indices in
                SuffixCollision(
                    network: text.network, app: text.app, suffix: text.campaign,
                    campaigns: indices.map { campaigns[$0] })
            }
            .sorted {
                ($0.network, $0.app, $0.suffix) < ($1.network, $1.app, $1.suffix)
            }
    }

    private static func index(
        _ campaigns: [CatalogCampaign], by texts: (CatalogCampaign) -> [String]
    ) -> [CampaignText: [Int]] {
        var indices: [CampaignText: [Int]] = [:]
        for (index, campaign) in campaigns.enumerated() {
            for text in texts(campaign) {
                let key = CampaignText(network: campaign.network, app: campaign.app, campaign: text)
                indices[key, default: []].append(index)
            }
        }
        return indices
    }
}

/// A shortened source identifier that matches more than one campaign of a network and app.
package struct SuffixCollision: Equatable, Sendable {
    /// In lower case.
    package let network: String
    /// App Store id of the advertised app.
    package let app: Int64
    /// The last digits, as a postback may carry them.
    package let suffix: String
    /// In the order of the catalog.
    package let campaigns: [CatalogCampaign]
}

private struct AppOffer: Hashable {
    var app: Int64
    var offer: String
}

private struct CampaignText: Hashable {
    var network: String
    var app: Int64
    var campaign: String
}

extension CatalogCampaign {
    fileprivate var campaignIDTexts: [String] {
        if let campaignID { return [String(campaignID)] }
        return sourceIdentifier == nil ? [""] : []
    }
}

package struct CatalogCampaign: Equatable, Sendable {
    package let name: String
    /// In lower case.
    package let network: String
    /// App Store id of the advertised app.
    package let app: Int64
    /// 1...100; used below SKAdNetwork 4.0.
    package let campaignID: Int?
    /// 1 to 4 digits; used from SKAdNetwork 4.0 on and by AdAttributionKit.
    package let sourceIdentifier: String?
    package let mediaSource: String?
    /// The partner of the campaign, in the user's words.
    package let partner: String?
    /// App Store offers as in `store-notifications`.
    package let offers: [String]
    package let targets: Targets

    /// Limits that reports compare its results with.
    package struct Targets: Equatable, Sendable {
        /// Millionths of a unit of the currency of its spend.
        package let costPerInstallMicros: Int64?
        /// Millionths of the return on spend by day 7 after the install.
        package let returnMicros: Int64?
    }

    /// The campaign's id in reports: its source identifier, otherwise its campaign id, otherwise "".
    package var fullIdentifier: String {
        sourceIdentifier ?? campaignID.map { String($0) } ?? ""
    }

    /// The source identifier, and its last three and two digits: for a small crowd Apple sends only those.
    var sourceIdentifierTexts: [String] {
        guard let sourceIdentifier else { return [] }
        let shorter = (2...4).filter { $0 < sourceIdentifier.utf8.count }
        return [sourceIdentifier] + shorter.map { String(sourceIdentifier.suffix($0)) }
    }
}

package enum CampaignIDKind: Sendable {
    /// Below version 4.0.
    case campaignID
    /// From version 4.0 on, perhaps shortened.
    case sourceIdentifier
    /// Unknown, as in an aggregate.
    case either
}

package enum CampaignMatch: Equatable, Sendable {
    case matched(CatalogCampaign)
    /// More than one, in the order of the catalog.
    case ambiguous([CatalogCampaign])
    case unknown
}
