import ArgumentParser
import Streams

/// Decode, fold and commit of distinct clicks, compared with parsing alone in the same run.
struct OverlayClicksBenchmark: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "overlay-clicks",
        abstract: "Decode + fold + commit of clicks, beside parsing alone.")

    @OptionGroup var options: FoldBenchmarkOptions

    func run() throws {
        var benchmark = FoldBenchmark(
            OverlayClicksFold.self, SampleClicks(), windowMilliseconds: 604_800_000,
            options: options)
        try benchmark.run()
    }
}
