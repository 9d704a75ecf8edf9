/// A table of a fold's lasting memory, in addition to its aggregates. The partition and the first column identify a
/// row.
package struct MemoryTable: Sendable {
    package enum ColumnKind: Sendable {
        case integer, text, bytes
        /// An integer, or bytes.
        case integerOrBytes
    }

    package struct Column: Sendable {
        package let name: String
        package let kind: ColumnKind
        package let isOptional: Bool
        /// A note on the column, beyond its name; may be empty.
        package let note: String

        package init(
            _ name: String, _ kind: ColumnKind, _ note: String = "", isOptional: Bool = false
        ) {
            self.name = name
            self.kind = kind
            self.note = note
            self.isOptional = isOptional
        }
    }

    package let name: String
    package let note: String
    /// The columns after the partition; the first is the key.
    package let columns: [Column]
    /// Whether the key is a `RecordID`. Most are new: a filter in memory recognises these without a lookup in the
    /// table, and the ids are counted.
    package let hasIDs: Bool
    /// The part of a row in the digest of a store, as an SQL expression over its columns; nil if the table is not in
    /// the digest.
    package let digest: String?

    package init(
        _ name: String, _ note: String, hasIDs: Bool = false, digest: String? = nil,
        _ columns: [Column]
    ) {
        self.name = name
        self.note = note
        self.columns = columns
        self.hasIDs = hasIDs
        self.digest = digest
    }
}

package enum MemoryValue: Hashable, Sendable {
    case none
    case integer(Int64)
    case text(String)
    case bytes([UInt8])
    /// Stored as its 16 bytes.
    case id(RecordID)

    /// An absent number, or an absent or empty text, is null.
    package init(_ integer: Int64?) { self = integer.map { .integer($0) } ?? .none }

    package init(_ text: String?) {
        self = text.flatMap { $0.isEmpty ? nil : .text($0) } ?? .none
    }

    package var integer: Int64? {
        if case .integer(let integer) = self { integer } else { nil }
    }

    package var text: String? {
        if case .text(let text) = self { text } else { nil }
    }
}

/// A fold's memory of the records before the batch. Batches write it with `FoldMemoryWriter`.
package protocol FoldMemory: AnyObject {
    /// The columns after the key of a stored row; nil if the row is missing.
    func row(of table: MemoryTable, partition: Int32, key: MemoryValue) throws -> [MemoryValue]?
    /// The ids seen within the window; some may have expired.
    func windowEntries(of partition: Int32) throws -> [DedupeWindow.Entry]
}

/// Writes a batch's additions to a fold's memory, in the transaction that stores the batch.
package protocol FoldMemoryWriter: AnyObject {
    /// Writes a row: the key, then the columns after it. It replaces the row with the same key.
    func write(_ row: [MemoryValue], to table: MemoryTable, partition: Int32) throws
    /// Writes the ids that a batch admitted to a window.
    func append(
        _ ids: [DedupeWindow.Entry], horizonMilliseconds: Int64, at progress: PartitionProgress)
        throws
}
