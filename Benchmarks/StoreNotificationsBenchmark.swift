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
    @OptionGroup var memory: RememberedOptions

    func run() throws {
        let chain = try AppStoreChain()
        let benchmark = SignedBenchmark(
            count: count, batch: batch, remembered: memory.remembered,
            table: StoreNotificationsKey.table,
            measure: StoreNotificationsKey.Measure.renewals.rawValue
        ) { store, cores in
            let trust = StoreNotificationsTrust(
                apps: [
                    .init(
                        bundleID: SampleNotifications.bundle, appAppleID: nil, sharedSecrets: [])
                ],
                environments: [.production],
                verifier: AppStoreVerifier(roots: [try AppStoreRoot(pem: chain.rootPEM)]))
            let decoders = (0..<cores).compactMap { _ in
                StoreNotificationsDecoder(trust: trust, maxRecordBytes: 1 << 20)
            }
            return StoreNotificationsFold(
                topic: "store-notifications", decoders: decoders, memory: store)
        }
        try benchmark.run(SampleNotifications(chain: chain))
    }
}

/// Distinct renewals, each of three JWSs of one chain.
struct SampleNotifications: SignedSamples {
    static let bundle = "com.example.puzzle"

    let chain: AppStoreChain
    var signatures: [(P256.Signing.ECDSASignature, SHA256Digest)] = []
    private var number = 0

    init(chain: AppStoreChain) { self.chain = chain }

    var publicKey: P256.Signing.PublicKey { chain.leafPublicKey }

    func memory(of id: RecordID, offset: Int64) -> [MemoryValue] { [.id(id), .integer(offset)] }

    func isCounted(_: [StoredValue]) -> Bool { true }

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
