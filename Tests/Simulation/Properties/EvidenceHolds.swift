import ConfigurationValues
import Foundation
import History
import Reports
import Streams

extension Comparison {
    /// What a dump rests on adds up, and can be checked without the log and the stores.
    ///
    /// - Parameter directory: where the archive is while it is checked.
    func checkEvidence(
        of dump: String, in directory: String, openReader: @escaping Explainer.OpenReader,
        pipelines: PipelineDirectory
    ) throws {
        let path = "\(directory)/evidence.tar"
        defer { unlink(path) }
        let explainer = Explainer(
            stores: stores, openReader: openReader, address: "the simulated log",
            rules: .pipelines(pipelines))
        let figure = try Self.figure(of: dump)
        let explanation = try explainer.writeEvidence(of: figure, to: path) { record in
            record.folded.record.value.flatMap { StoreNotificationsModel.masked($0) }
        }
        guard explanation.addsUp else {
            throw SimulationFault(
                "the records behind \(dump) of \(stream) do not add up: \(explanation.summary.first { $0.hasPrefix("does not") } ?? "")"
            )
        }
        var verifier = try EvidenceVerifier(path: path)
        if let failure = try verifier.verify().first(where: { !$0.holds }) {
            throw SimulationFault(
                "evidence of \(dump) of \(stream): \(failure.name): \(failure.explanation)")
        }
    }
}
