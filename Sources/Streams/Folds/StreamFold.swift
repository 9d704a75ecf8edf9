import ConfigurationValues
import EventLog
import JSON

/// All streams, in the order in which a day goes. Everything that concerns each of them goes by this list.
package let allStreams: [any StreamFold.Type] = [
    BidsFold.self, ImpressionsFold.self, OverlayClicksFold.self, PostbacksFold.self,
    StoreNotificationsFold.self, ConversionUpdatesFold.self, CostsFold.self,
]

/// Name of the stream that has documents for partners.
package let emittingStream = allStreams.first { $0.emits }?.streamName ?? ""

package func stream(named name: String) -> (any StreamFold.Type)? {
    allStreams.first { $0.streamName == name }
}

/// A stream: its description, which is the type, and its fold, which is an instance. The description stands in
/// `<Stream>Stream.swift` of the stream's folder, and everything generic goes by it.
///
/// The fold is a pure function of its state and the next record.
/// A batch is prepared and begun, its records are folded in order, its effects are stored, and it is cleared. State
/// that outlives a batch (the dedupe memory) belongs to the fold and is rebuilt from the store.
///
/// A fold is a `WindowedFold` or a `LastingFold`, by its memory. By default records are decoded one by one as they
/// are folded. A stream that looks at a whole batch first has a `Prepared` of its own, and gives `state` the batch
/// in its `begin`.
package protocol StreamFold: AnyObject, SendableMetatype {
    associatedtype Prepared = RecordBatch
    associatedtype State: FoldState
    associatedtype Rules: StreamRules
    associatedtype Kind: EventType

    /// Name of the stream: its topic's name in the contract, and the name of its store.
    static var streamName: String { get }
    static var help: StreamHelp { get }
    static var tables: [AggregateTable] { get }
    /// The keys of the stream's file beside those that all streams have.
    static var fileKeys: [ConfigurationKey] { get }
    /// For how many seconds of event time ids are remembered where the stream's file says nothing; nil for
    /// ever.
    static var defaultWindowSeconds: Int? { get }
    /// How long the topic of rejected records keeps them.
    static var rejectedRetentionDays: Int64 { get }

    /// Reads the rules, as the configuration has them now. Throws at the line that is wrong.
    static func rules(in pipelines: PipelineDirectory) throws(ConfigurationError) -> Rules
    /// Makes the fold.
    ///
    /// - Parameters:
    ///   - topic: name of the topic.
    ///   - memory: what the store knows of records that were folded before.
    ///   - threadCount: on how many threads signatures are verified; nothing else depends on it.
    static func make(
        _ rules: Rules, topic: String, memory: any FoldMemory, threadCount: Int
    ) throws -> Self

    /// What the batch adds to each of `tables`. Two deltas of one table add up.
    var deltas: [Deltas] { get }

    /// The tables of its memory, where it remembers for ever.
    static var memoryTables: [MemoryTable] { get }
    /// Whether it has documents for partners.
    static var emits: Bool { get }

    var state: State { get }
    /// What the batch has for partners, in order.
    var outbox: [PartnerPostback] { get }
    /// True when a sum of the batch alone no longer fits 64 bits.
    var hasOverflowed: Bool { get }

    /// Does for a whole batch what does not depend on the order of records, such as decoding postbacks
    /// and having their signatures checked on other threads meanwhile. May be called for the next
    /// batch before the last one is folded; the batch is not to be changed until it is.
    func prepare(_ batch: RecordBatch) -> Prepared
    /// How many records, or signatures in them, were verified for a batch that was folded.
    func verifications(in prepared: Prepared) -> Int
    /// Begins to fold a batch that was prepared.
    func begin(_ prepared: Prepared)
    /// Folds one record of the batch that was begun. Returns its outcome, and the type that it counts as. Throws
    /// when its memory cannot be read.
    func take(_ record: RecordView, at place: FoldPosition) throws -> (Outcome, StaticString)
    func clear()
    /// Counts the ids of windows in memory. When there are more than `bound`, those that have left their window
    /// are dropped first.
    func windowIDs(atMost bound: Int) -> Int
    func writeMemory(to writer: any FoldMemoryWriter) throws

    /// The offset of the record that a duplicate or a conflict repeats, from what memory answered about it; nil where
    /// memory does not hold it.
    static func originalOffset(in answers: [UInt8]) -> Int64?
    /// Whether an accepted record takes the place of the one that memory knows: the offset of that one is then found
    /// in the same way.
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

    package func begin(_ batch: RecordBatch) {
        state.batch = batch
    }
}

