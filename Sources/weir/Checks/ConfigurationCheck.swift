import Attestation
import Pipelines
import Worker

extension CheckReport {
    /// Reads all of the configuration, keys among it.
    mutating func check(_ directory: PipelineDirectory) {
        let faults = directory.check()
        for fault in faults { note(wrong: fault.description) }
        guard faults.isEmpty else { return }
        do throws(ConfigurationError) {
            _ = try TrustedKeys(configured: directory.postbacks().trustedKeys)
            if directory.has(.storeNotifications) {
                _ = try [AppStoreRoot](configured: directory.storeNotifications().roots)
            }
            let catalog = try directory.catalog()
            _ = try AdSigningKeys.keys(of: catalog)
            let streams = PipelineStream.allCases.filter(directory.has).map(\.rawValue)
                .joined(separator: ", ")
            let models = try directory.conversionModels().count
            let partners = try directory.partners().count
            note(
                right: "configuration \(directory.path): \(streams), \(models) conversion models, "
                    + "\(partners) partners")
            for collision in catalog.suffixCollisions { note(doubtful: collision.words) }
        } catch {
            note(wrong: error.description)
        }
    }
}

extension SuffixCollision {
    fileprivate var words: String {
        let names = campaigns.map { "'\($0.name)'" }.joined(separator: ", ")
        return
            "catalog: a postback of \(network) for app \(app) that carries '\(suffix)' is ambiguous: "
            + "\(names) end with it; give them source identifiers that end differently"
    }
}
