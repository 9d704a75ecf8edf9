import EventLog
import Pipelines
import Worker

extension PartnerPostbacksWorker {
    /// Reads what the program reads when it starts, but for the partners: see `PartnerCheck`. Throws what keeps
    /// it from starting.
    ///
    /// - Parameter address: of the log that it would read. A cluster's settings are read too, and nothing is
    ///   asked of the cluster.
    package static func checkConfiguration(
        _ pipelines: PipelineDirectory, log address: LogAddress?
    ) throws {
        try pipelines.partnerPostbacks().stream.checkSettings(of: address, pipelines: pipelines)
    }
}
