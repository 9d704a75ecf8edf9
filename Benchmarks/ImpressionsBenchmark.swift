import ArgumentParser
import Streams

/// Decode, fold and commit of distinct impressions, beside parsing alone, in one run.
struct ImpressionsBenchmark: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "impressions",
        abstract: "Decode + fold + commit of impressions, beside parsing alone.")

    @OptionGroup var options: FoldBenchmarkOptions

    func run() throws {
        var benchmark = FoldBenchmark(
            ImpressionsFold.self, SampleImpressions(), windowMilliseconds: 604_800_000,
            options: options)
        try benchmark.run()
    }
}
