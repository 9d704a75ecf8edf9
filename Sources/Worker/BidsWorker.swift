import AggregateStore
import ArgumentParser
import Pipelines
import Streams

/// `weir-bids`: folds the topic `bids`.
public struct BidsWorker: WorkerProgram {
    /// Name of the program.
    public static let programName = "weir-bids"

    /// Help.
    public static let configuration = CommandConfiguration(
        commandName: programName,
        abstract: "Folds auctions, notices and in-app offers into bids.sqlite.",
        discussion: """
            Reads the topic that bids.yaml names from the event log and keeps, an hour and a campaign \
            at a time, what was bid, won, lost and billed. Stop it at any time: it goes on where it was.

              weir publish --topic bids auctions.ndjson
              weir-bids --until-end
              weir dump bids --by day,seat
            """)

    /// What every worker can be told.
    @OptionGroup public var options: WorkerOptions

    /// Options that were not given.
    public init() {}

    /// Reads `bids.yaml`.
    public static func streamSettings(of pipelines: PipelineDirectory) throws -> StreamSettings {
        try pipelines.bids().stream
    }

    /// Makes the fold that `bids.yaml` describes.
    public static func makeFold(
        pipelines: PipelineDirectory, settings: StreamSettings, store: AggregateStore
    ) throws -> (fold: BidsFold, configuration: FoldConfiguration) {
        let window = Int64(try pipelines.bids().dedupeWindowSeconds) * 1000
        let fold = BidsFold(
            topic: settings.topic,
            configuration: BidsFold.Configuration(
                dedupeWindowMilliseconds: window, maxRecordBytes: settings.maxRecordBytes),
            parser: try makeParser())
        var text = JSONText()
        text.object { text in
            text.name("stream")
            text.string(BidsFold.streamName)
            text.name("rules")
            text.raw(1)
            text.name("dedupe_window_ms")
            text.raw(window)
            text.name("max_record_bytes")
            text.raw(settings.maxRecordBytes)
        }
        return (fold, FoldConfiguration(text: text.text, dedupeWindowMilliseconds: window))
    }
}
