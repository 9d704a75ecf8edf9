import Attestation
import ConversionModels
import EventLog
import JSONReader
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

/// Folds records of the topic `bids`; `restarts` gives each batch a new fold with the stored memory.
func foldBids(
    _ records: [TestRecord], _ batching: Batching = .together,
    windowMilliseconds: Int64 = 3_600_000,
    maxRecordBytes: Int = 1_048_576, adKeys: [String: [VerificationKey]] = [:],
    restarts: Bool = false
) throws -> FoldResult {
    let parsers = try (0..<2).map { _ in try #require(JSONParser()) }
    return try fold(
        records, batching, windowMilliseconds, maxRecordBytes, restarts,
        prepare: { (fold: BidsFold) in fold.verifyAds(of: adKeys, parsers: parsers) }
    ) { fold, result in
        for table in fold.deltas { result.add(table, fold.effects.symbols) }
    }
}

/// Folds records of the topic `impressions`.
func foldImpressions(
    _ records: [TestRecord], _ batching: Batching = .together,
    windowMilliseconds: Int64 = 604_800_000,
    maxRecordBytes: Int = 1_048_576, restarts: Bool = false
) throws -> FoldResult {
    try fold(
        records, batching, windowMilliseconds, maxRecordBytes, restarts
    ) { (fold: ImpressionsFold, result) in
        for table in fold.deltas { result.add(table, fold.effects.symbols) }
    }
}

/// Folds records of the topic `overlay-clicks`.
func foldOverlayClicks(
    _ records: [TestRecord], _ batching: Batching = .together,
    windowMilliseconds: Int64 = 604_800_000,
    maxRecordBytes: Int = 1_048_576, restarts: Bool = false
) throws -> FoldResult {
    try fold(
        records, batching, windowMilliseconds, maxRecordBytes, restarts
    ) { (fold: OverlayClicksFold, result) in
        for table in fold.deltas { result.add(table, fold.effects.symbols) }
    }
}

/// Folds records of the topic `conversion-updates`.
func foldConversionUpdates(
    _ records: [TestRecord], _ batching: Batching = .together,
    windowMilliseconds: Int64 = 604_800_000,
    maxRecordBytes: Int = 1_048_576, restarts: Bool = false
) throws -> FoldResult {
    try fold(
        records, batching, windowMilliseconds, maxRecordBytes, restarts
    ) { (fold: ConversionUpdatesFold, result) in
        for table in fold.deltas { result.add(table, fold.effects.symbols) }
    }
}

private func fold<Fold: WindowedFold>(
    _ records: [TestRecord], _ batching: Batching, _ windowMilliseconds: Int64,
    _ maxRecordBytes: Int, _ restarts: Bool, prepare: (Fold) -> Void = { _ in },
    addTables: (Fold, inout FoldResult) -> Void
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
        fold.begin(fold.prepare(batch))
        for index in 0..<batch.count { try fold.fold(index) }
        #expect(!fold.hasOverflowed)
        result.add(fold.effects, of: batch)
        addTables(fold, &result)
        fold.clear()
        guard restarts else { continue }
        let old = fold
        fold = try makeFold()
        for (partition, window) in old.windows {
            fold.restore(
                partition: partition, watermarkMilliseconds: window.watermarkMilliseconds,
                entries: window.aliveEntries())
        }
    }
    return result
}

/// Folds one record of the topic `bids`.
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

    func append(_: [DedupeWindow.Entry], to _: DedupeWindow, at _: PartitionProgress) {}
}

/// What a postbacks pipeline of a test says.
struct PostbackPipeline {
    var keys = SigningKeys.shared.trusted
    var trustsDevelopment = false
    var models: [ConversionModel] = []
    var partners: [PartnerRule] = []
    var maxRecordBytes = 1_048_576
}

/// Folds records of the topic `postbacks`.
func foldPostbacks(
    _ records: [TestRecord], _ batching: Batching = .together,
    _ pipeline: PostbackPipeline = PostbackPipeline()
) throws -> FoldResult {
    let memory = RowsInMemory()
    let fold = PostbacksFold(
        topic: "postbacks",
        configuration: .init(
            maxRecordBytes: pipeline.maxRecordBytes, trustsDevelopment: pipeline.trustsDevelopment,
            models: pipeline.models, partners: pipeline.partners),
        attestor: Attestor(keys: try pipeline.keys.get(), threadCount: 2),
        parser: try #require(JSONParser()), jwsParser: try #require(JSONParser()), memory: memory)
    var result = FoldResult()
    var nextOffsets: [Int32: Int64] = [:]
    let batches = batching.cut(records).map { RecordBatch($0, from: &nextOffsets) }
    var upcoming = batches.first.map { fold.prepare($0) }
    for (place, batch) in batches.enumerated() {
        guard let prepared = upcoming else { break }
        upcoming = place + 1 < batches.count ? fold.prepare(batches[place + 1]) : nil
        fold.begin(prepared)
        for index in 0..<batch.count { try fold.fold(index) }
        #expect(!fold.hasOverflowed)
        result.add(fold.effects, of: batch)
        for table in fold.deltas { result.add(table, fold.effects.symbols) }
        result.add(fold.outbox)
        try fold.writeMemory(to: memory)
        fold.clear()
    }
    return result
}
