import ConversionModels
import EventLog
import Foundation
import GRDB
import JSON
import Reports
import Signatures
import Store
import Streams
import TestKit

/// Stores in a temporary directory, made by folding a handful of records.
final class SampleStores {
    struct Record {
        var partition: Int32 = 0
        var offset: Int64
        var milliseconds: Int64 = SampleStores.noon
        var type: String?
        var value: String?
    }

    /// 2026-11-21T12:00:00Z.
    static let noon: Int64 = 1_795_262_400_000
    static let hour: Int64 = 3_600_000

    private let files = Result { try TemporaryDirectory() }

    func directory(_ name: String) -> String { "\((try? files.get().path) ?? "")/\(name)" }

    func stores(_ names: String...) throws -> OpenStores {
        try OpenStores(directories: names.map(directory))
    }

    func foldBids(
        _ records: [Record], into name: String = "data", atOnce: Int = 100,
        configuration: String = "{}"
    ) throws {
        try fold(BidsFold.self, records, into: name, atOnce: atOnce, configuration: configuration)
    }

    /// Folds records into the store of a stream with a window.
    func fold<Fold: WindowedFold>(
        _: Fold.Type, _ records: [Record], into name: String = "data", atOnce: Int = 100,
        configuration: String = "{}"
    ) throws {
        let store = try AggregateStore(
            path: try OpenStores.path(of: Fold.streamName, in: directory(name)), fold: Fold.self,
            topic: Fold.streamName, logIdentity: "log", partitionCount: 4)
        guard let parser = JSONParser() else { throw CocoaError(.featureUnsupported) }
        let fold = Fold(
            topic: Fold.streamName,
            rules: .init(
                stream: "bids", dedupeWindowMilliseconds: Self.hour, maxRecordBytes: 1_048_576),
            parser: parser)
        try run(fold, store, records, atOnce, configuration, window: Self.hour)
    }

    func foldPostbacks(
        _ records: [Record], into name: String = "data", models: [ConversionModel] = [],
        partners: [PartnerRule] = []
    ) throws {
        let store = try AggregateStore(
            path: try OpenStores.path(of: "postbacks", in: directory(name)),
            fold: PostbacksFold.self,
            topic: "postbacks", logIdentity: "log", partitionCount: 4)
        guard let parser = JSONParser(), let jwsParser = JSONParser() else {
            throw CocoaError(.featureUnsupported)
        }
        let fold = PostbacksFold(
            topic: "postbacks",
            rules: PostbacksRules(
                maxRecordBytes: 1_048_576, models: models, partners: partners),
            attestor: Attestor(keys: try TrustedKeys(), threadCount: 1),
            parser: parser, jwsParser: jwsParser, memory: store)
        try run(fold, store, records, 100, "{}", window: nil)
    }

    /// Writes the file of a stream's store once more, as that of another stream.
    func copy(_ stream: String, to other: String, in name: String = "data") throws {
        let queue = try DatabaseQueue(path: try OpenStores.path(of: stream, in: directory(name)))
        try queue.vacuum(into: try OpenStores.path(of: other, in: directory(name)))
    }

    /// Folds records into `store-notifications.sqlite`; trusts `com.example.puzzle` with "secret".
    func foldNotifications(
        _ records: [Record], into name: String = "data", atOnce: Int = 100
    ) throws {
        let store = try AggregateStore(
            path: try OpenStores.path(of: "store-notifications", in: directory(name)),
            fold: StoreNotificationsFold.self, topic: "store-notifications", logIdentity: "log",
            partitionCount: 4)
        let trust = StoreNotificationsTrust(
            apps: [
                .init(
                    bundleID: "com.example.puzzle", appAppleID: nil,
                    sharedSecrets: [Array("secret".utf8)])
            ],
            environments: [.production], verifier: AppStoreVerifier(roots: []))
        guard let decoder = StoreNotificationsDecoder(trust: trust, maxRecordBytes: 1_048_576)
        else { throw CocoaError(.featureUnsupported) }
        let fold = StoreNotificationsFold(
            topic: "store-notifications", decoders: [decoder], memory: store)
        try run(fold, store, records, atOnce, "{}", window: nil)
    }

    /// Changes a store behind its back.
    func change(_ sql: String, stream: String, in name: String = "data") throws {
        let queue = try DatabaseQueue(path: try OpenStores.path(of: stream, in: directory(name)))
        try queue.write { try $0.execute(sql: sql) }
    }

    /// What a shell would show of a store.
    func texts(_ sql: String, stream: String, in name: String = "data") throws -> [String] {
        let queue = try DatabaseQueue(path: try OpenStores.path(of: stream, in: directory(name)))
        return try queue.read { try String.fetchAll($0, sql: sql) }
    }

