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
        let kinds: CampaignIDKinds
    }

    private let catalog: Catalog
    private var known: [ID: Named] = [:]

    init(_ catalog: Catalog) {
        self.catalog = catalog
    }

    mutating func named(
        network: String, app: Int64, campaign: String, as kinds: CampaignIDKinds
    ) -> Named {
        let id = ID(network: .text(network), app: app, campaign: .text(campaign), kinds: kinds)
        if let found = known[id] { return found }
        let matches = kinds.kinds.map { kind in
            catalog.campaign(network: network, app: app, campaign: campaign, as: kind)
        }
        let named = Named(matches, campaign: campaign)
        known[id] = named
        return named
    }
}

extension CampaignNames.Named {
    /// What an id stands for that was looked up as each kind that it has. One that is unknown as one
    /// of them stands for a campaign that the catalog lacks.
    init(_ matches: [CampaignMatch], campaign: String) {
        var candidates: [CatalogCampaign] = []
        for candidate in matches.flatMap(\.candidates) where !candidates.contains(candidate) {
            candidates.append(candidate)
        }
        let count = candidates.count + (matches.contains(.unknown) ? 1 : 0)
        if let found = candidates.first, count == 1 {
            self.init(found)
        } else {
            self.init(
                campaign: campaign, name: candidates.isEmpty ? "" : "? of \(count)",
                mediaSource: "", partner: "")
        }
    }

    init(_ found: CatalogCampaign) {
        self.init(
            campaign: found.fullIdentifier, name: found.name,
            mediaSource: found.mediaSource ?? "", partner: found.partner ?? "")
    }
}

extension CampaignMatch {
    fileprivate var candidates: [CatalogCampaign] {
        switch self {
        case .known(let campaign): [campaign]
        case .ambiguous(let campaigns): campaigns
        case .unknown: []
        }
    }
}

extension CampaignIDKind {
    /// Which id the campaign column of decoded events is.
    init(hasSourceIdentifier: Bool) {
        self = hasSourceIdentifier ? .sourceIdentifier : .campaignID
    }

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
