extension Catalog {
    init(_ node: ConfigurationNode) throws(ConfigurationError) {
        let mapping = try node.mapping(["networks", "apps", "campaigns"])
        self.init(
            networks: try mapping["networks"]?.networks() ?? [:],
            apps: try mapping["apps"]?.appNames() ?? [:],
            campaigns: try mapping["campaigns"]?.campaigns() ?? []
        )
    }
}

extension ConfigurationNode {
    fileprivate func networks() throws(ConfigurationError) -> [String: Catalog.Network] {
        var networks: [String: Catalog.Network] = [:]
        for (key, value) in try entries() {
            let id = try Self.networkID(key, of: value)
            guard networks.updateValue(try value.network(), forKey: id) == nil else {
                throw value.fault(
                    .duplicateKey,
                    "is the id of an earlier network in another case: keep one"
                )
            }
        }
        return networks
    }

    private func network() throws(ConfigurationError) -> Catalog.Network {
        guard isMapping else { return Catalog.Network(name: try name(), adSigningKeys: []) }
        let mapping = try mapping(["name", "ad_signing_keys"])
        var keys: [PositionedText] = []
        for element in try mapping["ad_signing_keys"]?.elements() ?? [] {
            keys.append(try element.positionedText("a public key"))
        }
        return Catalog.Network(name: try mapping.required("name").name(), adSigningKeys: keys)
    }

    fileprivate func appNames() throws(ConfigurationError) -> [Int64: String] {
        var names: [Int64: String] = [:]
        for (key, value) in try entries() {
            names[try Self.integerKey(key, in: 1...Int64.max, of: value)] = try value.name()
        }
        return names
    }

    fileprivate func campaigns() throws(ConfigurationError) -> [CatalogCampaign] {
        var campaigns: [CatalogCampaign] = []
        var seen: Set<CampaignID> = []
        for element in try elements() {
            let campaign = try element.campaign()
            for (key, text) in campaign.ids
            where !seen.insert(CampaignID(campaign, key: key, text: text)).inserted {
                let words =
                    "\(key) '\(text)' belongs to an earlier campaign of this network and app"
                throw element.badValue(words + ": give every campaign its own")
            }
            campaigns.append(campaign)
        }
        return campaigns
    }

    private func campaign() throws(ConfigurationError) -> CatalogCampaign {
        let mapping = try mapping([
            "name", "network", "app", "campaign_id", "source_identifier", "media_source",
        ])
        return CatalogCampaign(
            name: try mapping.required("name").name(),
            network: try mapping.required("network").networkID(),
            app: try mapping.required("app").app(),
            campaignID: try mapping["campaign_id"]?.integer(in: 1...100).asInt,
            sourceIdentifier: try mapping["source_identifier"]?.sourceIdentifier(),
            mediaSource: try mapping["media_source"]?.name()
        )
    }

    private func sourceIdentifier() throws(ConfigurationError) -> String {
        let text = try text("1 to 4 digits")
        guard (1...4).contains(text.utf8.count),
            text.utf8.allSatisfy({ (0x30...0x39).contains($0) })
        else {
            throw badValue("is '\(text)': write the source identifier, 1 to 4 digits")
        }
        return text
    }
}

/// What must not belong to two campaigns, since no event could tell them apart.
private struct CampaignID: Hashable {
    var network: String
    var app: Int64
    var key: String
    var text: String

    init(_ campaign: CatalogCampaign, key: String, text: String) {
        network = campaign.network
        app = campaign.app
        self.key = key
        self.text = text
    }
}

extension CatalogCampaign {
    fileprivate var ids: [(key: String, text: String)] {
        [("campaign_id", campaignID.map(String.init)), ("source_identifier", sourceIdentifier)]
            .compactMap { key, text in text.map { (key, $0) } }
    }
}
