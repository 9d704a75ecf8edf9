import Pipelines

extension Catalog {
    /// What is allowed, and probably not what was meant, in words.
    var doubts: [String] {
        campaigns.flatMap(doubts) + suffixCollisions.map(\.words)
    }

    private func doubts(_ campaign: CatalogCampaign) -> [String] {
        var doubts: [String] = []
        if campaign.campaignID == nil, campaign.sourceIdentifier == nil, campaign.offers.isEmpty {
            doubts.append(
                "names only what says no campaign: give it a campaign_id, a source_identifier or "
                    + "offers")
        }
        // Who names no network or app at all wants their ids in reports.
        if !networks.isEmpty, networks[campaign.network] == nil {
            doubts.append(
                "its network \(campaign.network) is not under networks: mend one of both, or name "
                    + "the network")
        }
        if !apps.isEmpty, apps[campaign.app] == nil {
            doubts.append(
                "its app \(campaign.app) is not under apps: mend one of both, or name the app")
        }
        return doubts.map { "catalog: campaign '\(campaign.name)': \($0)" }
    }
}

extension SuffixCollision {
    fileprivate var words: String {
        let names = campaigns.map { "'\($0.name)'" }.joined(separator: ", ")
        return
            "catalog: a postback of \(network) for app \(app) that carries '\(suffix)' is ambiguous: "
            + "\(names) end with it; give them source identifiers that end differently"
    }
}
