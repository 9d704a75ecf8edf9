import ArgumentParser

@main
struct WeirBenchmarks: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "weir-benchmarks",
        abstract: "Measures Weir's workers beside what bounds them, in one run.",
        subcommands: [
            AuctionsBenchmark.self, ImpressionsBenchmark.self, OverlayClicksBenchmark.self,
            PostbacksBenchmark.self, StoreNotificationsBenchmark.self, CostsBenchmark.self,
            KafkaBenchmark.self, UpgradeBenchmark.self, GrowthBenchmark.self,
            MockBrokersCommand.self, SoakCommand.self, SoakBrokersCommand.self,
            CollectorBenchmark.self, HTTPLoadCommand.self, PagesBenchmark.self,
        ])
}
