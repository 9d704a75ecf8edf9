import ArgumentParser
import Crypto
import EventLog
import Foundation
import JSON
import Signatures
import Store
import Streams

/// Decode, verification, deduplication, fold and commit of postbacks, compared in the same run with bare P-256
/// verification of the same signatures on the same cores.
struct PostbacksBenchmark: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "postbacks",
        abstract: "The whole postback worker beside bare P-256 verification, on all cores.")

    @Option(help: "Number of postbacks.") var count = 200_000
    @Option(help: "Records a commit.") var batch = 10_000
    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp(
            "Numbers of ids that the store remembers before the postbacks.",
            discussion: "With several, ascending numbers, the postbacks are measured after each."))
    var remembered = [0]

    func run() throws {
        let directory = NSTemporaryDirectory() + "weir-benchmark-\(getpid())"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let path = directory + "/postbacks.sqlite"
        let cores = ProcessInfo.processInfo.activeProcessorCount
        let all = try measure(path, on: cores)
        let valid = try validPostbacks(in: path)
        guard valid == all.records else {
            throw ValidationError("only \(valid) postbacks were counted as valid")
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

    /// Measures the postbacks after each number of remembered ids.
    private func measure(_ path: String, on cores: Int) throws -> Measurement {
        let key = P256.Signing.PrivateKey()
        let store = try Self.openStore(path)
        let fold = try makeFold(key: key, store: store, cores: cores)
        var samples = SamplePostbacks(key: key)
        var ids = SyntheticIDs()
        var offset: Int64 = 0
        var all = Measurement()
        for number in remembered {
            try ids.remember(number, in: store, offset: &offset)
            var measured = Measurement()
            try measure(&samples, fold, store, on: cores, offset: &offset, &measured)
            all.add(measured)
            if isCurve { print("remembered ids \(number): \(measured.line(path))") }
        }
        return all
    }

    private static func openStore(_ path: String) throws -> AggregateStore {
        try AggregateStore(
            path: path, fold: PostbacksFold.self, topic: "postbacks", logIdentity: "benchmark",
            partitionCount: 4)
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
                format: "%.1f µs of CPU and %.1f µs a postback, share of bare %.2f", cpu, wall,
                bare.wallSeconds / whole.wallSeconds)
                + ", \(bytesWritten / records) bytes written a postback"
                + ", memory \(Stopwatch.memoryMiB) MiB, file \((size ?? 0) >> 20) MiB"
        }

        func print() {
            let total = Double(records)
            let wall = String(format: "%.2f", bare.wallSeconds / whole.wallSeconds)
            let cpu = String(format: "%.2f", bare.cpuSeconds / whole.cpuSeconds)
            Swift.print("bare verification        \(Int(total / bare.wallSeconds)) a second")
            Swift.print("weir-postbacks' work     \(Int(total / whole.wallSeconds)) a second")
            Swift.print("share of bare            \(wall)")
            Swift.print("share of bare, CPU       \(cpu)")
        }
    }

    private func measure(
        _ samples: inout SamplePostbacks, _ fold: PostbacksFold, _ store: AggregateStore,
        on cores: Int, offset: inout Int64, _ measured: inout Measurement
    ) throws {
        // Blocks of batches. Within a block, signatures are verified while the previous batch is folded; no work is
        // pending when the clock stops.
        let batches = (0..<5).map { _ in RecordBatch() }
        for _ in 0..<max(1, count / batch / batches.count) {
            samples.signatures = []
            for records in batches { try samples.fill(records, count: batch, offset: &offset) }
            let valid = try measured.bare.measure { try samples.verify(on: cores) }
            guard valid == batch * batches.count else {
                throw ValidationError("a sample does not verify")
            }
            let written = Stopwatch.bytesWritten
            try measured.whole.measure {
                var pending: PreparedPostbacks?
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

    private func makeFold(
        key: P256.Signing.PrivateKey, store: AggregateStore, cores: Int
    ) throws -> PostbacksFold {
        guard let parser = JSONParser(), let jwsParser = JSONParser() else {
            throw ValidationError("no memory")
        }
        let spki = key.publicKey.derRepresentation.base64EncodedString()
        let fold = PostbacksFold(
            topic: "postbacks",
            rules: PostbacksRules(maxRecordBytes: 1 << 20),
            attestor: Attestor(
                keys: try TrustedKeys(production: [spki]), threadCount: cores),
            parser: parser, jwsParser: jwsParser, memory: store)
        try store.beginPartition(0, at: 0, emitFrom: 0)
        for state in try store.partitionStates() {
            store.expect(state)
            try store.restore(state, in: fold)
        }
        return fold
    }

    /// The number of postbacks counted as `valid`, to check that the measured work is real.
    private func validPostbacks(in path: String) throws -> Int {
        try StoreReader(path: path).snapshot { snapshot in
            var sum = 0
            try snapshot.forEachRow(of: PostbacksKey.table, partitions: [0]) {
                _, columns, row in
                if columns.contains(.text("valid")) { sum += Int(row.amounts[0]) }
            }
            return sum
        }
    }

    private func commit(
        _ prepared: PreparedPostbacks, _ fold: PostbacksFold, _ store: AggregateStore
    ) throws {
        for index in 0..<prepared.batch.count { try fold.fold(index, of: prepared) }
        _ = try store.store(fold, prepared)
    }
}

/// Remembered ids without their postbacks, which would take hours to sign.
struct SyntheticIDs {
    private var count = 0
    private var random = SplitMix64(state: 7)

    /// Adds ids up to this number, in commits of the store.
    mutating func remember(
        _ number: Int, in store: AggregateStore, offset: inout Int64
    ) throws {
        guard let table = PostbacksFold.memoryTables.first(where: \.hasIDs) else { return }
        while count < number {
            let rows = (0..<min(100_000, number - count)).map { _ in
                offset += 1
                return (RecordID(high: random.next(), low: random.next()), offset)
            }
            try store.remember(
                rows.map { id, offset in
                    [.id(id), .integer(2), .integer(offset), .integer(offset % 64)]
                        + [.none, .none, .none, .none]
                }, in: table, partition: 0)
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

/// Distinct postbacks of version 3.0, signed with a key that the benchmark trusts.
struct SamplePostbacks {
    private let key: P256.Signing.PrivateKey
    private var number = 0
    var signatures: [(P256.Signing.ECDSASignature, SHA256Digest)] = []

    init(key: P256.Signing.PrivateKey) {
        self.key = key
    }

    /// Fills a batch with the next postbacks, and adds their signatures.
    mutating func fill(_ batch: RecordBatch, count: Int, offset: inout Int64) throws {
        batch.removeAll()
        for _ in 0..<count {
            number += 1
            let transaction = UUID().uuidString.lowercased()
            let campaign = 1 + number % 100
            let text = [
                "3.0", "su67r6k2v3.skadnetwork", "\(campaign)", "525463029", transaction, "false",
                "880047117", "1", "true",
            ].joined(separator: "\u{2063}")
            let digest = SHA256.hash(data: Data(text.utf8))
            let signature = try key.signature(for: digest)
            signatures.append((signature, digest))
            let value = """
                {"version":"3.0","ad-network-id":"su67r6k2v3.skadnetwork","campaign-id":\(campaign),\
                "app-id":525463029,"transaction-id":"\(transaction)","redownload":false,\
                "source-app-id":880047117,"fidelity-type":1,"did-win":true,"conversion-value":\
                \(number % 64),"attribution-signature":\
                "\(signature.derRepresentation.base64EncodedString())"}
                """
            Array(value.utf8).withUnsafeBytes { bytes in
                batch.append(
                    partition: 0, offset: offset,
                    timestampMilliseconds: 1_795_219_200_000 + offset * 40, key: nil,
                    headers: UnsafeRawBufferPointer(start: nil, count: 0), value: bytes)
            }
            offset += 1
        }
    }

    /// Verifies the signatures on this many threads; returns the number of valid ones.
    func verify(on cores: Int) throws -> Int {
        try BareVerification(key: key.publicKey, signatures: signatures).validCount(on: cores)
    }
}
