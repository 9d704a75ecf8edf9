/// What an archive holds of a partition, and what was added to it.
package struct ArchiveRange: Equatable, Sendable {
    /// Number of the partition, from 0.
    package var partition: Int32
    /// Offset at which the archive begins.
    package var earliestOffset: Int64
    /// Offset at which it ends: everything below is in it, or is no record.
    package var endOffset: Int64
    /// Number of records that this run has added.
    package var added: Int64
}
