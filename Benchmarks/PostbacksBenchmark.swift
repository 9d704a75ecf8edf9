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
    @OptionGroup var memory: RememberedOptions

    func run() throws {
        let key = P256.Signing.PrivateKey()
        let benchmark = SignedBenchmark(
            count: count, batch: batch, remembered: memory.remembered,
            table: PostbacksKey.table, measure: PostbacksKey.Measure.postbacks.rawValue
        ) { store, cores in
            guard let parser = JSONParser(), let jwsParser = JSONParser() else {
                throw ValidationError("no memory")
            }
            let spki = key.publicKey.derRepresentation.base64EncodedString()
            return PostbacksFold(
                topic: "postbacks", rules: PostbacksRules(maxRecordBytes: 1 << 20),
                attestor: Attestor(
                    keys: try TrustedKeys(production: [spki]), threadCount: cores),
                parser: parser, jwsParser: jwsParser, memory: store)
        }
        try benchmark.run(SamplePostbacks(key: key))
    }
}

/// Distinct postbacks of version 3.0, signed with a key that the benchmark trusts.
struct SamplePostbacks: SignedSamples {
    private let key: P256.Signing.PrivateKey
    private var number = 0
    var signatures: [(P256.Signing.ECDSASignature, SHA256Digest)] = []

    init(key: P256.Signing.PrivateKey) {
        self.key = key
    }

    var publicKey: P256.Signing.PublicKey { key.publicKey }

    func memory(of id: RecordID, offset: Int64) -> [MemoryValue] {
        [.id(id), .integer(2), .integer(offset), .integer(offset % 64)]
            + [.none, .none, .none, .none]
    }

    /// Valid ones.
    func isCounted(_ columns: [StoredValue]) -> Bool { columns.contains(.text("valid")) }

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
}
