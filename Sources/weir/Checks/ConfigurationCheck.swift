import PartnerPostbacks
import Pipelines
import Worker

extension CheckReport {
    /// Reads all of the configuration, and then what each program reads of it when it starts.
    mutating func check(_ directory: PipelineDirectory) {
        let faults = directory.check()
        for fault in faults { note(wrong: fault.description) }
        guard faults.isEmpty else { return }
        let wrongBefore = wrongCount
        checkPrograms(directory, log: nil)
        do throws(ConfigurationError) {
            let catalog = try directory.catalog()
            let streams = PipelineStream.allCases.filter(directory.has).map(\.rawValue)
            guard !streams.isEmpty else {
                return note(
                    wrong: "\(directory.path): no worker has its file here, such as bids.yaml")
            }
            let models = try directory.conversionModels().count
            let partners = try directory.partners()
            for partner in partners { _ = try RequestTemplate(partner.delivery) }
            guard wrongCount == wrongBefore else { return }
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
