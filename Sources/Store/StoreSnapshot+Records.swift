import Crypto
import EventLog
import Foundation
import GRDB
import JSON
import Streams

// The positions and fingerprints of records in the log. They allow to find a part of the log and fold it again.

extension StoreSnapshot {
    /// The offsets of each hour's records in a partition, in order of the hours.
    package func hours(of partition: Int32) throws -> [HourRange] {
        try hourMarks(of: partition, from: .min).compactMap { mark in
            Hour(text: mark.hour).map { hour in
                HourRange(
                    partition: partition, hour: hour, firstOffset: mark.firstOffset,
                    lastOffset: mark.lastOffset, records: mark.records)
            }
        }
    }

    /// The first hour with records of some partitions; nil without records.
    package func firstHour(of partitions: Set<Int32>) throws -> Hour? {
        try partitions.compactMap { partition in
            try String.fetchOne(
                db, sql: "SELECT min(hour) FROM hours WHERE partition = ?", arguments: [partition])
        }.min().flatMap(Hour.init(text:))
    }

    /// The results of the state lookups for the records of a range, in order of their offsets.
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

    /// The offsets in a range of copies of postbacks with these values, and of refused records: no other record can
    /// count for them.
    ///
    /// - Parameter values: by columns of `postback_copies`.
    package func postbackOffsets(
        partition: Int32, offsets: Range<Int64>, values: [String: StoredValue]
    ) throws -> Set<Int64> {
        let columns = values.keys.sorted()
        let conditions = columns.map { " AND \($0) = ?" }.joined()
        let range: [any DatabaseValueConvertible] = [
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
            arguments: StatementArguments(range + wanted + range))
    }

    /// The offsets in a range of records that were rejected for a reason when they were folded.
    package func rejectedOffsets(
        for reason: RejectionReason, partition: Int32, offsets: Range<Int64>
    ) throws -> Set<Int64> {
        try Int64.fetchSet(
            db,
            sql: """
                SELECT offset FROM refused
                WHERE partition = ? AND offset >= ? AND offset < ? AND reason = ?
                """,
            arguments: [partition, offsets.lowerBound, offsets.upperBound, reason.name])
    }

    /// The number of records of all partitions that were erased when they were folded, so that their effects are
    /// missing. Announcements of erasures are not among them.
    package func erasedRecords() throws -> Int64 {
        let rows = try Row.fetchCursor(
            db, sql: "SELECT headers FROM refused WHERE reason = ?",
            arguments: [RejectionReason.erased.name])
        var count: Int64 = 0
        while let row = try rows.next() {
            let isErased = [UInt8](row["headers"] as Data).withUnsafeBytes {
                RecordHeaders(encoded: $0).first(named: ErasedRecord.header) != nil
            }
            if isErased { count += 1 }
        }
        return count
    }
}

/// A folded record with a fingerprint that distinguishes it from any other at its offset. A few of them identify a
/// log.
package struct RecordFingerprint: Hashable, Sendable {
    package var partition: Int32
    package var offset: Int64
    /// `RecordView.fingerprint`.
    package var fingerprint: String

    package init(partition: Int32, offset: Int64, fingerprint: String) {
        self.partition = partition
        self.offset = offset
        self.fingerprint = fingerprint
    }
}

extension PartitionState {
    /// The last folded record; nil without one.
    package var lastFingerprint: RecordFingerprint? {
        guard !lastRecord.isEmpty else { return nil }
        return RecordFingerprint(
            partition: partition, offset: nextOffset - 1, fingerprint: lastRecord)
    }
}

extension StoreSnapshot {
    /// The hours to sample, counted back from the last.
    private static let steps = [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512]

    /// A few folded records of a partition at or after an offset, in order: the last one, the first of the last hour,
    /// the last ones of hours at growing distances, and the first folded one.
    ///
    /// - Parameter hours: how many of the latest hours to include without gaps.
    package func fingerprints(
        of state: WatchedPartition, from offset: Int64, hours: Int = 0
    ) throws -> [RecordFingerprint] {
        var fingerprints = Set([state.last].compactMap { $0 })
        for step in Set(Self.steps).union(0..<hours).sorted() {
            let row = try Row.fetchOne(
                db.cachedStatement(
                    sql: """
                        SELECT * FROM hours WHERE partition = ? ORDER BY hour DESC LIMIT 1 OFFSET ?
                        """),
                arguments: [state.partition, step])
            guard let row else { break }
            let ends = Self.ends(row)
            fingerprints.insert(ends.last)
            if step == 0 { fingerprints.insert(ends.first) }
        }
        // This reveals a store that began with a deleted topic and continued with another one: hours may have records
        // of both.
        let earliest = try Row.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT * FROM hours WHERE partition = ? AND first_offset >= ?
                    ORDER BY first_offset LIMIT 1
                    """),
            arguments: [state.partition, offset])
        if let earliest { fingerprints.insert(Self.ends(earliest).first) }
        return fingerprints.filter { $0.offset >= offset && !$0.fingerprint.isEmpty }
            .sorted { $0.offset < $1.offset }
    }

    /// The folded records of a partition with stored fingerprints, in order: the first and the last of each hour, and
    /// the last of all.
    package func allFingerprints(of state: PartitionState) throws -> [RecordFingerprint] {
        var fingerprints = Set([state.lastFingerprint].compactMap { $0 })
        let rows = try Row.fetchCursor(
            db, sql: "SELECT * FROM hours WHERE partition = ?", arguments: [state.partition])
        while let row = try rows.next() {
            let ends = Self.ends(row)
            fingerprints.formUnion([ends.first, ends.last])
        }
        return fingerprints.filter { !$0.fingerprint.isEmpty }.sorted { $0.offset < $1.offset }
    }

    /// The first and the last record of an hour.
    private static func ends(_ row: Row) -> (first: RecordFingerprint, last: RecordFingerprint) {
        func fingerprint(_ end: String) -> RecordFingerprint {
            RecordFingerprint(
                partition: row["partition"], offset: row["\(end)_offset"],
                fingerprint: row["\(end)_record"])
        }
        return (fingerprint("first"), fingerprint("last"))
    }
}

package enum HexDigest {
    /// SHA-256 of bytes, as 64 hex digits.
    package static func sha256(_ bytes: UnsafeRawBufferPointer) -> String {
        var hash = SHA256()
        hash.update(bufferPointer: bytes)
        return text(hash.finalize())
    }

    static func text(_ bytes: some Sequence<UInt8>) -> String {
        bytes.hexDigits
    }
}
