import AggregateStore
import ArgumentParser
import Monitoring
import Pipelines
import Streams

/// `weir-overlay-clicks`: folds the topic `overlay-clicks`.
package struct OverlayClicksWorker: WindowedWorker {
    /// The fold of overlay-clicks.
    package typealias Fold = OverlayClicksFold

    /// Name of the program.
    package static let programName = "weir-overlay-clicks"

    /// Help.
    package static let configuration = CommandConfiguration(
        commandName: programName,
        abstract: "Folds clicks into overlay-clicks.sqlite.",
        discussion: """
            Reads the topic that overlay-clicks.yaml names from the event log and keeps, an hour and a \
            placement at a time, what people clicked, and apart from that what only looked like a click. \
            Stop it at any time: it goes on where it was.

              weir publish --topic overlay-clicks clicks.ndjson
              weir-overlay-clicks --until-end
              weir dump overlay-clicks --by day,format,placement
            """,
        version: WeirVersion.current)

    /// What every worker can be told.
    @OptionGroup package var options: WorkerOptions

    /// Options that were not given.
    package init() {}

    /// Reads `overlay-clicks.yaml`.
    package static func pipeline(of pipelines: PipelineDirectory) throws -> OverlayClicksPipeline {
        try pipelines.overlayClicks()
    }
}
