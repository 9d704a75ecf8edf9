import ConversionModels
import EventLog
import JSON
import Signatures
import Streams
import Testing

/// How records are cut into batches.
enum Batching {
    case together
    /// Batches of these sizes, again and again.
    case sizes([Int])

    func cut(_ records: [TestRecord]) -> [[TestRecord]] {
        guard case .sizes(let sizes) = self, !records.isEmpty else { return [records] }
        var batches: [[TestRecord]] = []
        var rest = records[...]
        while !rest.isEmpty {
            batches.append(Array(rest.prefix(sizes[batches.count % sizes.count])))
            rest = rest.dropFirst(sizes[(batches.count - 1) % sizes.count])
        }
        return batches
    }
}

extension WindowedStream {
    /// Folds records of the stream's topic; `restarts` gives each batch a new fold with the stored memory.
    func fold(
        _ records: [TestRecord], _ batching: Batching = .together,
        windowMilliseconds: Int64 = 3_600_000, restarts: Bool = false
    ) throws -> FoldResult {
        switch self {
        case .bids:
            try foldBids(
                records, batching, windowMilliseconds: windowMilliseconds, restarts: restarts)
        case .impressions:
            try StreamsTests.fold(
                ImpressionsFold.self, records, batching, windowMilliseconds, restarts: restarts)
        case .overlayClicks:
            try StreamsTests.fold(
                OverlayClicksFold.self, records, batching, windowMilliseconds, restarts: restarts)
        case .conversionUpdates:
            try StreamsTests.fold(
                ConversionUpdatesFold.self, records, batching, windowMilliseconds,
                restarts: restarts)
        }
    }
}

func foldBids(
    _ records: [TestRecord], _ batching: Batching = .together,
    windowMilliseconds: Int64 = 3_600_000, maxRecordBytes: Int = 1_048_576,
    adKeys: [String: [VerificationKey]] = [:], restarts: Bool = false
) throws -> FoldResult {
    try fold(
        BidsFold.self, records, batching, windowMilliseconds, maxRecordBytes, restarts: restarts
    ) { $0.verifyAds(of: adKeys) }
}

func foldImpressions(_ records: [TestRecord]) throws -> FoldResult {
    try WindowedStream.impressions.fold(records, windowMilliseconds: 604_800_000)
}

func foldOverlayClicks(_ records: [TestRecord]) throws -> FoldResult {
    try WindowedStream.overlayClicks.fold(records, windowMilliseconds: 604_800_000)
}

func foldConversionUpdates(_ records: [TestRecord]) throws -> FoldResult {
    try WindowedStream.conversionUpdates.fold(records, windowMilliseconds: 604_800_000)
}

