extension Catalog {
    package static let keys: [ConfigurationKey] = [
        .names(
            "networks", networkKeys,
            """
            Ad networks by id, in any case. An entry is a name or a mapping with the keys below.
            """),
        .names(
            "apps", appKeys,
            "Apps by App Store id. An entry is a name or a mapping with the keys below."),
        .list(
            "campaigns", campaignKeys, "Campaigns. Each id and each offer belongs to one campaign."),
        .text(
            "report_currency", "currency",
            """
            The currency of amounts on pages, such as USD. `rates.csv` has its rates. Without it, pages show \
            amounts as recorded.
            """),
        .text(
            "report_time_zone", "name of a time zone",
            """
            The time zone of days on pages and in reports of commands: an IANA name such as Europe/Berlin, always \
            whole hours from UTC. Default UTC. Workers, watch rules and budgets always use UTC.
            """),
    ]

    fileprivate static let networkKeys: [ConfigurationKey] = [
        .text("name", "text", required: true, "The name of the network."),
        .text(
            "ad_signing_keys", "list of SubjectPublicKeyInfo in base64",
            """
            Public keys of the network's ad signatures, P-256 or P-192. They are part of the fold of \
            `weir-bids`: a change starts a new epoch.
            """),
    ]

    fileprivate static let appKeys: [ConfigurationKey] = [
        .text("name", "text", required: true, "The name of the app."),
        .text(
            "bundle_id", "text",
            "The app's bundle id, which devices send when they request their conversion value."),
    ]

    fileprivate static let campaignKeys: [ConfigurationKey] = [
        .text("name", "text", required: true, "The name of the campaign."),
        .text("network", "id of an ad network", required: true, "The network that runs it."),
        .text("app", "App Store id", required: true, "The advertised app."),
        .integer("campaign_id", 1...100, "The id in postbacks of SKAdNetwork versions below 4.0."),
        .text(
            "source_identifier", "1 to 4 digits",
            """
            The id in postbacks of SKAdNetwork 4.0 and AdAttributionKit. Postbacks may contain only its last two \
            or three digits, so choose unique last digits.
            """),
        .text("media_source", "text", "The place where its ads run, as free text."),
        .text("partner", "text", "The partner that buys it."),
        .text(
            "offers",
            "list of `introductory`, `promotional:ID`, `code:NAME`, `win_back:ID`, `retention:ID`",
            "Offers of the App Store that belong to the campaign."),
        .text(
            "target_cpi", "amount above 0",
            "The highest cost per install that you accept, in the currency of the campaign's spend."
        ),
        .text(
            "target_roas_7", "ratio above 0",
            "The return on spend that you expect by day 7 after the install. 1 means that revenue equals spend."
        ),
    ]

    init(_ node: ConfigurationNode) throws(ConfigurationError) {
        let mapping = try node.mapping(Self.keys)
        let apps = try mapping["apps"]?.apps() ?? [:]
        self.init(
            networks: try mapping["networks"]?.networks() ?? [:],
            apps: apps.mapValues(\.name),
            appsByBundle: Dictionary(
                apps.compactMap { id, app in app.bundleID.map { ($0, id) } },
                uniquingKeysWith: { first, _ in first }),
            campaigns: try mapping["campaigns"]?.campaigns() ?? [],
            reportCurrency: try mapping["report_currency"]?.currency(),
            reportTimeZone: try mapping["report_time_zone"]?.timeZone() ?? .utc
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
                    .duplicateKey, "is an earlier id in another case: keep one")
            }
        }
        return networks
    }

    private func network() throws(ConfigurationError) -> Catalog.Network {
        guard isMapping else { return Catalog.Network(name: try name(), adSigningKeys: []) }
        let mapping = try mapping(Catalog.networkKeys)
        let keys = try mapping["ad_signing_keys"]?.list(Self.publicKey) ?? []
        return Catalog.Network(name: try mapping.required("name").name(), adSigningKeys: keys)
    }

    private func publicKey() throws(ConfigurationError) -> PositionedText {
        try positionedText("a public key")
    }

    fileprivate func apps() throws(ConfigurationError) -> [Int64: (name: String, bundleID: String?)]
    {
        var apps: [Int64: (name: String, bundleID: String?)] = [:]
        for (key, value) in try entries() {
            let app = try value.namedApp()
            if let bundle = app.bundleID, apps.values.contains(where: { $0.bundleID == bundle }) {
                throw value.badValue(
                    "bundle_id '\(bundle)' belongs to an earlier app: give each app its own")
            }
            apps[try Self.integerKey(key, in: 1...Int64.max, of: value)] = app
        }
        return apps
    }

    /// A name, or a mapping with `name` and `bundle_id`.
    private func namedApp() throws(ConfigurationError) -> (name: String, bundleID: String?) {
        guard isMapping else { return (try name(), nil) }
        let mapping = try mapping(Catalog.appKeys)
        return (try mapping.required("name").name(), try mapping["bundle_id"]?.name())
    }

    fileprivate func campaigns() throws(ConfigurationError) -> [CatalogCampaign] {
        var seen: Set<CampaignID> = []
        var offers: Set<CampaignID> = []
        return try elements().map { element throws(ConfigurationError) in
            let campaign = try element.campaign()
            for (key, text) in campaign.ids
            where !seen.insert(CampaignID(campaign.network, campaign.app, key, text)).inserted {
                let explanation =
                    "\(key) '\(text)' belongs to an earlier campaign of this network and app"
                throw element.badValue(explanation + ": give each campaign its own")
            }
            // Notifications do not contain the network.
            for offer in campaign.offers
            where !offers.insert(CampaignID("", campaign.app, "offers", offer)).inserted {
                throw element.badValue(
                    "offer '\(offer)' already belongs to a campaign of this app: give each offer to "
                        + "one campaign")
            }
            return campaign
        }
    }

    private func campaign() throws(ConfigurationError) -> CatalogCampaign {
        let mapping = try mapping(Catalog.campaignKeys)
        return CatalogCampaign(
            name: try mapping.required("name").name(),
            network: try mapping.required("network").networkID(),
            app: try mapping.required("app").app(),
            campaignID: try mapping["campaign_id"]?.identifier(in: 1...100).asInt,
            sourceIdentifier: try mapping["source_identifier"]?.sourceIdentifier(),
            mediaSource: try mapping["media_source"]?.name(),
            partner: try mapping["partner"]?.name(),
            offers: try mapping["offers"]?.list(Self.offer) ?? [],
            targets: CatalogCampaign.Targets(
                costPerInstallMicros: try mapping["target_cpi"]?.aboveZero(),
                returnMicros: try mapping["target_roas_7"]?.aboveZero()))
    }

    /// Millionths of an amount above 0.
    private func aboveZero() throws(ConfigurationError) -> Int64 {
        let micros = try micros()
        guard micros > 0 else { throw badValue("is 0: write a number above 0") }
        return micros
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
            throw badValue("is '\(text)': write a source identifier of 1 to 4 digits")
        }
        return text
    }
}

/// Two campaigns must not share this, because no event could distinguish them.
private struct CampaignID: Hashable {
    let network: String
    let app: Int64
    let key: String
    let text: String

    init(_ network: String, _ app: Int64, _ key: String, _ text: String) {
        self.network = network
        self.app = app
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
