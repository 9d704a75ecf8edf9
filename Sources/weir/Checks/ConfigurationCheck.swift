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
            let streams = PipelineStream.allCases.filter(directory.has).map(\.rawValue)
                .joined(separator: ", ")
            _ = try AdSigningKeys.keys(of: directory.catalog())
            let models = try directory.conversionModels().count
            let partners = try directory.partners().count
            note(
                right: "configuration \(directory.path): \(streams), \(models) conversion models, "
                    + "\(partners) partners")
        } catch {
            note(wrong: error.description)
        }
    }
}
