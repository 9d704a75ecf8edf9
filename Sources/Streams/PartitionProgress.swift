/// How far a batch has brought a partition.
public struct PartitionProgress: Equatable, Sendable {
    /// The partition.
    public var partition: Int32
    /// Offset of the first record that the batch did not fold.
    public var nextOffset: Int64
    /// The largest record timestamp so far, in milliseconds since 1970.
    public var watermarkMilliseconds: Int64
    /// Number of records that the batch folded.
    public var records: Int64

    /// Makes the progress of a partition.
    public init(
        partition: Int32, nextOffset: Int64, watermarkMilliseconds: Int64, records: Int64
    ) {
        self.partition = partition
        self.nextOffset = nextOffset
        self.watermarkMilliseconds = watermarkMilliseconds
        self.records = records
    }
}
