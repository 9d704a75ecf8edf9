import ArgumentParser
import Crypto
import EventLog
import Foundation
import JSON
import Signatures
import Store
import Streams
import TestKit

/// Verification of three JWSs each, decoding, deduplication, fold and commit of notifications of version 2. The same
/// run measures bare P-256 verification of the same signatures on the same cores.
struct StoreNotificationsBenchmark: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "store-notifications",
        abstract: "The whole notification worker beside bare P-256 verification, on all cores.")

    @Option(help: "Number of notifications.") var count = 50_000
    @Option(help: "Records a commit.") var batch = 5_000

    func run() throws {
        let directory = NSTemporaryDirectory() + "weir-benchmark-\(getpid())"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let cores = ProcessInfo.processInfo.activeProcessorCount
        var samples = SampleNotifications(chain: try AppStoreChain())
        let store = try AggregateStore(
            path: directory + "/store-notifications.sqlite", fold: StoreNotificationsFold.self,
            topic: "store-notifications", logIdentity: "benchmark", partitionCount: 4)
        let fold = try makeFold(samples.chain, store: store, cores: cores)
        var bare = Stopwatch()
        var whole = Stopwatch()
        var offset: Int64 = 0
        // As in the benchmark of postbacks: a batch is verified while the previous one is folded.
        let batches = (0..<5).map { _ in RecordBatch() }
        for _ in 0..<max(1, count / batch / batches.count) {
            samples.signatures = []
            for records in batches { try samples.fill(records, count: batch, offset: &offset) }
            let verification = BareVerification(
                key: samples.chain.leafPublicKey, signatures: samples.signatures)
            let valid = try bare.measure { try verification.validCount(on: cores) }
            guard valid == samples.signatures.count else {
                throw ValidationError("a sample does not verify")
            }
            try whole.measure {
                var pending: PreparedNotifications?
                for records in batches {
                    let prepared = fold.prepare(records)
                    if let pending { try commit(pending, fold, store) }
                    pending = prepared
                }
                if let pending { try commit(pending, fold, store) }
            }
        }
        let renewals = try renewals(in: directory + "/store-notifications.sqlite")
        guard renewals == Int(offset) else {
            throw ValidationError("\(renewals) of \(offset) notifications were counted")
        }
        report(notifications: Double(offset), cores, bare, whole)
    }

    private func report(
        notifications: Double, _ cores: Int, _ bare: Stopwatch, _ whole: Stopwatch
    ) {
        let wall = String(format: "%.2f", bare.wallSeconds / whole.wallSeconds)
        let cpu = String(format: "%.2f", bare.cpuSeconds / whole.cpuSeconds)
        print("cores                    \(cores)")
        print("bare verification        \(Int(notifications / bare.wallSeconds)) a second, 3 each")
        print("the worker's work        \(Int(notifications / whole.wallSeconds)) a second")
        print("share of bare            \(wall)")
        print("share of bare, CPU       \(cpu)")
        print("peak memory              \(Stopwatch.peakMemoryMiB) MiB")
    }

    private func makeFold(
        _ chain: AppStoreChain, store: AggregateStore, cores: Int
    ) throws -> StoreNotificationsFold {
        let trust = StoreNotificationsTrust(
            apps: [.init(bundleID: SampleNotifications.bundle, appAppleID: nil, sharedSecrets: [])],
            environments: [.production],
            verifier: AppStoreVerifier(roots: [try AppStoreRoot(pem: chain.rootPEM)]))
        let decoders = (0..<cores).compactMap { _ in
            StoreNotificationsDecoder(trust: trust, maxRecordBytes: 1 << 20)
        }
        let fold = StoreNotificationsFold(
            topic: "store-notifications", decoders: decoders,
            memory: store)
        try store.beginPartition(0, at: 0, emitFrom: 0)
        for state in try store.partitionStates() {
            store.expect(state)
            try store.restore(state, in: fold)
        }
        return fold
    }

    /// The number of counted renewals, to check that the measured work is real.
    private func renewals(in path: String) throws -> Int {
        let measures = StoreNotificationsKey.table.measures
        return try StoreReader(path: path).snapshot { snapshot in
            var sum = 0
            try snapshot.forEachRow(of: StoreNotificationsKey.table, partitions: [0]) {
                sum += Int($2.amounts[measures.firstIndex(of: "renewals") ?? 0])
            }
            return sum
        }
    }

    private func commit(
        _ prepared: PreparedNotifications, _ fold: StoreNotificationsFold, _ store: AggregateStore
    ) throws {
        for index in 0..<prepared.batch.count { try fold.fold(index, of: prepared) }
        _ = try store.store(fold, prepared)
    }
}

