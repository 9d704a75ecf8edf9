/// What memory answered when a record was folded, where that was not that nothing is known: with it the
/// record can be folded again without what came before it.
package struct Recollection: Equatable, Sendable {
    /// The record's partition.
    package var partition: Int32
    /// The record's offset.
    package var offset: Int64
    /// The answers, as the stream's fold writes them.
    package var answers: [UInt8]

    /// Takes answers.
    package init(partition: Int32, offset: Int64, answers: [UInt8]) {
        self.partition = partition
        self.offset = offset
        self.answers = answers
    }
}
