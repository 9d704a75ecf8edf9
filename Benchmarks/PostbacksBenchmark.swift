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

    func run() throws {
        let directory = NSTemporaryDirectory() + "weir-benchmark-\(getpid())"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let key = P256.Signing.PrivateKey()
        let cores = ProcessInfo.processInfo.activeProcessorCount
        let store = try AggregateStore(
            path: directory + "/postbacks.sqlite", fold: PostbacksFold.self, topic: "postbacks",
            logIdentity: "benchmark", partitionCount: 4)
        let fold = try makeFold(key: key, store: store, cores: cores)
        var bare = Stopwatch()
        var whole = Stopwatch()
        var samples = SamplePostbacks(key: key)
        var offset: Int64 = 0
        // Blocks of batches. Within a block, signatures are verified while the previous batch is folded; no work is
        // pending when the clock stops.
        let batches = (0..<5).map { _ in RecordBatch() }
        for _ in 0..<count / batch / batches.count {
            samples.signatures = []
            for records in batches { try samples.fill(records, count: batch, offset: &offset) }
            let valid = try bare.measure { try samples.verify(on: cores) }
            guard valid == batch * batches.count else {
                throw ValidationError("a sample does not verify")
            }
            try whole.measure {
                var pending: PreparedPostbacks?
                for records in batches {
                    let prepared = fold.prepare(records)
                    if let pending { try commit(pending, fold, store) }
                    pending = prepared
                }
                if let pending { try commit(pending, fold, store) }
            }
        }
        let folded = Int(offset)
        let total = Double(folded)
        let valid = try validPostbacks(in: directory + "/postbacks.sqlite")
        guard valid == folded else {
            throw ValidationError("only \(valid) postbacks were counted as valid")
        }
        print("cores                    \(cores)")
        print("bare verification        \(Int(total / bare.wallSeconds)) a second")
        print("weir-postbacks' work     \(Int(total / whole.wallSeconds)) a second")
        print(
            "share of bare            \(String(format: "%.2f", bare.wallSeconds / whole.wallSeconds))"
        )
        print(
            "share of bare, CPU       \(String(format: "%.2f", bare.cpuSeconds / whole.cpuSeconds))"
        )
        print("peak memory              \(Stopwatch.peakMemoryMiB) MiB")
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
