import Attestation

/// Which postbacks a partner gets.
package struct PartnerRule: Equatable, Sendable {
    /// Name of the partner.
    package var name: String
    /// The verdicts that it trusts.
    package var trust: Set<Verdict>
    /// Lower-cased ids of the networks that it gets; nil for all.
    package var networks: Set<String>?
    /// The advertised apps that it gets; nil for all.
    package var apps: Set<Int64>?
    /// The conversion windows that it gets, by sequence index; nil for all.
    package var windows: Set<Int>?

    /// Makes a rule.
    package init(
        name: String, trust: Set<Verdict>, networks: Set<String>?, apps: Set<Int64>?,
        windows: Set<Int>? = nil
    ) {
        self.name = name
        self.trust = trust
        self.networks = networks
        self.apps = apps
        self.windows = windows
    }

    func admits(verdict: Verdict, network: String, app: Int64, window: Int) -> Bool {
        trust.contains(verdict) && networks?.contains(network) ?? true
            && apps?.contains(app) ?? true && windows?.contains(window) ?? true
    }
}
