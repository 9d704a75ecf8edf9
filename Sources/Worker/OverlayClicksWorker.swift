import AggregateStore
import ArgumentParser
import Monitoring
import Pipelines
import Streams

/// `weir-overlay-clicks`: folds the topic `overlay-clicks`.
public struct OverlayClicksWorker: WindowedWorker {
    /// The fold of overlay-clicks.
    public typealias Fold = OverlayClicksFold

    /// Name of the program.
    public static let programName = "weir-overlay-clicks"

    /// Help.
    public static let configuration = CommandConfiguration(
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
    @OptionGroup public var options: WorkerOptions

    /// Options that were not given.
    public init() {}

    /// Reads `overlay-clicks.yaml`.
    public static func pipeline(of pipelines: PipelineDirectory) throws -> OverlayClicksPipeline {
        try pipelines.overlayClicks()
    }
}
