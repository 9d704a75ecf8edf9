import ConfigurationValues
import Store
import Streams

/// Looks up campaigns in a catalog, each id once: reports repeat few ids in many rows.
struct CampaignNames {
    /// A campaign as a report shows it.
    struct Named {
        /// The catalog's full identifier; the original id when it does not identify a single campaign.
        let campaign: String
        /// The name; `? of 2` for two possible campaigns, empty without a match.
        let name: String
        /// Empty unless the id identifies a single campaign.
        let mediaSource: String
        /// Empty unless the id identifies a single campaign.
        let partner: String
    }

    private struct ID: Hashable {
        let network: StoredValue
        let app: Int64
        let campaign: StoredValue
        let kinds: CampaignIDKinds
    }

    private let catalog: Catalog
    private var cached: [ID: Named] = [:]

    init(_ catalog: Catalog) {
        self.catalog = catalog
    }

    mutating func named(
        network: String, app: Int64, campaign: String, as kinds: CampaignIDKinds
    ) -> Named {
        let id = ID(network: .text(network), app: app, campaign: .text(campaign), kinds: kinds)
        if let found = cached[id] { return found }
        let matches = kinds.kinds.map { kind in
            catalog.campaign(network: network, app: app, campaign: campaign, as: kind)
        }
        let named = Named(matches, campaign: campaign)
        cached[id] = named
        return named
    }
}

extension CampaignNames.Named {
    /// The campaign of an id that was looked up as each of its kinds. A kind without a match counts as an unknown
    /// campaign.
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
        case .matched(let campaign): [campaign]
        case .ambiguous(let campaigns): campaigns
        case .unknown: []
        }
    }
}

extension CampaignIDKind {
    init(hasSourceIdentifier: Bool) {
        self = hasSourceIdentifier ? .sourceIdentifier : .campaignID
    }

    /// The kind of campaign ids in events of a version of SKAdNetwork.
    init(skanVersion version: String) {
        guard let major = Int(version.prefix { $0 != "." }) else {
            self = .either
            return
        }
        self = major < 4 ? .campaignID : .sourceIdentifier
    }

    init(framework: String, version: String) {
        self = framework == "skadnetwork" ? Self(skanVersion: version) : .sourceIdentifier
    }
}

/// The kinds of campaign ids in the records of a row.
struct CampaignIDKinds: OptionSet, Hashable {
    let rawValue: UInt8

    static let campaignID = CampaignIDKinds(rawValue: 1)
    static let sourceIdentifier = CampaignIDKinds(rawValue: 2)
    /// One of the two kinds; which one is not known.
    static let either = CampaignIDKinds(rawValue: 4)

    init(rawValue: UInt8) { self.rawValue = rawValue }

    init(_ kind: CampaignIDKind) {
        switch kind {
        case .campaignID: self = .campaignID
        case .sourceIdentifier: self = .sourceIdentifier
        case .either: self = .either
        }
    }

    var kinds: [CampaignIDKind] {
        [CampaignIDKind.campaignID, .sourceIdentifier, .either].filter { contains(Self($0)) }
    }
}

/// The columns of a dump, shown or not, that determine the kind of a campaign's id.
enum CampaignIDRule {
    /// Indices of the framework and of its version.
    case framework(Int, version: Int)
    case skanVersion(Int)
    case flag(Int)
    case silent

    init(_ columns: [DumpColumn]) {
        func index(_ name: String) -> Int? { columns.firstIndex { $0.name == name } }
        if let framework = index("framework"), let version = index("version") {
            self = .framework(framework, version: version)
        } else if let version = index("skan_version") {
            self = .skanVersion(version)
        } else if let flag = index("has_source_identifier") {
            self = .flag(flag)
        } else {
            self = .silent
        }
    }

    /// The kind of id, given the values of all columns.
    func kind(_ values: [StoredValue]) -> CampaignIDKind {
        switch self {
        case .framework(let framework, let version):
            CampaignIDKind(framework: values[framework].text, version: values[version].text)
        case .skanVersion(let version): CampaignIDKind(skanVersion: values[version].text)
        case .flag(let flag): CampaignIDKind(hasSourceIdentifier: values[flag].integer != 0)
        case .silent: .either
        }
    }
}

/// The column `catalog_campaign`: the campaign of a row as the funnel names it.
struct CatalogCampaignColumn {
    static let column = DumpColumn(
        ReportRequest.catalogCampaign, .text,
        "as the funnel names it: the catalog's full identifier if exactly one campaign matches",
        isDefault: false)
    static var name: String { ReportRequest.catalogCampaign }

