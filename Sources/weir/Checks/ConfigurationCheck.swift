import Attestation
import PartnerPostbacks
import Pipelines
import Worker

extension CheckReport {
    /// Reads all of the configuration, keys among it.
    mutating func check(_ directory: PipelineDirectory) {
        let faults = directory.check()
        for fault in faults { note(wrong: fault.description) }
        guard faults.isEmpty else { return }
        do throws(ConfigurationError) {
            if directory.has(.postbacks) {
                _ = try TrustedKeys(configured: directory.postbacks().trustedKeys)
            }
            if directory.has(.storeNotifications) {
                _ = try [AppStoreRoot](configured: directory.storeNotifications().roots)
            }
            let catalog = try directory.catalog()
            _ = try AdSigningKeys.keys(of: catalog)
            let streams = PipelineStream.allCases.filter(directory.has).map(\.rawValue)
            guard !streams.isEmpty else {
                return note(
                    wrong: "\(directory.path): no worker has its file here, such as bids.yaml")
            }
            let models = try directory.conversionModels().count
            let partners = try directory.partners()
            for partner in partners { _ = try RequestTemplate(partner.delivery) }
            note(
                right:
                    "configuration \(directory.path): \(streams.joined(separator: ", ")), "
                    + "\(models) conversion models, \(partners.count) partners")
            for doubt in catalog.doubts { note(doubtful: doubt) }
        } catch {
            note(wrong: error.description)
        }
    }
}
