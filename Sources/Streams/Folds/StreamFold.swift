import ConfigurationValues
import EventLog
import JSON

/// All streams, in the order of a day. All code that handles every stream uses this list.
package let allStreams: [any StreamFold.Type] = [
    BidsFold.self, ImpressionsFold.self, OverlayClicksFold.self, PostbacksFold.self,
    StoreNotificationsFold.self, ConversionUpdatesFold.self, CostsFold.self,
]

/// The name of the stream with documents for partners.
package let emittingStream = allStreams.first { $0.emits }?.streamName ?? ""

package func stream(named name: String) -> (any StreamFold.Type)? {
    allStreams.first { $0.streamName == name }
}

/// A stream: the type is its description, and an instance is its fold. The description is in `<Stream>Stream.swift` in
/// the stream's folder, and generic code depends only on it.
///
/// The fold is a pure function of its state and the next record. For each batch: `prepare`, `fold` for each record in
/// order, store the effects, `clear`. State that outlives a batch (the dedupe memory) belongs to the fold and
/// is rebuilt from the store.
///
/// A fold is a `WindowedFold` or a `LastingFold`, depending on its memory. By default records are decoded one by one
/// during folding. A stream that needs the whole batch first declares its own `Prepared`.
package protocol StreamFold: AnyObject, SendableMetatype {
    associatedtype Prepared: PreparedBatch = RecordBatch
    associatedtype State: FoldState
    associatedtype Rules: StreamRules
    associatedtype Kind: EventType

    /// The stream's name: the name of its topic in the contract, and of its store.
    static var streamName: String { get }
    static var help: StreamHelp { get }
    static var tables: [AggregateTable] { get }
    /// The keys of the stream's file in addition to the shared ones.
    static var fileKeys: [ConfigurationKey] { get }
    /// The default time for which ids are remembered, in seconds of event time; nil: permanently.
    static var defaultWindowSeconds: Int? { get }
    /// The retention of the topic of rejected records.
    static var rejectedRetentionDays: Int64 { get }

    /// Reads the rules from the present configuration. Throws at the line of an error.
    static func rules(in pipelines: PipelineDirectory) throws(ConfigurationError) -> Rules
    /// Creates the fold.
    ///
    /// - Parameters:
    ///   - topic: name of the topic.
    ///   - memory: the store's memory of earlier records.
    ///   - threadCount: the number of threads for verifying signatures; it does not affect results.
    static func make(
        _ rules: Rules, topic: String, memory: any FoldMemory, threadCount: Int
    ) throws -> Self

    /// The amounts that the batch adds to each of `tables`. Two deltas of one table add up.
    var deltas: [Deltas] { get }

    /// The tables of lasting memory.
    static var memoryTables: [MemoryTable] { get }
    /// Whether the stream has documents for partners.
    static var emits: Bool { get }

    var state: State { get }
    /// The batch's documents for partners, in order.
    var outbox: [PartnerPostback] { get }
    /// True if a sum of the batch alone exceeds 64 bits.
    var hasOverflowed: Bool { get }

    /// Does the work on a whole batch that does not depend on the order of records, for example decoding postbacks and
    /// starting verification on other threads. It may run for the next batch before the last one is folded. The batch
    /// must not change until it is folded.
    func prepare(_ batch: RecordBatch) -> Prepared
    /// The number of records, or signatures in them, that were verified for a batch that is folded but not yet cleared.
    func verifications(in prepared: Prepared) -> Int
    /// Folds one record of a prepared batch. Returns its outcome, and its type for counting. Throws if memory cannot be
    /// read.
    func take(
        _ record: RecordView, at position: FoldPosition, of prepared: Prepared
    ) throws -> (Outcome, StaticString)
    func clear()
    /// The number of ids in windows in memory. If it exceeds `bound`, expired ids are dropped first.
    func windowIDs(atMost bound: Int) -> Int
    func writeMemory(to writer: any FoldMemoryWriter) throws

    /// The offset of the record that a duplicate or a conflict repeats, from memory's answers about it; nil if memory
    /// does not contain it.
    static func originalOffset(in answers: [UInt8]) -> Int64?
    /// Whether an accepted record replaces an earlier one; `originalOffset` then returns the offset of that one.
    static var replacesRecords: Bool { get }
}

extension StreamFold {
    package static var memoryTables: [MemoryTable] { [] }
    package static var fileKeys: [ConfigurationKey] { [] }
    package static var defaultWindowSeconds: Int? { nil }
    package static var rejectedRetentionDays: Int64 { 90 }
    package static var emits: Bool { false }
    package static func originalOffset(in answers: [UInt8]) -> Int64? { nil }
    package static var replacesRecords: Bool { false }
    package var outbox: [PartnerPostback] { [] }
    package func windowIDs(atMost bound: Int) -> Int { 0 }

