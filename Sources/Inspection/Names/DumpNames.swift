import AggregateStore
import Pipelines
import Streams

extension Dump {
    /// Adds the catalog's names: `network`, `app`, and for the campaign `name`, `media_source` and
    /// `partner`. They are empty where the catalog has none.
    ///
    /// A name is added only when the columns are shown by which it is found: the network, the app,
    /// and for the campaign both with the campaign's id. In `store-notifications` an app is found
    /// by its bundle id, and a campaign by app and offer.
    ///
    /// - Parameters:
    ///   - catalog: the names.
    ///   - appsByBundle: App Store ids by bundle id.
    package func named(by catalog: Catalog, appsByBundle: [String: Int64]) -> Dump {
        var naming = DumpNaming(self, catalog: catalog, appsByBundle: appsByBundle)
        guard !naming.columns.isEmpty else { return self }
        return Dump(
            columns: columns + naming.columns.map { DumpColumn($0, .text) }, measures: measures,
            rows: rows.map { row in
                Row(
                    columns: row.columns + naming.names(of: row).map { .text($0) },
                    measures: row.measures, campaignIDKinds: row.campaignIDKinds,
                    windows: row.windows)
            }, watermarkMilliseconds: watermarkMilliseconds)
    }
}

/// The names that rows of a dump can have, and the places of the columns by which they are found.
private struct DumpNaming {
    private let catalog: Catalog
    private let appsByBundle: [String: Int64]
    private let places: [String: Int]
    private var campaigns: CampaignNames

    init(_ dump: Dump, catalog: Catalog, appsByBundle: [String: Int64]) {
        self.catalog = catalog
        self.appsByBundle = appsByBundle
        campaigns = CampaignNames(catalog)
        places = Dictionary(uniqueKeysWithValues: dump.columns.enumerated().map { ($1.name, $0) })
    }

    private func has(_ columns: String...) -> Bool {
        columns.allSatisfy { places[$0] != nil }
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
        guard let place = places[column], case .text(let text) = row.columns[place] else {
            return ""
        }
        return text
    }

    private func integer(_ column: String, of row: Dump.Row) -> Int64? {
        guard let place = places[column], case .integer(let integer) = row.columns[place] else {
            return nil
        }
        return integer
    }
}

extension Dump {
    /// Adds a column `reason_name` when the dump shows OpenRTB's loss reason codes.
    package func withLossReasonNames() -> Dump {
        let place = columns.firstIndex { column in
            column.name == "reason" && column.kind == .integer
        }
        guard let place else { return self }
        return Dump(
            columns: columns + [DumpColumn("reason_name", .text)], measures: measures,
            rows: rows.map { row in
                guard case .integer(let code) = row.columns[place] else { return row }
                return Row(
                    columns: row.columns + [.text(LossReason.name(code))], measures: row.measures,
                    campaignIDKinds: row.campaignIDKinds, windows: row.windows)
            }, watermarkMilliseconds: watermarkMilliseconds)
    }
}
