import JSON

/// The configuration of the bids fold: `bids.yaml`, and the networks' keys in the catalog.
package struct BidsRules: StreamRules {
    package static let number = WindowedRules.number

    package var window: WindowedRules
    /// The networks' keys for signing ads, in base64, by network id in lower case.
    package var adSigningKeys: [String: [String]]

    package init(window: WindowedRules, adSigningKeys: [String: [String]] = [:]) {
        self.window = window
        self.adSigningKeys = adSigningKeys
    }

    /// Reads the text of `configuration`; it contains no secrets.
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
