import AggregateStore
import ArgumentParser
import Monitoring
import Pipelines
import Streams

/// `weir-conversion-updates`: folds the topic `conversion-updates`.
package struct ConversionUpdatesWorker: WindowedWorker {
    /// The fold of conversion-updates.
    package typealias Fold = ConversionUpdatesFold

    /// Name of the program.
    package static let programName = "weir-conversion-updates"

    /// Help.
    package static let configuration = CommandConfiguration(
        commandName: programName,
        abstract: "Folds what installs were told into conversion-updates.sqlite.",
        discussion: """
            Reads the topic that conversion-updates.yaml names from the event log and keeps, by app, \
            window and value, which conversion values installs were told and which they say they have. \
            Stop it at any time: it goes on where it was.

              weir-conversion-updates --until-end
              weir dump conversion-updates --by app_id,sequence_index,kind,value
            """,
        version: WeirVersion.current)

    /// What every worker can be told.
    @OptionGroup package var options: WorkerOptions

    /// Options that were not given.
    package init() {}

    /// Reads `conversion-updates.yaml`.
    package static func pipeline(
        of pipelines: PipelineDirectory
    ) throws -> ConversionUpdatesPipeline {
        try pipelines.conversionUpdates()
    }
}
