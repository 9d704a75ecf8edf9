/// Takes the place of a fold's memory when a stretch of the log is folded again: it answers for each
/// record what the memory answered the first time, and that nothing is known where it holds no answer.
package final class RecalledMemory: FoldMemory {
    private var answers: [Int32: [Int64: [UInt8]]] = [:]
    /// While true, it answers that nothing is known.
    package var isSilent = false

    /// Makes a memory of nothing.
    package init() {}

    /// Takes what was noted of a record.
    package func add(_ recollection: Recollection) {
        answers[recollection.partition, default: [:]][recollection.offset] = recollection.answers
    }

    /// Forgets everything.
    package func removeAll() { answers.removeAll(keepingCapacity: true) }

    /// What was noted of a record; nil when nothing was.
    package func answers(partition: Int32, offset: Int64) -> [UInt8]? {
        isSilent ? nil : answers[partition]?[offset]
    }

    /// Nothing is known: folds that recall ask for the answers of a record instead.
    package func row(of _: MemoryTable, partition _: Int32, key _: MemoryValue) -> [MemoryValue]? {
        nil
    }

    package func windowEntries(of _: Int32) -> [DedupeWindow.Entry] { [] }
}