extension StreamFold {
    /// What the batch did.
    package var effects: FoldEffects { state.effects }

    /// Folds one record of the batch that was begun. Throws when its memory cannot be read.
    package func fold(_ index: Int) throws {
        guard let batch = state.batch else { return }
        let record = batch[index]
        let place = FoldPosition(record, index: index)
        state.advance(record, to: place)
        let (outcome, type) = try take(record, at: place)
        state.effects.count(outcome, at: place, type: type)
    }

    /// Takes back what the last `fold` did to the dedupe memory and clears the effects: the record's
    /// sums overflow, and it is to be rejected.
    package func rejectOverflow(_ index: Int) {
        guard let batch = state.batch else { return }
        state.takeBackLast()
        clear()
        let record = batch[index]
        let place = FoldPosition(record, index: index)
        state.advance(record, to: place)
        refuse(record, at: place, .rejected(.overflow))
        state.effects.count(.rejected, at: place, type: Envelope<Kind>(record).countedType)
    }

    /// Keeps a record of the batch beside what it counts as.
    func refuse(_ record: RecordView, at place: FoldPosition, _ cause: RefusedRecord.Cause) {
        state.effects.refuse(
            RefusedRecord(
                index: place.index, type: Envelope<Kind>(record).statedType, cause: cause))
    }

    package func clear() { clearTables() }

    func clearTables() {
        let keepsRows = state.clear()
        for table in deltas { table.removeAll(keepingRows: keepsRows) }
    }

    /// Gives the fold what was stored of a partition.
    package func restore(
        partition: Int32, watermarkMilliseconds: Int64, from memory: any FoldMemory
    ) throws {
        try state.restore(
            partition: partition, watermarkMilliseconds: watermarkMilliseconds, from: memory)
    }

    package func writeMemory(to writer: any FoldMemoryWriter) throws {
        try state.write(to: writer)
    }

    /// Drops what is known of a partition that is no longer folded here.
    package func forget(partition: Int32) {
        state.forget(partition: partition)
    }

    /// From now on, replays recorded lookups instead of querying memory, and remembers nothing. Records that
    /// were rejected for an overflow are rejected again by the caller.
    package func recall(from memory: RecalledMemory) {
        state.recalled = memory
    }
}

/// What a fold holds: what the batch did, and its memory.
package protocol FoldState: AnyObject {
    var effects: FoldEffects { get set }
    /// The batch that is folded.
    var batch: RecordBatch? { get set }
    /// Answers instead of the memory where a part of the log is folded again.
    var recalled: RecalledMemory? { get set }

    /// Moves the watermark and the next offset past a record, which is folded next.
    func advance(_ record: RecordView, to place: FoldPosition)
    /// Takes back what the last record did to the memory.
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
    /// Name of the worker's program, and of its consumer group by default.
    package static var programName: String { "weir-\(streamName)" }
    package static var hasWindow: Bool { defaultWindowSeconds != nil }
    /// The number of its rules, as stores record it.
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

    init(for part: String) {
        description = "no memory for \(part)"
    }
}

extension JSONParser {
    package static func make() throws(NoMemory) -> JSONParser {
        guard let parser = JSONParser() else { throw NoMemory(for: "a JSON parser") }
        return parser
    }
}
