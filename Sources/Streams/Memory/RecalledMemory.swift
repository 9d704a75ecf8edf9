/// Takes the place of a fold's memory when a stretch of the log is folded again: it answers for each
/// record what the memory answered the first time, and that nothing is known where it holds no answer.
public final class RecalledMemory: PostbackMemory, StoreNotificationMemory {
    private var answers: [Int32: [Int64: [UInt8]]] = [:]
    /// While true, it answers that nothing is known.
    public var isSilent = false

    /// Makes a memory of nothing.
    public init() {}

    /// Takes what was noted of a record.
    public func add(_ recollection: Recollection) {
        answers[recollection.partition, default: [:]][recollection.offset] = recollection.answers
    }

    /// Forgets everything.
    public func removeAll() { answers.removeAll(keepingCapacity: true) }

    /// What was noted of a record; nil when nothing was.
    public func answers(partition: Int32, offset: Int64) -> [UInt8]? {
        isSilent ? nil : answers[partition]?[offset]
    }

    /// No postback is known: folds that recall ask for the answers of a record instead.
    public func known(_: RecordID, partition _: Int32) -> KnownPostback? { nil }

    /// No notification is known.
    public func offset(of _: RecordID, partition _: Int32) -> Int64? { nil }

    /// No refund is known.
    public func refunds(ofTransaction _: TransactionID, partition _: Int32) -> RefundHistory {
        RefundHistory()
    }
}
