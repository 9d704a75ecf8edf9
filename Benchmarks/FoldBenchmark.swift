import ArgumentParser
import EventLog
import Foundation
import JSON
import Store
import Streams

/// How much to fold, and how much at a time.
struct FoldBenchmarkOptions: ParsableArguments {
    @Option(help: "Number of records.") var count = 1_000_000
    @Option(help: "Records a commit.") var batch = 10_000
}

/// Decode, fold and commit of distinct records of a stream with a dedupe window, beside parsing alone, in
/// one run.
struct FoldBenchmark<Fold: WindowedFold, Samples: SampleRecords> {
    let options: FoldBenchmarkOptions
    let windowMilliseconds: Int64
    var samples: Samples
    private var parsing = Stopwatch()
    private var folding = Stopwatch()

    init(
        _: Fold.Type, _ samples: Samples, windowMilliseconds: Int64, options: FoldBenchmarkOptions
    ) {
        self.samples = samples
        self.windowMilliseconds = windowMilliseconds
        self.options = options
    }

    mutating func run() throws {
        let directory = NSTemporaryDirectory() + "weir-benchmark-\(getpid())"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let store = try AggregateStore(
            path: "\(directory)/\(Fold.streamName).sqlite", fold: Fold.self,
            topic: Fold.streamName, logIdentity: "benchmark", partitionCount: 4)
        guard let parser = JSONParser(), let other = JSONParser() else { return }
        let fold = Fold(
            topic: Fold.streamName,
            rules: .init(
                stream: Fold.streamName, dedupeWindowMilliseconds: windowMilliseconds,
                maxRecordBytes: 1 << 20),
            parser: parser)
        try begin(fold, store)
        let records = RecordBatch()
        var bytes = 0
        let rounds = options.count / options.batch
        for round in 1...max(1, rounds) {
            samples.fill(records, count: options.batch)
            bytes += records.byteCount
            try parse(records, with: other)
            try folding.measure {
                fold.begin(fold.prepare(records))
                for index in 0..<records.count { try fold.fold(index) }
                _ = try store.store(fold, batch: records)
            }
            guard round % max(1, rounds / 10) == 0 else { continue }
            let folded = round * options.batch
            print(
                "after \(folded): \(Int(Double(folded) / folding.cpuSeconds)) records a CPU second,"
                    + " memory \(Stopwatch.memoryMiB) MiB, ids \(store.rememberedIDs(of: FoldLanes([fold]), atMost: .max))"
            )
        }
        report(count: max(1, rounds) * options.batch, bytes: bytes)
    }

    private func begin(_ fold: Fold, _ store: AggregateStore) throws {
        let configuration = FoldConfiguration(
            text: "{}", dedupeWindowMilliseconds: windowMilliseconds)
        for partition in Int32(0)..<4 {
            try store.beginPartition(partition, at: 0, emitFrom: 0)
            try store.recordEpoch(partition: partition, configuration: configuration)
        }
        for state in try store.partitionStates() {
            store.expect(state)
            try store.restore(state, in: fold)
        }
    }

    private mutating func parse(_ records: RecordBatch, with parser: JSONParser) throws {
        let parsed = parsing.measure {
            (0..<records.count).reduce(0) { sum, index in
                guard let value = records[index].value,
                    (try? parser.parse(value))?.isObject == true
                else { return sum }
                return sum + 1
            }
        }
        guard parsed == records.count else { throw ValidationError("a sample does not parse") }
    }

    private func report(count: Int, bytes: Int) {
        let total = Double(count)
        let share = String(format: "%.2f", parsing.cpuSeconds / folding.cpuSeconds)
        print("bytes a record           \(bytes / count)")
        print("parsing alone            \(Int(total / parsing.cpuSeconds)) records a CPU second")
        print("decode + fold + commit   \(Int(total / folding.cpuSeconds)) records a CPU second")
        print("share of parsing         \(share)")
        print("peak memory              \(Stopwatch.peakMemoryMiB) MiB")
    }
}
