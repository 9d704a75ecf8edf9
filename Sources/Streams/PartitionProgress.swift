/// How far a batch has brought a partition.
package struct PartitionProgress: Equatable, Sendable {
    /// The partition.
    package var partition: Int32
    /// Offset of the first record that the batch did not fold.
    package var nextOffset: Int64
    /// The largest record timestamp so far, in milliseconds since 1970.
    package var watermarkMilliseconds: Int64
    /// Number of records that the batch folded.
    package var records: Int64

    /// Makes the progress of a partition.
    package init(
        partition: Int32, nextOffset: Int64, watermarkMilliseconds: Int64, records: Int64
    ) {
        self.partition = partition
        self.nextOffset = nextOffset
        self.watermarkMilliseconds = watermarkMilliseconds
        self.records = records
    }
}
