import ConfigurationValues
import Reports

/// Names of networks, apps and campaigns for one reader. A reader of some campaigns sees only names that belong to
/// these.
struct PageNames {
    struct Choice {
        let value: String
        let name: String
        /// The group of a long list; empty without one.
        var group = ""
    }

    private let networks: [String: String]
    private let apps: [Int64: String]
    private let campaigns: [CatalogCampaign]
    private let campaignsByIdentifier: [String: [CatalogCampaign]]
    private let appsByBundle: [String: Int64]
    private let visible: Catalog

    init(_ catalog: Catalog, scope: [ReportRequest.Condition]) {
        let campaigns = catalog.campaigns.filter { campaign in
            scope.allSatisfy { campaign.matches($0) }
        }
        self.campaigns = campaigns
        campaignsByIdentifier = Dictionary(grouping: campaigns, by: \.fullIdentifier)
        visible = Catalog(campaigns: campaigns)
        guard !scope.isEmpty else {
            networks = catalog.networks.mapValues(\.name)
            apps = catalog.apps
            appsByBundle = catalog.appsByBundle
            return
        }
        func value(_ column: String) -> String? { scope.first { $0.column == column }?.value }
        let visibleNetworks = Set(
            campaigns.map(\.network) + [value("ad_network_id")?.lowercased()].compactMap(\.self))
        let visibleApps = Set(
            campaigns.map(\.app) + [value("app_id").flatMap { Int64($0) }].compactMap(\.self))
        networks = catalog.networks.filter { visibleNetworks.contains($0.key) }.mapValues(\.name)
        apps = catalog.apps.filter { visibleApps.contains($0.key) }
        appsByBundle = catalog.appsByBundle.filter { visibleApps.contains($0.value) }
    }

    /// The choices of a filter, sorted by name. Empty if the catalog does not name any.
    func choices(_ column: String) -> [Choice] {
        let choices: [Choice] =
            switch column {
            case "ad_network_id": networks.map { Choice(value: $0.key, name: $0.value) }
            case "app_id": apps.map { Choice(value: "\($0.key)", name: $0.value) }
            case "campaign":
                campaigns.filter { !$0.fullIdentifier.isEmpty }.map {
                    Choice(
                        value: $0.fullIdentifier, name: $0.name,
                        group: apps[$0.app] ?? "App \($0.app)")
                }
            case "country": Countries.all.map { Choice(value: $0.code, name: $0.name) }
            default: []
            }
        return choices.sorted { ($0.group, $0.name, $0.value) < ($1.group, $1.name, $1.value) }
    }

    /// The name of an id in a column; nil without one.
    ///
    /// - Parameter row: the values of the row's other columns, which identify a campaign.
    func name(
        _ value: String, in column: String, row: (String) -> String? = { _ in nil }
    ) -> String? {
        guard !value.isEmpty else { return nil }
        switch column {
        case "ad_network_id": return networks[value.lowercased()]
        case "app_id", "source_app_id": return Int64(value).flatMap { apps[$0] }
        case "bundle_id": return appsByBundle[value].flatMap { apps[$0] }
        case "country", "storefront":
            let name = Countries.name(of: value)
            return name == value ? nil : name
        case "campaign", ReportRequest.catalogCampaign: return campaignName(value, row)
        default: return nil
        }
    }

    private func campaignName(_ id: String, _ row: (String) -> String?) -> String? {
        // Reports name only the number of several possible campaigns.
        if let name = row("name"), !name.isEmpty { return name.hasPrefix("? of ") ? nil : name }
        guard let network = row("ad_network_id"), let app = row("app_id").flatMap({ Int64($0) })
        else {
            let found = campaignsByIdentifier[id, default: []].filter { campaign in
                (row("ad_network_id").map { $0 == campaign.network } ?? true)
                    && (row("app_id").map { $0 == "\(campaign.app)" } ?? true)
            }
            return found.count == 1 ? found.first?.name : nil
        }
        guard case .matched(let found) = visible.campaign(network: network, app: app, campaign: id)
        else { return nil }
        return found.name
    }

    /// Describes the row of a campaign without a single name: a heading, and the reason; nil without a reason.
    ///
    /// - Parameter row: the values of the row's columns.
    func unnamedCampaign(_ row: (String) -> String?) -> (title: String, reason: String?) {
        let id = row("campaign") ?? ""
        let network = row("ad_network_id") ?? ""
        guard !id.isEmpty else {
            return network.isEmpty
                ? ("Whole app", "App Store notifications name no campaign")
                : ("No campaign", "its records name no campaign")
        }
        let title = "Campaign \(id)"
        // Apple sends at least two of the up to four digits.
        let isShort = id.utf8.count < 4 && id.utf8.allSatisfy { (48...57).contains($0) }
        let shortened = "for few installs, Apple sends only the last digits of an id"
        if let app = row("app_id").flatMap({ Int64($0) }),
            case .ambiguous(let found) = visible.campaign(
                network: network, app: app, campaign: id)
        {
            let names = found.map(\.name).joined(separator: " or ")
            return (title, isShort ? "\(names): \(shortened)" : names)
        }
        guard !campaigns.isEmpty else { return (title, nil) }
        return (title, isShort ? "not in the catalog, or \(shortened)" : "not in the catalog")
    }

    /// Whether any campaign has a target.
    var hasTargets: Bool {
        campaigns.contains {
            $0.targets.costPerInstallMicros != nil || $0.targets.returnMicros != nil
        }
    }

    /// Whether any campaign has a target of its cost per install.
    var hasTargetCosts: Bool { campaigns.contains { $0.targets.costPerInstallMicros != nil } }

    /// The campaign of a row, with its targets.
    func campaign(_ row: (String) -> String?) -> CatalogCampaign? {
        let found = (row("campaign").flatMap { campaignsByIdentifier[$0] } ?? []).filter {
            campaign in
            "\(campaign.app)" == row("app_id")
                && campaign.network == row("ad_network_id")?.lowercased()
        }
        return found.count == 1 ? found.first : nil
    }
}

extension CatalogCampaign {
    fileprivate func matches(_ condition: ReportRequest.Condition) -> Bool {
        switch condition.column {
        case "campaign": fullIdentifier == condition.value
        case "ad_network_id": network == condition.value.lowercased()
        case "app_id": "\(app)" == condition.value
        default: false
        }
    }
}
