import AggregateStore
import ArgumentParser
import Monitoring
import Pipelines
import Streams

/// `weir-impressions`: folds the topic `impressions`.
package struct ImpressionsWorker: WindowedWorker {
    /// The fold of impressions.
    package typealias Fold = ImpressionsFold

    /// Name of the program.
    package static let programName = "weir-impressions"

    /// Help.
    package static let configuration = CommandConfiguration(
        commandName: programName,
        abstract: "Folds what was shown into impressions.sqlite.",
        discussion: """
            Reads the topic that impressions.yaml names from the event log and keeps, an hour and a \
            placement at a time, what overlays, SKAdNetwork, Outbrain's widgets and in-app bidders showed. \
            Stop it at any time: it goes on where it was.

              weir publish --topic impressions impressions.ndjson
              weir-impressions --until-end
              weir dump impressions --by day,format,placement
            """,
        version: WeirVersion.current)

    /// What every worker can be told.
    @OptionGroup package var options: WorkerOptions

    /// Options that were not given.
    package init() {}

    /// Reads `impressions.yaml`.
    package static func pipeline(of pipelines: PipelineDirectory) throws -> ImpressionsPipeline {
        try pipelines.impressions()
    }
}
