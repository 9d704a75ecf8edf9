import AggregateStore
import Pipelines

/// Looks campaigns up in a catalog, each id once: reports ask for few ids in many rows.
struct CampaignNames {
    /// What a report shows of a campaign.
    struct Named {
        /// The catalog's full identifier; as it came when it does not stand for one campaign.
        let campaign: String
        /// The name; `? of 2` when two campaigns can be meant, empty when none.
        let name: String
        /// Empty when it is not one campaign's.
        let mediaSource: String
        /// Empty when it is not one campaign's.
        let partner: String
    }

    private struct ID: Hashable {
        let network: StoredValue
        let app: Int64
        let campaign: StoredValue
        let kind: CampaignIDKind
    }

    private let catalog: Catalog
    private var known: [ID: Named] = [:]

    init(_ catalog: Catalog) {
        self.catalog = catalog
    }

    mutating func named(
        network: String, app: Int64, campaign: String, as kind: CampaignIDKind
    ) -> Named {
        let id = ID(network: .text(network), app: app, campaign: .text(campaign), kind: kind)
        if let found = known[id] { return found }
        let match = catalog.campaign(network: network, app: app, campaign: campaign, as: kind)
        let named = Named(match, campaign: campaign)
        known[id] = named
        return named
    }
}

extension CampaignNames.Named {
    init(_ match: CampaignMatch, campaign: String) {
        switch match {
        case .known(let found): self.init(found)
        case .ambiguous(let candidates):
            self.init(
                campaign: campaign, name: "? of \(candidates.count)", mediaSource: "", partner: "")
        case .unknown: self.init(campaign: campaign, name: "", mediaSource: "", partner: "")
        }
    }

    init(_ found: CatalogCampaign) {
        self.init(
            campaign: found.fullIdentifier, name: found.name,
            mediaSource: found.mediaSource ?? "", partner: found.partner ?? "")
    }
}

extension CampaignIDKind {
    /// Which id the campaign column of an event of a version of SKAdNetwork is.
    init(skanVersion version: String) {
        guard let major = Int(version.prefix { $0 != "." }) else {
            self = .either
            return
        }
        self = major < 4 ? .campaignID : .sourceIdentifier
    }

    /// Which id the campaign column of a postback is.
    init(framework: String, version: String) {
        self = framework == "skadnetwork" ? Self(skanVersion: version) : .sourceIdentifier
    }
}
