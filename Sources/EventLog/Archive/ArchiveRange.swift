/// What an archive holds of a partition, and what was added to it.
public struct ArchiveRange: Equatable, Sendable {
    /// Number of the partition, from 0.
    public var partition: Int32
    /// Offset at which the archive begins.
    public var earliestOffset: Int64
    /// Offset at which it ends: everything below is in it, or is no record.
    public var endOffset: Int64
    /// Number of records that this run has added.
    public var added: Int64
}
