import Attestation
import Pipelines

/// The keys that networks sign their ads with, by the networks' ids in lower case.
package enum AdSigningKeys {
    /// Reads the keys of a catalog. Throws at the line of a key that is none.
    package static func keys(
        of catalog: Catalog
    ) throws(ConfigurationError) -> [String: [VerificationKey]] {
        var keys: [String: [VerificationKey]] = [:]
        for (id, network) in catalog.networks.sorted(by: { $0.key < $1.key }) {
            for text in network.adSigningKeys {
                guard let key = VerificationKey(base64: text.text) else {
                    throw text.fault(
                        "is no P-192 or P-256 public key: give its SubjectPublicKeyInfo (DER) in "
                            + "base64")
                }
                keys[id, default: []].append(key)
            }
        }
        return keys
    }
}
