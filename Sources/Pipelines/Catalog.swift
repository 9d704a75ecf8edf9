/// Names of networks, apps and campaigns: `catalog.yaml`. Names are no part of what is folded.
package struct Catalog: Sendable {
    /// An ad network of the catalog.
    package struct Network: Equatable, Sendable {
        /// Name of the network.
        package let name: String
        /// P-256 public keys that its ads are signed with, SubjectPublicKeyInfo in base64.
        package let adSigningKeys: [PositionedText]
    }

    /// Networks by id, lower case.
    package let networks: [String: Network]
    /// Names of apps by App Store id.
    package let apps: [Int64: String]
    /// App Store ids by bundle id, of the apps that name theirs.
    package let appsByBundle: [String: Int64]
    /// The campaigns in the order of the file.
    package let campaigns: [CatalogCampaign]

    private let placesByCampaignID: [CampaignText: [Int]]
    private let placesBySourceIdentifier: [CampaignText: [Int]]
    private let placesByOffer: [AppOffer: Int]

    /// A catalog without any name.
    package init() {
        self.init(networks: [:])
    }

    init(
        networks: [String: Network],
        apps: [Int64: String] = [:],
        appsByBundle: [String: Int64] = [:],
        campaigns: [CatalogCampaign] = []
    ) {
        self.networks = networks
        self.apps = apps
        self.appsByBundle = appsByBundle
        self.campaigns = campaigns
        placesByCampaignID = Self.index(campaigns) { $0.campaignIDTexts }
        placesBySourceIdentifier = Self.index(campaigns) { $0.sourceIdentifierTexts }
        var offers: [AppOffer: Int] = [:]
        for (place, campaign) in campaigns.enumerated() {
            for offer in campaign.offers {
                offers[AppOffer(app: campaign.app, offer: offer)] = place
            }
        }
        placesByOffer = offers
    }

    /// Name of a network, by its id in any case; nil when the catalog has none.
    package func networkName(_ id: String) -> String? { networks[id.asciiLowercased]?.name }

    /// Name of an app; nil when the catalog has none.
    package func appName(_ id: Int64) -> String? { apps[id] }

    /// The campaign that an id of an event or a postback stands for.
    ///
    /// A source identifier of 2 to 4 digits stands for every campaign whose source identifier ends
    /// with it. A campaign of the catalog without any id stands for the empty text.
    ///
    /// - Parameters:
    ///   - network: id of the ad network, in any case.
    ///   - app: App Store id of the advertised app.
    ///   - campaign: the campaign column: the source identifier, else the campaign id, else "".
    ///   - kind: which of both it is, where that is known.
    package func campaign(
        network: String,
        app: Int64,
        campaign: String,
        as kind: CampaignIDKind = .either
    ) -> CampaignMatch {
        let text = CampaignText(network: network.asciiLowercased, app: app, campaign: campaign)
        let places: [Int] =
            switch kind {
            case .campaignID: placesByCampaignID[text, default: []]
            case .sourceIdentifier: placesBySourceIdentifier[text, default: []]
            case .either:
                Set(placesByCampaignID[text, default: []])
                    .union(placesBySourceIdentifier[text, default: []]).sorted()
            }
        guard let first = places.first else { return .unknown }
        return places.count == 1
            ? .known(campaigns[first]) : .ambiguous(places.map { campaigns[$0] })
    }

    /// The campaign that an offer of an app belongs to; nil when the catalog names none.
    ///
    /// - Parameters:
    ///   - app: App Store id of the app.
    ///   - offer: the offer as `store-notifications` has it, as `promotional:spring`.
    package func campaign(app: Int64, offer: String) -> CatalogCampaign? {
        placesByOffer[AppOffer(app: app, offer: offer)].map { campaigns[$0] }
    }

    /// The shortened source identifiers that stand for more than one campaign: by network, app and
    /// text, in bytewise order.
    package var suffixCollisions: [SuffixCollision] {
        placesBySourceIdentifier.filter { $0.value.count > 1 }
            .map { text, places in
                SuffixCollision(
                    network: text.network, app: text.app, suffix: text.campaign,
                    campaigns: places.map { campaigns[$0] })
            }
            .sorted {
                ($0.network, $0.app, $0.suffix) < ($1.network, $1.app, $1.suffix)
            }
    }

    private static func index(
        _ campaigns: [CatalogCampaign],
        by texts: (CatalogCampaign) -> [String]
    ) -> [CampaignText: [Int]] {
        var places: [CampaignText: [Int]] = [:]
        for (place, campaign) in campaigns.enumerated() {
            for text in texts(campaign) {
                let key = CampaignText(
                    network: campaign.network,
                    app: campaign.app,
                    campaign: text
                )
                places[key, default: []].append(place)
            }
        }
        return places
    }
}

/// A shortened source identifier that more than one campaign of a network and app ends with.
package struct SuffixCollision: Equatable, Sendable {
    /// Id of the ad network, lower case.
    package let network: String
    /// App Store id of the advertised app.
    package let app: Int64
    /// The last digits, as a postback may carry them.
    package let suffix: String
    /// The campaigns, in the order of the catalog.
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