private func fold<Fold: WindowedFold>(
    _: Fold.Type, _ records: [TestRecord], _ batching: Batching, _ windowMilliseconds: Int64,
    _ maxRecordBytes: Int = 1_048_576, restarts: Bool, prepare: (Fold) -> Void = { _ in }
) throws -> FoldResult {
    func makeFold() throws -> Fold {
        let fold = Fold(
            topic: Fold.streamName,
            rules: .init(
                stream: Fold.streamName, dedupeWindowMilliseconds: windowMilliseconds,
                maxRecordBytes: maxRecordBytes),
            parser: try #require(JSONParser()))
        prepare(fold)
        return fold
    }
    var fold = try makeFold()
    var result = FoldResult()
    var nextOffsets: [Int32: Int64] = [:]
    for records in batching.cut(records) {
        let batch = RecordBatch(records, from: &nextOffsets)
        try result.add(fold.prepare(batch), foldedBy: fold)
        fold.clear()
        guard restarts else { continue }
        let old = fold
        fold = try makeFold()
        for (partition, window) in old.windows {
            fold.state.restore(
                partition: partition, watermarkMilliseconds: window.watermarkMilliseconds,
                entries: window.aliveEntries())
        }
    }
    return result
}

/// Folds with a memory for ever. Each batch is prepared before the one that precedes it is folded.
private func fold(
    _ records: [TestRecord], _ batching: Batching, _ fold: some StreamFold, memory: RowsInMemory
) throws -> FoldResult {
    var result = FoldResult()
    var nextOffsets: [Int32: Int64] = [:]
    let batches = batching.cut(records).map { RecordBatch($0, from: &nextOffsets) }
    var upcoming = batches.first.map { fold.prepare($0) }
    for index in batches.indices {
        guard let prepared = upcoming else { break }
        upcoming = index + 1 < batches.count ? fold.prepare(batches[index + 1]) : nil
        try result.add(prepared, foldedBy: fold)
        try fold.writeMemory(to: memory)
        fold.clear()
    }
    return result
}

func foldBid(_ document: Document, type: String? = nil) throws -> FoldResult {
    try foldBids([TestRecord(document, type: type)])
}

/// What a store would know of what was folded.
final class RowsInMemory: FoldMemory, FoldMemoryWriter {
    private struct Key: Hashable {
        var table: String
        var partition: Int32
        var key: MemoryValue
    }

    private var rows: [Key: [MemoryValue]] = [:]

    func row(of table: MemoryTable, partition: Int32, key: MemoryValue) -> [MemoryValue]? {
        rows[Key(table: table.name, partition: partition, key: key)]
    }

    func windowEntries(of partition: Int32) -> [DedupeWindow.Entry] { [] }

    func write(_ row: [MemoryValue], to table: MemoryTable, partition: Int32) throws {
        #expect(row.count == table.columns.count)
        let key = Key(table: table.name, partition: partition, key: try #require(row.first))
        rows[key] = Array(row.dropFirst())
    }

    func append(_: [DedupeWindow.Entry], horizonMilliseconds _: Int64, at _: PartitionProgress) {}
}

/// What a postbacks pipeline of a test says.
struct PostbackPipeline {
    var keys = SigningKeys.shared.trusted
    var trustsDevelopment = false
    var models: [ConversionModel] = []
    var partners: [PartnerRule] = []
    var maxRecordBytes = 1_048_576
}

func foldPostbacks(
    _ records: [TestRecord], _ batching: Batching = .together,
    _ pipeline: PostbackPipeline = PostbackPipeline()
) throws -> FoldResult {
    let memory = RowsInMemory()
    let postbacks = PostbacksFold(
        topic: "postbacks",
        rules: PostbacksRules(
            maxRecordBytes: pipeline.maxRecordBytes, trustsDevelopment: pipeline.trustsDevelopment,
            models: pipeline.models, partners: pipeline.partners),
        attestor: Attestor(keys: try pipeline.keys.get(), threadCount: 2),
        parser: try #require(JSONParser()), jwsParser: try #require(JSONParser()), memory: memory)
    return try fold(records, batching, postbacks, memory: memory)
}

/// Folds costs; `restarts` gives each batch a new fold with the stored memory.
func foldCosts(
    _ records: [TestRecord], _ batching: Batching = .together, restarts: Bool = false
) throws -> FoldResult {
    let memory = RowsInMemory()
    func makeFold() throws -> CostsFold {
        CostsFold(
            topic: "costs", rules: CostsRules(maxRecordBytes: 1_048_576),
            parser: try #require(JSONParser()), memory: memory)
    }
    var fold = try makeFold()
    var result = FoldResult()
    var nextOffsets: [Int32: Int64] = [:]
    for records in batching.cut(records) {
        let batch = RecordBatch(records, from: &nextOffsets)
        try result.add(fold.prepare(batch), foldedBy: fold)
        try fold.writeMemory(to: memory)
        guard restarts else {
            fold.clear()
            continue
        }
        fold = try makeFold()
        for (partition, watermark) in result.watermarks {
            try fold.restore(
                partition: partition, watermarkMilliseconds: watermark, from: memory)
        }
    }
    return result
}

func foldNotifications(
    _ records: [TestRecord], _ batching: Batching = .together,
    environments: Set<AppStoreEnvironment> = [.production, .sandbox], threads: Int = 2
) throws -> FoldResult {
    let memory = RowsInMemory()
    let trust = try Notifications.trust(environments)
    let decoders = try (0..<threads).map { _ in
        try #require(StoreNotificationsDecoder(trust: trust, maxRecordBytes: 1_048_576))
    }
    let notifications = StoreNotificationsFold(
        topic: "store-notifications", decoders: decoders, memory: memory)
    return try fold(records, batching, notifications, memory: memory)
}
