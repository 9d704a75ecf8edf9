import JSON

/// What the fold of bids depends on: `bids.yaml`, and the keys of networks in the catalog.
package struct BidsRules: StreamRules {
    package static let number = WindowedRules.number

    package var window: WindowedRules
    /// The keys that networks sign their ads with, in base64, by the networks' ids in lower case.
    package var adSigningKeys: [String: [String]]

    package init(window: WindowedRules, adSigningKeys: [String: [String]] = [:]) {
        self.window = window
        self.adSigningKeys = adSigningKeys
    }

    /// Reads what `configuration` wrote; nothing of it is secret.
    package init(recorded text: String, from source: RuleSource) throws {
        self = try RecordedConfiguration.read(text) {
            configuration throws(RecordedConfigurationFault) in
            var rules = BidsRules(window: try WindowedRules(recorded: configuration))
            guard let networks = configuration.optional("ad_signing_keys") else { return rules }
            for (network, texts) in try networks.members() {
                rules.adSigningKeys[network] = try texts.texts()
            }
            return rules
        }
    }

    package var configuration: FoldConfiguration {
        window.configuration { text in
            guard !adSigningKeys.isEmpty else { return }
            text.object("ad_signing_keys") { text in
                for network in adSigningKeys.keys.sorted() {
                    text.member(network, (adSigningKeys[network] ?? []).sorted())
                }
            }
        }
    }
}
