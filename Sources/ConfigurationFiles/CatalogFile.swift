extension Catalog {
    init(_ node: ConfigurationNode) throws(ConfigurationError) {
        let mapping = try node.mapping(["networks", "apps", "campaigns"])
        let apps = try mapping["apps"]?.apps() ?? [:]
        self.init(
            networks: try mapping["networks"]?.networks() ?? [:],
            apps: apps.mapValues(\.name),
            appsByBundle: Dictionary(
                apps.compactMap { id, app in app.bundleID.map { ($0, id) } },
                uniquingKeysWith: { first, _ in first }),
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
                    .duplicateKey, "is the id of an earlier network in another case: keep one")
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

    fileprivate func apps() throws(ConfigurationError) -> [Int64: (name: String, bundleID: String?)]
    {
        var apps: [Int64: (name: String, bundleID: String?)] = [:]
        for (key, value) in try entries() {
            let app = try value.namedApp()
            if let bundle = app.bundleID, apps.values.contains(where: { $0.bundleID == bundle }) {
                throw value.badValue(
                    "bundle_id '\(bundle)' belongs to an earlier app: give every app its own")
            }
            apps[try Self.integerKey(key, in: 1...Int64.max, of: value)] = app
        }
        return apps
    }

    /// A name, or a mapping with `name` and `bundle_id`.
    private func namedApp() throws(ConfigurationError) -> (name: String, bundleID: String?) {
        guard isMapping else { return (try name(), nil) }
        let mapping = try mapping(["name", "bundle_id"])
        return (try mapping.required("name").name(), try mapping["bundle_id"]?.name())
    }

    fileprivate func campaigns() throws(ConfigurationError) -> [CatalogCampaign] {
        var campaigns: [CatalogCampaign] = []
        var seen: Set<CampaignID> = []
        var offers: Set<CampaignID> = []
        for element in try elements() {
            let campaign = try element.campaign()
            for (key, text) in campaign.ids
            where !seen.insert(CampaignID(campaign, key: key, text: text)).inserted {
                let explanation =
                    "\(key) '\(text)' belongs to an earlier campaign of this network and app"
                throw element.badValue(explanation + ": give every campaign its own")
            }
            for offer in campaign.offers
            where !offers.insert(CampaignID(campaign, offer: offer)).inserted {
                throw element.badValue(
                    "offer '\(offer)' is given to a campaign of this app already: give an offer to "
                        + "one campaign")
            }
            campaigns.append(campaign)
        }
        return campaigns
    }

    private func campaign() throws(ConfigurationError) -> CatalogCampaign {
        let mapping = try mapping([
            "name", "network", "app", "campaign_id", "source_identifier", "media_source",
            "partner", "offers",
        ])
        return CatalogCampaign(
            name: try mapping.required("name").name(),
            network: try mapping.required("network").networkID(),
            app: try mapping.required("app").app(),
            campaignID: try mapping["campaign_id"]?.identifier(in: 1...100).asInt,
            sourceIdentifier: try mapping["source_identifier"]?.sourceIdentifier(),
            mediaSource: try mapping["media_source"]?.name(),
            partner: try mapping["partner"]?.name(), offers: try mapping["offers"]?.offers() ?? [])
    }

    private func offers() throws(ConfigurationError) -> [String] {
        var offers: [String] = []
        for element in try elements() { offers.append(try element.offer()) }
        return offers
    }

    private func offer() throws(ConfigurationError) -> String {
        let text = try name()
        let isNamed = ["promotional:", "code:", "win_back:", "retention:"].contains { kind in
            text.hasPrefix(kind) && text.utf8.count > kind.utf8.count
        }
        guard isNamed || text == "introductory" else {
            throw badValue(
                "is '\(text)': write introductory, promotional:<id>, code:<name>, win_back:<id> or "
                    + "retention:<id>")
        }
        return text
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

/// What two campaigns must not share, since no event could tell them apart.
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

    /// Notifications name no network.
    init(_ campaign: CatalogCampaign, offer: String) {
        network = ""
        app = campaign.app
        key = "offers"
        text = offer
    }
}

extension CatalogCampaign {
    fileprivate var ids: [(key: String, text: String)] {
        [("campaign_id", campaignID.map(String.init)), ("source_identifier", sourceIdentifier)]
            .compactMap { key, text in text.map { (key, $0) } }
    }
}
