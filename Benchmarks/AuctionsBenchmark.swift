import ArgumentParser
import Streams

/// Decode, fold and commit of distinct auctions, compared with parsing alone in the same run.
struct AuctionsBenchmark: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "auctions",
        abstract: "Decode + fold + commit of auctions of about 1.5 KB, beside parsing alone.")

    @OptionGroup var options: FoldBenchmarkOptions

    func run() throws {
        var benchmark = FoldBenchmark(
            BidsFold.self, SampleAuctions(), windowMilliseconds: 3_600_000, options: options)
        try benchmark.run()
    }
}
