import Foundation
import GRDB
import Streams

/// What a stretch of the log is found by, and folded again with.
extension StoreSnapshot {
    /// Where the records of each hour of a partition lie, in order of the hours.
    package func hours(of partition: Int32) throws -> [HourStretch] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT hour, first_offset, last_offset, records FROM hours WHERE partition = ?
                ORDER BY hour
                """,
            arguments: [partition]
        ).compactMap { row in
            UTC.milliseconds(text: row["hour"]).map { milliseconds in
                HourStretch(
                    partition: partition, hour: Hour(containing: milliseconds),
                    firstOffset: row["first_offset"], lastOffset: row["last_offset"],
                    records: row["records"])
            }
        }
    }

    /// What memory answered about the records of a stretch, in order of their offsets.
    package func recollections(
        partition: Int32, offsets: Range<Int64>
    ) throws -> [Recollection] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT offset, answers FROM recollections
                WHERE partition = ? AND offset >= ? AND offset < ? ORDER BY offset
                """,
            arguments: [partition, offsets.lowerBound, offsets.upperBound]
        ).map { row in
            Recollection(
                partition: partition, offset: row["offset"],
                answers: [UInt8](row["answers"] as Data))
        }
    }

    /// The offsets of a stretch whose records are copies of postbacks with these values, or were refused:
    /// all that can have to do with them.
    ///
    /// - Parameter values: by columns of `postback_copies`.
    package func postbackOffsets(
        partition: Int32, offsets: Range<Int64>, values: [String: StoredValue]
    ) throws -> Set<Int64> {
        let columns = values.keys.sorted()
        let conditions = columns.map { " AND \($0) = ?" }.joined()
        let stretch: [any DatabaseValueConvertible] = [
            partition, offsets.lowerBound, offsets.upperBound,
        ]
        let wanted: [any DatabaseValueConvertible] = columns.compactMap { column in
            switch values[column] {
            case .integer(let integer): integer
            case .text(let text): text
            case nil: nil
            }
        }
        return try Int64.fetchSet(
            db,
            sql: """
                SELECT offset FROM postback_copies
                WHERE partition = ? AND offset >= ? AND offset < ?\(conditions)
                UNION ALL
                SELECT offset FROM refused WHERE partition = ? AND offset >= ? AND offset < ?
                """,
            arguments: StatementArguments(stretch + wanted + stretch))
    }

    /// The offsets of a stretch whose records were rejected because a sum would have overflowed.
    package func overflows(partition: Int32, offsets: Range<Int64>) throws -> Set<Int64> {
        try Int64.fetchSet(
            db,
            sql: """
                SELECT offset FROM refused
                WHERE partition = ? AND offset >= ? AND offset < ? AND reason = ?
                """,
            arguments: [
                partition, offsets.lowerBound, offsets.upperBound,
                RejectionReason.overflow.name,
            ])
    }
}