/// Distinct renewals, each of three JWSs of one chain.
struct SampleNotifications {
    static let bundle = "com.example.puzzle"

    let chain: AppStoreChain
    var signatures: [(P256.Signing.ECDSASignature, SHA256Digest)] = []
    private var number = 0

    init(chain: AppStoreChain) { self.chain = chain }

    /// Fills a batch with the next notifications, and adds their signatures.
    mutating func fill(_ batch: RecordBatch, count: Int, offset: inout Int64) throws {
        batch.removeAll()
        for _ in 0..<count {
            number += 1
            let value = "{\"signedPayload\":\"\(try renewal())\"}"
            Array(value.utf8).withUnsafeBytes { bytes in
                batch.append(
                    partition: 0, offset: offset,
                    timestampMilliseconds: 1_795_219_200_000 + offset * 40, key: nil,
                    headers: UnsafeRawBufferPointer(start: nil, count: 0), value: bytes)
            }
            offset += 1
        }
    }

    private mutating func renewal() throws -> String {
        let common = "\"environment\":\"Production\",\"signedDate\":1795238412000"
        let transaction = try sign(
            """
            {"transactionId":"\(2_000_000_701_234_567 + number)","originalTransactionId":\
            "2000000700000001","webOrderLineItemId":"2000000070123456","bundleId":\
            "\(Self.bundle)","productId":"com.example.puzzle.\(number % 20)",\
            "subscriptionGroupIdentifier":"21300001","purchaseDate":1795238400000,\
            "originalPurchaseDate":1792560000000,"expiresDate":1797830400000,"quantity":1,\
            "type":"Auto-Renewable Subscription","inAppOwnershipType":"PURCHASED",\
            "transactionReason":"RENEWAL","storefront":"USA","storefrontId":"143441",\
            "price":9990,"currency":"USD",\(common)}
            """)
        let renewal = try sign(
            """
            {"originalTransactionId":"2000000700000001","autoRenewProductId":\
            "com.example.puzzle.\(number % 20)","productId":"com.example.puzzle.\(number % 20)",\
            "autoRenewStatus":1,"renewalPrice":9990,"currency":"USD",\
            "recentSubscriptionStartDate":1792560000000,"renewalDate":1797830400000,\(common)}
            """)
        return try sign(
            """
            {"notificationType":"DID_RENEW","notificationUUID":"\(UUID().uuidString)",\
            "version":"2.0","signedDate":1795238412500,"data":{"appAppleId":525463029,\
            "bundleId":"\(Self.bundle)","bundleVersion":"512","environment":"Production",\
            "signedTransactionInfo":"\(transaction)","signedRenewalInfo":"\(renewal)","status":1}}
            """)
    }

    private mutating func sign(_ payload: String) throws -> String {
        let jws = try chain.sign(payload.utf8)
        let parts = jws.split(separator: ".")
        var signature: [UInt8] = []
        _ = Array(parts[2].utf8).withUnsafeBytes { Base64.url.decode($0, into: &signature) }
        let input = parts[0] + "." + parts[1]
        signatures.append(
            (
                try P256.Signing.ECDSASignature(rawRepresentation: signature),
                SHA256.hash(data: Data(input.utf8))
            ))
        return jws
    }
}
