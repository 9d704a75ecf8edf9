import Attestation

/// Which postbacks a partner gets.
public struct PartnerRule: Equatable, Sendable {
    /// Name of the partner.
    public var name: String
    /// The verdicts that it trusts.
    public var trust: Set<Verdict>
    /// Lower-cased ids of the networks that it gets; nil for all.
    public var networks: Set<String>?
    /// The advertised apps that it gets; nil for all.
    public var apps: Set<Int64>?

    /// Makes a rule.
    public init(name: String, trust: Set<Verdict>, networks: Set<String>?, apps: Set<Int64>?) {
        self.name = name
        self.trust = trust
        self.networks = networks
        self.apps = apps
    }

    func admits(verdict: Verdict, network: String, app: Int64) -> Bool {
        trust.contains(verdict) && networks?.contains(network) ?? true
            && apps?.contains(app) ?? true
    }
}
