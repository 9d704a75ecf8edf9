import ArgumentParser
import Crypto
import EventLog
import Foundation
import Store
import Streams

/// The ids that a store remembers before the measured records.
struct RememberedOptions: ParsableArguments {
    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp(
            "Numbers of ids that the store remembers before the records.",
            discussion: "With several, ascending numbers, the records are measured after each."))
    var remembered = [0]
}

/// Distinct signed records of a stream.
protocol SignedSamples {
    /// The signatures of the records since this was last emptied, and what they sign.
    var signatures: [(P256.Signing.ECDSASignature, SHA256Digest)] { get set }
    var publicKey: P256.Signing.PublicKey { get }

    /// Fills a batch with the next records, and adds their signatures.
    mutating func fill(_ batch: RecordBatch, count: Int, offset: inout Int64) throws
    /// A row of the memory of ids.
    func memory(of id: RecordID, offset: Int64) -> [MemoryValue]
    /// Whether a row of the aggregate has records that count.
    func isCounted(_ columns: [StoredValue]) -> Bool
}

/// The whole work on signed records, compared in the same run with bare verification of their signatures.
struct SignedBenchmark<Fold: StreamFold> {
    let count: Int
    let batch: Int
    let remembered: [Int]
    /// The aggregate whose sums of a measure, by its index, count the records.
    let table: AggregateTable
    let measure: Int
    let makeFold: (_ store: AggregateStore, _ cores: Int) throws -> Fold

    func run(_ samples: some SignedSamples) throws {
        let directory = NSTemporaryDirectory() + "weir-benchmark-\(getpid())"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let path = "\(directory)/\(Fold.streamName).sqlite"
        let cores = ProcessInfo.processInfo.activeProcessorCount
        let all = try measure(samples, path, on: cores)
        let counted = try countedRecords(samples, in: path)
        guard counted == all.records else {
            throw ValidationError("\(counted) of \(all.records) records were counted")
        }
        if isCurve {
            var opening = Stopwatch()
            _ = try opening.measure { try Self.openStore(path) }
            print(String(format: "opening the store        %.1f s", opening.wallSeconds))
        }
        print("cores                    \(cores)")
        all.print()
        print("peak memory              \(Stopwatch.peakMemoryMiB) MiB")
    }

    /// Whether the cost of remembered ids is measured.
    private var isCurve: Bool { remembered != [0] }

    private static func openStore(_ path: String) throws -> AggregateStore {
        try AggregateStore(
            path: path, fold: Fold.self, topic: Fold.streamName, logIdentity: "benchmark",
            partitionCount: 4)
    }

    /// Measures the records after each number of remembered ids.
    private func measure(
        _ samples: some SignedSamples, _ path: String, on cores: Int
    ) throws -> Measurement {
        var samples = samples
        let store = try Self.openStore(path)
        let fold = try makeFold(store, cores)
        try store.beginPartition(0, at: 0, emitFrom: 0)
        for state in try store.partitionStates() {
            store.expect(state)
            try store.restore(state, in: fold)
        }
        var ids = SyntheticIDs<Fold>()
        var offset: Int64 = 0
        var all = Measurement()
        for number in remembered {
            try ids.remember(number, in: store, offset: &offset, row: samples.memory)
            var measured = Measurement()
            try measure(&samples, fold, store, on: cores, offset: &offset, &measured)
            all.add(measured)
            if isCurve { print("remembered ids \(number): \(measured.line(path))") }
        }
        return all
    }

    private func measure(
        _ samples: inout some SignedSamples, _ fold: Fold, _ store: AggregateStore,
        on cores: Int, offset: inout Int64, _ measured: inout Measurement
    ) throws {
        // Blocks of batches. Within a block, signatures are verified while the previous batch is folded; no work is
        // pending when the clock stops.
        let batches = (0..<5).map { _ in RecordBatch() }
        for _ in 0..<max(1, count / batch / batches.count) {
            samples.signatures = []
            for records in batches { try samples.fill(records, count: batch, offset: &offset) }
            let bare = BareVerification(key: samples.publicKey, signatures: samples.signatures)
            let valid = try measured.bare.measure { try bare.validCount(on: cores) }
            guard valid == samples.signatures.count else {
                throw ValidationError("a sample does not verify")
            }
            let written = Stopwatch.bytesWritten
            try measured.whole.measure {
                var pending: Fold.Prepared?
                for records in batches {
                    let prepared = fold.prepare(records)
                    if let pending { try commit(pending, fold, store) }
                    pending = prepared
                }
                if let pending { try commit(pending, fold, store) }
                try store.awaitCommit()
            }
            measured.bytesWritten += Stopwatch.bytesWritten - written
            measured.records += batch * batches.count
        }
    }

    private func commit(
        _ prepared: Fold.Prepared, _ fold: Fold, _ store: AggregateStore
    ) throws {
        for index in 0..<prepared.batch.count { try fold.fold(index, of: prepared) }
        _ = try store.store(fold, prepared)
    }

    /// The number of counted records, to check that the measured work is real.
    private func countedRecords(_ samples: some SignedSamples, in path: String) throws -> Int {
        try StoreReader(path: path).snapshot { snapshot in
            var sum = 0
            try snapshot.forEachRow(of: table, partitions: [0]) { _, columns, row in
                if samples.isCounted(columns) { sum += Int(row.amounts[measure]) }
            }
            return sum
        }
    }
}

private struct Measurement {
    var bare = Stopwatch()
    var whole = Stopwatch()
    var bytesWritten = 0
    var records = 0

    mutating func add(_ other: Measurement) {
        bare.add(other.bare)
        whole.add(other.whole)
        bytesWritten += other.bytesWritten
        records += other.records
    }

    func line(_ path: String) -> String {
        let (cpu, wall) = (
            whole.cpuSeconds * 1e6 / Double(records), whole.wallSeconds * 1e6 / Double(records)
        )
        let size = (try? FileManager.default.attributesOfItem(atPath: path)[.size]) as? Int
        return String(
            format: "%.1f µs of CPU and %.1f µs a record, share of bare %.2f", cpu, wall,
            bare.wallSeconds / whole.wallSeconds)
            + ", \(bytesWritten / records) bytes written a record"
            + ", memory \(Stopwatch.memoryMiB) MiB, file \((size ?? 0) >> 20) MiB"
    }

    func print() {
        let total = Double(records)
        let wall = String(format: "%.2f", bare.wallSeconds / whole.wallSeconds)
        let cpu = String(format: "%.2f", bare.cpuSeconds / whole.cpuSeconds)
        Swift.print("bare verification        \(Int(total / bare.wallSeconds)) a second")
        Swift.print("the worker's work        \(Int(total / whole.wallSeconds)) a second")
        Swift.print("share of bare            \(wall)")
        Swift.print("share of bare, CPU       \(cpu)")
    }
}

/// Remembered ids without their records, which would take hours to sign.
private struct SyntheticIDs<Fold: StreamFold> {
    private var count = 0
    private var random = SplitMix64(state: 7)

    /// Adds ids up to this number, in commits of the store.
    mutating func remember(
        _ number: Int, in store: AggregateStore, offset: inout Int64,
        row: (RecordID, Int64) -> [MemoryValue]
    ) throws {
        guard let table = Fold.memoryTables.first(where: \.hasIDs) else { return }
        while count < number {
            let rows = (0..<min(100_000, number - count)).map { _ in
                offset += 1
                return row(RecordID(high: random.next(), low: random.next()), offset)
            }
            try store.remember(rows, in: table, partition: 0)
            count += rows.count
        }
        offset += 1
    }
}

private struct SplitMix64 {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
