import ArgumentParser
import Streams

/// Decode, fold and commit of reported costs, compared with parsing alone in the same run.
struct CostsBenchmark: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "costs",
        abstract:
            "Decode + fold + commit of reported costs, a fifth of them restated, beside parsing alone."
    )

    @OptionGroup var options: FoldBenchmarkOptions

    func run() throws {
        var benchmark = FoldBenchmark(
            SampleCosts(partitions: options.partitions), windowMilliseconds: nil, options: options
        ) { parser, store in
            CostsFold(
                topic: CostsFold.streamName, rules: CostsRules(maxRecordBytes: 1 << 20),
                parser: parser, memory: store)
        }
        try benchmark.run()
    }
}

/// Reports of four sources. Every fifth restates an earlier one of its partition with another amount.
struct SampleCosts: SampleRecords {
    var choices = SampleChoices()
    /// Numbers of the reported cells, by partition.
    private var cells: [[UInt64]]

    init(partitions: Int32) {
        cells = Array(repeating: [], count: Int(partitions))
    }

    mutating func next() -> (type: String?, value: String) {
        _ = choices.nextID()
        let partition = Int((choices.number - 1) % UInt64(cells.count))
        let cellCount = UInt64(cells[partition].count)
        var cell = choices.number
        if cellCount > 0, choices.random(below: 5) == 0 {
            cell = cells[partition][Int(choices.random(below: cellCount))]
        } else {
            cells[partition].append(cell)
        }
        let source = ["apple-ads", "google-ads", "meta", "finance"][Int(cell % 4)]
        let (month, day) = (10 + cell / 112 % 2, 10 + cell / 4 % 19)
        return (
            nil,
            """
            {"source":"\(source)","day":"2026-\(month)-\(day)","campaign":{"ad_network_id":\
            "su67r6k2v3.skadnetwork","source_identifier":"\(1000 + cell / 224 % 9000)",\
            "app_id":\(525_463_029 + cell / 2_000_000)},"country":"US","currency":"USD",\
            "amount":\(choices.number % 977).\(choices.number % 100),"impressions":\(cell % 100_000),\
            "clicks":\(cell % 997),"installs":\(cell % 31)}
            """
        )
    }
}
