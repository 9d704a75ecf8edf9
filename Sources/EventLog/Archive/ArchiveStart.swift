/// Where an archive begins, for partitions that it holds nothing of yet.
package enum ArchiveStart: Equatable, Sendable {
    /// At the earliest record there is, or where the archive ends.
    case earliest
    /// At this offset of every partition, or at the first record after it.
    case offset(Int64)
    /// At the first record of this time or later, milliseconds since 1970.
    case time(Int64)
}