    private let network: Int
    private let app: Int
    private let campaign: Int
    private let rule: CampaignIDRule

    /// Nil without the columns that identify a campaign.
    init?(_ columns: [DumpColumn]) {
        func index(_ name: String) -> Int? { columns.firstIndex { $0.name == name } }
        guard let network = index("ad_network_id"), let app = index("app_id"),
            let campaign = index("campaign")
        else { return nil }
        self.network = network
        self.app = app
        self.campaign = campaign
        rule = CampaignIDRule(columns)
    }

    /// - Parameter values: one for each of the columns.
    func value(_ values: [StoredValue], _ names: inout CampaignNames) -> StoredValue {
        let named = names.named(
            network: values[network].text, app: values[app].integer,
            campaign: values[campaign].text, as: CampaignIDKinds(rule.kind(values)))
        return .text(named.campaign)
    }
}

extension Dump {
    /// Adds the catalog's names: `network`, `app`, and for the campaign `name`, `media_source` and `partner`. They are
    /// empty when the catalog has no entry.
    ///
    /// A name is added only when the dump shows the columns to look it up by: the network, the app, and for the
    /// campaign both with the campaign's id. In `store-notifications` the bundle id identifies the app, and the app and
    /// offer identify the campaign.
    ///
    /// - Parameter appsByBundle: App Store ids by bundle id.
    package func named(by catalog: Catalog, appsByBundle: [String: Int64]) -> Dump {
        var naming = DumpNaming(self, catalog: catalog, appsByBundle: appsByBundle)
        return adding(naming.columns) { naming.names(of: $0) }
    }

    /// Adds a column `reason_name` when the dump shows OpenRTB's loss reason codes.
    package func withLossReasonNames() -> Dump {
        let index = columns.firstIndex { $0.name == "reason" && $0.kind == .integer }
        guard let index else { return self }
        return adding(["reason_name"]) { [LossReason.name($0.columns[index].integer)] }
    }
}

/// The names that rows of a dump can have, and the indices of the columns used to look them up.
private struct DumpNaming {
    private let catalog: Catalog
    private let appsByBundle: [String: Int64]
    private let indices: [String: Int]
    private var campaigns: CampaignNames

    init(_ dump: Dump, catalog: Catalog, appsByBundle: [String: Int64]) {
        self.catalog = catalog
        self.appsByBundle = appsByBundle
        campaigns = CampaignNames(catalog)
        indices = Dictionary(uniqueKeysWithValues: dump.columns.enumerated().map { ($1.name, $0) })
    }

    private func has(_ columns: String...) -> Bool {
        columns.allSatisfy { indices[$0] != nil }
    }

    private var hasApp: Bool { has("app_id") || has("bundle_id") }
    private var hasCampaign: Bool { has("ad_network_id", "app_id", "campaign") }
    private var hasOffer: Bool { has("bundle_id", "offer") }

    var columns: [String] {
        (has("ad_network_id") ? ["network"] : []) + (hasApp ? ["app"] : [])
            + (hasCampaign || hasOffer ? ["name", "media_source", "partner"] : [])
    }

    mutating func names(of row: Dump.Row) -> [String] {
        let network = text("ad_network_id", of: row)
        let app = integer("app_id", of: row) ?? appsByBundle[text("bundle_id", of: row)] ?? 0
        var names: [String] = []
        if has("ad_network_id") { names.append(catalog.networkName(network) ?? "") }
        if hasApp { names.append(catalog.appName(app) ?? "") }
        if hasCampaign {
            let named = campaigns.named(
                network: network, app: app, campaign: text("campaign", of: row),
                as: row.campaignIDKinds)
            names += [named.name, named.mediaSource, named.partner]
        } else if hasOffer {
            let found = catalog.campaign(app: app, offer: text("offer", of: row))
            names += [found?.name ?? "", found?.mediaSource ?? "", found?.partner ?? ""]
        }
        return names
    }

    private func text(_ column: String, of row: Dump.Row) -> String {
        indices[column].map { row.columns[$0].text } ?? ""
    }

    private func integer(_ column: String, of row: Dump.Row) -> Int64? {
        guard let index = indices[column], case .integer(let integer) = row.columns[index] else {
            return nil
        }
        return integer
    }
}
