import AggregateStore
import ArgumentParser
import Pipelines
import Streams

/// `weir-bids`: folds the topic `bids`.
public struct BidsWorker: WindowedWorker {
    /// The fold of bids.
    public typealias Fold = BidsFold

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
    public static func pipeline(of pipelines: PipelineDirectory) throws -> BidsPipeline {
        try pipelines.bids()
    }
}
