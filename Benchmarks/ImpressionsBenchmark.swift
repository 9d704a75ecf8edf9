import ArgumentParser
import Streams

/// Decode, fold and commit of distinct impressions, compared with parsing alone in the same run.
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
