import DatabaseFiles
import Foundation
import GRDB
import Streams

/// The records of an hour in a partition: equal marks mean equal records.
package struct HourMark: Equatable, Sendable {
    package let partition: Int32
    package let hour: String
    package let firstOffset: Int64
    package let lastOffset: Int64
    package let records: Int64
    /// Fingerprints.
    package let firstRecord: String
    package let lastRecord: String
}

extension StoreSnapshot {
    /// The hours of a partition with records at or after an offset, in order. A worker changes no others.
    package func hourMarks(of partition: Int32, from offset: Int64) throws -> [HourMark] {
        let row = StatementRow(
            try db.cachedStatement(
                sql: """
                    SELECT hour, first_offset, last_offset, records, first_record, last_record
                    FROM hours WHERE partition = ? AND last_offset >= ? ORDER BY hour
                    """))
        row.begin()
        row.bind(Int64(partition))
        row.bind(offset)
        var marks: [HourMark] = []
        while try StoreError.naming("read", path, row.next) {
            marks.append(
                HourMark(
                    partition: partition, hour: row.text(0), firstOffset: row.integer(1),
                    lastOffset: row.integer(2), records: row.integer(3),
                    firstRecord: row.text(4), lastRecord: row.text(5)))
        }
        return marks
    }

    /// Equal for snapshots of one file whose rows were folded under the same rules: the file, its schema, its log, and
    /// the configurations of all partitions. Nil if the file is not the one at its path any more.
    package func foldIdentity() throws -> String? {
        guard (try? CheckedPages.requireInPlace(db)) != nil else { return nil }
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        let schema = try Int64.fetchOne(db, sql: "PRAGMA schema_version") ?? 0
        let starts =
            try String.fetchOne(
                db,
                sql: """
                    SELECT group_concat(partition || ' ' || first_offset || ' ' || log_start)
                    FROM partitions
                    """) ?? ""
        let epochs =
            try String.fetchOne(
                db,
                sql: """
                    SELECT group_concat(partition || ' ' || from_offset || ' ' || configuration_hash)
                    FROM epochs
                    """) ?? ""
        return
            "\(status.st_dev) \(status.st_ino) \(schema) \(topic) \(logIdentity) | \(starts) | \(epochs)"
    }
}