    package var hasOverflowed: Bool { deltas.contains { $0.hasOverflowed } }

    package func verifications(in prepared: Prepared) -> Int { 0 }
}

extension StreamFold where Prepared == RecordBatch {
    package func prepare(_ batch: RecordBatch) -> RecordBatch { batch }
}

/// A batch, with the work on it that does not depend on the order of records.
package protocol PreparedBatch: AnyObject {
    var batch: RecordBatch { get }
}

extension RecordBatch: PreparedBatch {
    package var batch: RecordBatch { self }
}

extension StreamFold {
    package var effects: FoldEffects { state.effects }

    /// Folds one record of a batch. Throws if memory cannot be read.
    package func fold(_ index: Int, of prepared: Prepared) throws {
        let record = prepared.batch[index]
        // Another thread has written it, and it arrives from there while this record is folded.
        if let next = prepared.batch.value(index + 1) { JSONParser.prefetch(next) }
        let position = FoldPosition(record, index: index)
        state.advance(record, to: position)
        let (outcome, type) = try take(record, at: position, of: prepared)
        state.effects.count(outcome, at: position, type: type)
    }

    /// Reverts the last `fold` in the dedupe memory and clears the effects, because the record's sums overflow and it
    /// must be rejected.
    package func rejectOverflow(_ index: Int, of prepared: Prepared) {
        state.takeBackLast()
        clear()
        let record = prepared.batch[index]
        let position = FoldPosition(record, index: index)
        state.advance(record, to: position)
        refuse(record, at: position, .rejected(.overflow))
        state.effects.count(.rejected, at: position, type: Envelope<Kind>(record).countedType)
    }

    /// Keeps a record of the batch, in addition to its count.
    func refuse(_ record: RecordView, at position: FoldPosition, _ cause: RefusedRecord.Cause) {
        state.effects.refuse(
            RefusedRecord(
                index: position.index, type: Envelope<Kind>(record).statedType, cause: cause))
    }

    package func clear() { clearTables() }

    func clearTables() {
        let keepsRows = state.clear()
        for table in deltas { table.removeAll(keepingRows: keepsRows) }
    }

    /// Restores a partition's state from the store.
    package func restore(
        partition: Int32, watermarkMilliseconds: Int64, from memory: any FoldMemory
    ) throws {
        try state.restore(
            partition: partition, watermarkMilliseconds: watermarkMilliseconds, from: memory)
    }

    package func writeMemory(to writer: any FoldMemoryWriter) throws {
        try state.write(to: writer)
    }

    /// Drops the state of a partition that is no longer folded here.
    package func forget(partition: Int32) {
        state.forget(partition: partition)
    }

    /// From now on, replays recorded lookups instead of querying memory, and remembers nothing. The caller rejects
    /// records again that were rejected for an overflow.
    package func recall(from memory: RecalledMemory) {
        state.recalled = memory
    }
}

/// The state of a fold: the effects of the batch, and its memory.
package protocol FoldState: AnyObject {
    var effects: FoldEffects { get set }
    /// Replaces the memory while a part of the log is folded again.
    var recalled: RecalledMemory? { get set }

    /// Moves the watermark and the next offset past the record that is folded next.
    func advance(_ record: RecordView, to position: FoldPosition)
    /// Reverts the last record's changes to the memory.
    func takeBackLast()
    func restore(
        partition: Int32, watermarkMilliseconds: Int64, from memory: any FoldMemory
    ) throws
    func forget(partition: Int32)
    func write(to writer: any FoldMemoryWriter) throws
    /// Forgets the batch.
    ///
    /// - Returns: whether the symbols stay valid.
    func clear() -> Bool
}

package struct StreamHelp: Sendable {
    package let abstract: String
    package let discussion: String

    init(_ abstract: String, _ discussion: String) {
        self.abstract = abstract
        self.discussion = discussion
    }
}

extension StreamFold {
    /// The name of the worker's program, and the default name of its consumer group.
    package static var programName: String { "weir-\(streamName)" }
    package static var hasWindow: Bool { defaultWindowSeconds != nil }
    /// The number of the rules, as recorded in stores.
    package static var rulesNumber: Int64 { Rules.number }

    package static func isConfigured(in pipelines: PipelineDirectory) -> Bool {
        pipelines.has(program: streamName)
    }

    package static func file(
        in pipelines: PipelineDirectory
    ) throws(ConfigurationError) -> StreamFile {
        try pipelines.stream(
            streamName, defaultWindowSeconds: defaultWindowSeconds, keys: fileKeys)
    }
}

package struct NoMemory: Error, CustomStringConvertible {
    package let description: String

    package init(for part: String) {
        description = "no memory for \(part)"
    }
}

extension JSONParser {
    package static func make() throws(NoMemory) -> JSONParser {
        guard let parser = JSONParser() else { throw NoMemory(for: "a JSON parser") }
        return parser
    }
}