    private func run<Fold: StreamFold>(
        _ fold: Fold, _ store: AggregateStore, _ records: [Record], _ atOnce: Int,
        _ configuration: String, window: Int64?
    ) throws {
        let known = Set(try store.partitionStates().map(\.partition))
        for partition in Set(records.map(\.partition)).subtracting(known).sorted() {
            try store.beginPartition(partition, at: 0, emitFrom: 0)
            try store.recordEpoch(
                partition: partition,
                configuration: FoldConfiguration(
                    text: configuration, dedupeWindowMilliseconds: window))
        }
        for state in try store.partitionStates() {
            try store.restore(state, in: fold)
            store.expect(state)
        }
        for start in stride(from: 0, to: records.count, by: atOnce) {
            let batch = RecordBatch()
            for record in records[start..<min(start + atOnce, records.count)] {
                batch.append(
                    ReadRecord(
                        partition: record.partition, offset: record.offset,
                        timestamp: record.milliseconds,
                        headers: record.type.map { [.init("ce_type", $0)] } ?? [],
                        value: record.value.map { Array($0.utf8) }))
            }
            let prepared = fold.prepare(batch)
            for index in 0..<batch.count { try fold.fold(index, of: prepared) }
            _ = try store.store(fold, prepared)
        }
    }
}

extension SampleStores.Record {
    /// A notice that a bid was billed.
    static func billing(
        _ partition: Int32 = 0, _ offset: Int64, id: String, seat: String = "s",
        appID: Int = 1, price: String = "1.5", milliseconds: Int64 = SampleStores.noon
    ) -> SampleStores.Record {
        SampleStores.Record(
            partition: partition, offset: offset, milliseconds: milliseconds,
            type: "openrtb.billing",
            value: """
                {"auction_id":"\(id)","bid_id":"b","seat":"\(seat)","price":\(price),
                "campaign":{"ad_network_id":"net","app_id":\(appID)}}
                """)
    }

    /// Apple's example of a postback of 3.0, which is valid.
    static func postback(_ offset: Int64, value: Int = 20) -> SampleStores.Record {
        SampleStores.Record(
            offset: offset,
            value: """
                {"version":"3.0","ad-network-id":"example123.skadnetwork","campaign-id":42,
                "transaction-id":"6aafb7a5-0170-41b5-bbe4-fe71dedf1e28","app-id":525463029,
                "attribution-signature":"MEYCIQD5eq3AUlamORiGovqFiHWI4RZT/PrM3VEiXUrsC+M51wIhAPMANZA9c07raZJ64gVaXhB9+9yZj/X6DcNxONdccQij",
                "redownload":true,"source-app-id":1234567891,"fidelity-type":1,
                "conversion-value":\(value),"did-win":true}
                """)
    }

    /// The losing postback of another network, which is valid.
    static func losingPostback(_ offset: Int64) -> SampleStores.Record {
        SampleStores.Record(
            offset: offset,
            value: """
                {"version":"3.0","ad-network-id":"example123.skadnetwork","campaign-id":"42",
                "transaction-id":"f9ac267a-a889-44ce-b5f7-0166d11461f0","app-id":525463029,
                "attribution-signature":"MEUCIQDDetUtkyc/MiQvVJ5I6HIO1E7l598572Wljot2Onzd4wIgVJLzVcyAV+TXksGNoa0DTMXEPgNPeHCmD4fw1ABXX0g=",
                "redownload":true,"fidelity-type":1,"did-win":false}
                """)
    }
}

extension OpenStores {
    func lines(_ query: ReportRequest) throws -> [String] {
        try dump(query).text(as: .ndjson).split(separator: "\n").map(String.init)
    }
}

/// Gives an export the documents that partners were sent: the sample's records are in no log.
struct DocumentsOfOutbox: PostbackLog {
    func error(ofGone records: [GoneRecords]) -> any Error { TestFault("\(records) are gone") }

    func reading(_ snapshot: StoreSnapshot) throws -> any PostbackReading {
        Reading(snapshot: snapshot)
    }

    private struct Reading: PostbackReading {
        let snapshot: StoreSnapshot

        func gone(partition: Int32, from offset: Int64) -> Range<Int64>? { nil }

        func forEachDocument(
            partition: Int32, offsets: [Int64], _ body: (PartnerPostback) throws -> Void
        ) throws {
            var documents: [Int64: PartnerPostback] = [:]
            try snapshot.forEachOutboxRow(of: partition) { documents[$1.originOffset] = $1 }
            for offset in offsets { if let document = documents[offset] { try body(document) } }
        }
    }
}
