import ArgumentParser
import EventLog
import Foundation
import JSON
import Store
import Streams
import Synchronization

/// Sizes of the benchmark.
struct FoldBenchmarkOptions: ParsableArguments {
    @Option(help: "Number of records.") var count = 1_000_000
    @Option(help: "Records a commit.") var batch = 10_000
    @Option(help: "Partitions that the records are spread over.") var partitions: Int32 = 4
    @Option(help: "Threads that fold.") var lanes = 1
    @Option(help: "Days for which the store keeps which records added to a row; 0 for none.")
    var explainDays = 90
    @Option(
        help:
            "Days of event time that the records are spread over; by default 500,000 lie in an hour."
    )
    var days: Int?

    func validate() throws {
        guard count > 0, batch > 0, partitions > 0, lanes > 0, days ?? 1 > 0, explainDays >= 0
        else {
            throw ValidationError("numbers have to be above 0")
        }
    }

    /// The distribution of records over partitions and time.
    var spread: SampleChoices {
        SampleChoices(
            partitions: partitions,
            recordsAnHour: days.map { Double(count) / Double($0 * 24) } ?? 500_000)
    }
}

/// Decode, fold and commit of records of a stream, compared with parsing alone in the same run.
struct FoldBenchmark<Fold: StreamFold, Samples: SampleRecords> {
    let options: FoldBenchmarkOptions
    /// Nil if ids are remembered permanently.
    let windowMilliseconds: Int64?
    private let makeFold: (JSONParser, AggregateStore) throws -> Fold
    var samples: Samples
    private var parsing = Stopwatch()
    private var folding = Stopwatch()
    private var last = Sample()

    /// The resources used up to some point of a run.
    private struct Sample {
        var cpuSeconds = 0.0
        var wallSeconds = 0.0
        var bytesWritten = 0
        var records = 0
    }

    init(
        _ samples: Samples, windowMilliseconds: Int64?, options: FoldBenchmarkOptions,
        makeFold: @escaping (JSONParser, AggregateStore) throws -> Fold
    ) {
        self.makeFold = makeFold
        self.samples = samples
        self.samples.choices = options.spread
        self.windowMilliseconds = windowMilliseconds
        self.options = options
    }

    mutating func run() throws {
        let directory = NSTemporaryDirectory() + "weir-benchmark-\(getpid())"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let path = "\(directory)/\(Fold.streamName).sqlite"
        let store = try AggregateStore(
            path: path, fold: Fold.self, topic: Fold.streamName, logIdentity: "benchmark",
            partitionCount: options.partitions)
        store.explainDays = options.explainDays
        guard let other = JSONParser() else { return }
        let folds = FoldLanes(
            try (0..<options.lanes).map { _ in try makeFold(try parser(), store) })
        try begin(folds, store)
        let records = RecordBatch()
        var bytes = 0
        let rounds = options.count / options.batch
        for round in 1...max(1, rounds) {
            samples.fill(records, count: options.batch)
            bytes += records.byteCount
            try parse(records, with: other)
            try folding.measure {
                let prepared = folds.folds[0].prepare(records)
                try Self.fold(prepared, folds)
                _ = try store.store(folds, prepared)
            }
            guard round % max(1, rounds / 10) == 0 else { continue }
            _ = try store.awaitCommit()
            print(
                tenth(to: round * options.batch),
                "ids \(store.rememberedIDs(of: folds, atMost: .max))",
                "file \(((try? FileManager.default.attributesOfItem(atPath: path)[.size]) as? Int ?? 0) >> 20) MiB",
                separator: ", ")
        }
        report(count: max(1, rounds) * options.batch, bytes: bytes)
    }

    private func parser() throws -> JSONParser {
        guard let parser = JSONParser() else { throw ValidationError("no memory for a parser") }
        return parser
    }

    /// Folds a batch, each lane on its own thread.
    private static func fold(_ prepared: Fold.Prepared, _ folds: FoldLanes<Fold>) throws {
        let failure = Mutex<(any Error)?>(nil)
        nonisolated(unsafe) let (prepared, folds) = (prepared, folds)
        DispatchQueue.concurrentPerform(iterations: folds.folds.count) { lane in
            let fold = folds.folds[lane]
            let records = prepared.batch
            do {
                for index in 0..<records.count
                where folds.lane(of: records.position(index).partition) == lane {
                    try fold.fold(index, of: prepared)
                }
            } catch {
                failure.withLock { $0 = error }
            }
        }
        if let failure = failure.withLock({ $0 }) { throw failure }
    }

    /// The cost of the records since the last call.
    private mutating func tenth(to records: Int) -> String {
        let now = Sample(
            cpuSeconds: folding.cpuSeconds, wallSeconds: folding.wallSeconds,
            bytesWritten: Stopwatch.bytesWritten, records: records)
        defer { last = now }
        let count = Double(now.records - last.records)
        let written = Double(now.bytesWritten - last.bytesWritten)
        return """
            to \(records): \(Int(count / (now.cpuSeconds - last.cpuSeconds))) records a CPU second, \
            \(Int(count / (now.wallSeconds - last.wallSeconds))) a second, \
            \(Int(written / count)) bytes written a record, memory \(Stopwatch.memoryMiB) MiB
            """
    }

    private func begin(_ folds: FoldLanes<Fold>, _ store: AggregateStore) throws {
        let configuration = FoldConfiguration(
            text: "{}", dedupeWindowMilliseconds: windowMilliseconds)
        for partition in 0..<options.partitions {
            try store.beginPartition(partition, at: 0, emitFrom: 0)
            try store.recordEpoch(partition: partition, configuration: configuration)
        }
        for state in try store.partitionStates() {
            store.expect(state)
            try store.restore(state, in: folds[partition: state.partition])
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

extension FoldBenchmark where Fold: WindowedFold {
    init(
        _: Fold.Type, _ samples: Samples, windowMilliseconds: Int64, options: FoldBenchmarkOptions
    ) {
        self.init(samples, windowMilliseconds: windowMilliseconds, options: options) { parser, _ in
            Fold(
                topic: Fold.streamName,
                rules: .init(
                    stream: Fold.streamName, dedupeWindowMilliseconds: windowMilliseconds,
                    maxRecordBytes: 1 << 20),
                parser: parser)
        }
    }
}
