import EventLog

/// The folds of all streams, in bytewise order of their names.
package let streamFolds: [any StreamFold.Type] = [
    BidsFold.self, ConversionUpdatesFold.self, ImpressionsFold.self, OverlayClicksFold.self,
    PostbacksFold.self, StoreNotificationsFold.self,
]

/// The fold of a stream: a pure function of its state and the next record.
///
/// A batch is prepared and begun, its records are folded in order, its effects are stored, and it is cleared. State
/// that outlives a batch (the dedupe memory) belongs to the fold and is rebuilt from the store.
package protocol StreamFold: AnyObject, SendableMetatype {
    /// A batch that was prepared.
    associatedtype Prepared
    /// Name of the stream: its topic's name in the contract, and the name of its store.
    static var streamName: String { get }
    /// The stream's own aggregates.
    static var tables: [AggregateTable] { get }
    /// What the batch adds to each of them; there may be two tables of one aggregate, which add up.
    var deltas: [Deltas] { get }

    /// The tables of its memory, where it remembers for ever.
    static var memoryTables: [MemoryTable] { get }
    /// Whether it remembers ids for a window of event time.
    static var hasWindow: Bool { get }
    /// Whether it has documents for partners.
    static var emits: Bool { get }

    /// What the batch did.
    var effects: FoldEffects { get }
    /// What the batch has for partners, in order.
    var outbox: [PartnerPostback] { get }
    /// True when a sum of the batch alone no longer fits 64 bits.
    var hasOverflowed: Bool { get }

    /// Does for a whole batch what does not depend on the order of records, such as decoding postbacks
    /// and having their signatures checked on other threads meanwhile. May be called for the next
    /// batch before the last one is folded; the batch is not to be changed until it is.
    func prepare(_ batch: RecordBatch) -> Prepared
    /// How many records, or signatures in them, were verified for a batch that was begun.
    func verifications(in prepared: Prepared) -> Int
    /// Begins to fold a batch that was prepared.
    func begin(_ prepared: Prepared)
    /// Folds one record of the batch that was begun. Throws when its memory cannot be read.
    func fold(_ index: Int) throws
    /// Takes back what the last `fold` did to the dedupe memory and clears the effects: the record's
    /// sums overflow, and it is to be rejected.
    func rejectOverflow(_ index: Int)
    /// Clears the effects of what was folded so far.
    func clear()
    /// Gives the fold what was stored of a partition.
    func restore(
        partition: Int32, watermarkMilliseconds: Int64, from memory: any FoldMemory
    ) throws
    /// Drops what is known of a partition that is no longer folded here.
    func forget(partition: Int32)
    /// Number of ids within windows that are held in memory; those that left them are dropped first when there
    /// are more than `bound`.
    func windowIDs(atMost bound: Int) -> Int
    /// Writes what the batch adds to the fold's memory.
    func writeMemory(to writer: any FoldMemoryWriter) throws

    /// From now on asks this for what memory answered about each record, and remembers nothing. Records
    /// that a sum's overflow rejected are to be rejected again by whoever folds them so.
    func recall(from memory: RecalledMemory)
}

extension StreamFold {
    package static var memoryTables: [MemoryTable] { [] }
    package static var hasWindow: Bool { false }
    package static var emits: Bool { false }
    package var outbox: [PartnerPostback] { [] }
    package func windowIDs(atMost bound: Int) -> Int { 0 }

    /// True when a sum of the batch alone no longer fits 64 bits.
    package var hasOverflowed: Bool { deltas.contains { $0.hasOverflowed } }

    /// A stream that verifies nothing.
    package func verifications(in prepared: Prepared) -> Int { 0 }
}
