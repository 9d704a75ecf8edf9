import AggregateStore
import ArgumentParser
import EventLog
import Foundation
import JSONReader
import Streams

/// Decode, fold and commit of distinct auctions, beside parsing alone, in one run.
struct AuctionsBenchmark: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "auctions",
        abstract: "Decode + fold + commit of auctions of about 1.5 KB, beside parsing alone.")

    @Option(help: "Number of auctions.") var count = 1_000_000
    @Option(help: "Records a commit.") var batch = 10_000

    func run() throws {
        let directory = NSTemporaryDirectory() + "weir-benchmark-\(getpid())"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let store = try AggregateStore(
            path: directory + "/bids.sqlite", fold: BidsFold.self, topic: "bids",
            logIdentity: "benchmark")
        guard let parser = JSONParser(), let other = JSONParser() else { return }
        let fold = BidsFold(
            topic: "bids",
            configuration: .init(dedupeWindowMilliseconds: 3_600_000, maxRecordBytes: 1 << 20),
            parser: parser)
        let configuration = FoldConfiguration(
            text: "{}", dedupeWindowMilliseconds: 3_600_000)
        for partition in Int32(0)..<4 {
            try store.beginPartition(partition, at: 0, emitFrom: 0)
            try store.recordEpoch(partition: partition, configuration: configuration)
        }
        for state in try store.partitionStates() {
            store.expect(state)
            try fold.restoreMemory(of: state, from: store)
        }
        var samples = SampleAuctions()
        var offsets: [Int32: Int64] = [:]
        let records = RecordBatch()
        var parsing = Stopwatch()
        var folding = Stopwatch()
        var bytes = 0
        for round in 0..<count / batch {
            samples.fill(records, count: batch, offsets: &offsets)
            bytes += records.byteCount
            let parsed = parsing.measure {
                (0..<records.count).reduce(0) { sum, index in
                    guard let value = records[index].value,
                        (try? other.parse(value))?.isObject == true
                    else { return sum }
                    return sum + 1
                }
            }
            guard parsed == batch else { throw ValidationError("a sample does not parse") }
            try folding.measure {
                fold.begin(fold.prepare(records))
                for index in 0..<records.count { fold.fold(index) }
                _ = try store.store(fold, batch: records)
            }
            if (round + 1) % max(1, count / batch / 10) == 0 {
                let folded = (round + 1) * batch
                print(
                    "after \(folded): \(Int(Double(folded) / folding.cpuSeconds)) records a CPU second,"
                        + " memory \(Stopwatch.memoryMiB) MiB, ids \(fold.rememberedIDs(atMost: .max))"
                )
            }
        }
        let total = Double(count / batch * batch)
        print("bytes a record           \(bytes / Int(total))")
        print("parsing alone            \(Int(total / parsing.cpuSeconds)) records a CPU second")
        print("decode + fold + commit   \(Int(total / folding.cpuSeconds)) records a CPU second")
        print(
            "share of parsing         \(String(format: "%.2f", parsing.cpuSeconds / folding.cpuSeconds))"
        )
        print("peak memory              \(Stopwatch.peakMemoryMiB) MiB")
    }
}
