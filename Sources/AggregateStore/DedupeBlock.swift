import Foundation
import GRDB
import Streams

/// The blocks of 24-byte entries that a dedupe memory is stored in: one for each large batch, while
/// small batches share one.
enum DedupeBlock {
    /// A block below this size takes the next batch's entries too.
    private static let sharedBytes = 16_384
    private static let entryBytes = 24

    static func append(
        _ entries: [DedupeWindow.Entry], progress: PartitionProgress, horizonMilliseconds: Int64,
        to db: Database
    ) throws {
        try db.cachedStatement(
            sql: "DELETE FROM dedupe WHERE partition = ? AND max_timestamp_ms < ?"
        ).execute(arguments: [progress.partition, horizonMilliseconds])
        guard let newest = entries.map(\.timestampMilliseconds).max() else { return }
        let bytes = encode(entries)
        try db.cachedStatement(
            sql: """
                UPDATE dedupe SET entries = CAST(entries || ?3 AS BLOB),
                  max_timestamp_ms = max(max_timestamp_ms, ?2)
                WHERE partition = ?1 AND length(entries) < \(sharedBytes) AND first_offset =
                  (SELECT max(first_offset) FROM dedupe WHERE partition = ?1)
                """
        ).execute(arguments: [progress.partition, newest, bytes])
        guard db.changesCount == 0 else { return }
        try db.cachedStatement(sql: "INSERT INTO dedupe VALUES (?, ?, ?, ?)").execute(arguments: [
            progress.partition, progress.nextOffset - progress.records, newest, bytes,
        ])
    }

    static func entries(_ block: [UInt8]) -> [DedupeWindow.Entry] {
        block.withUnsafeBytes { bytes in
            stride(from: 0, through: bytes.count - entryBytes, by: entryBytes).map { start in
                func word(_ place: Int) -> UInt64 {
                    bytes.loadUnaligned(fromByteOffset: start + place, as: UInt64.self)
                }
                return DedupeWindow.Entry(
                    id: RecordID(
                        high: UInt64(bigEndian: word(0)), low: UInt64(bigEndian: word(8))),
                    timestampMilliseconds: Int64(
                        bitPattern: UInt64(littleEndian: word(16))))
            }
        }
    }

    private static func encode(_ entries: [DedupeWindow.Entry]) -> Data {
        var bytes = Data(capacity: entries.count * entryBytes)
        for entry in entries {
            withUnsafeBytes(of: entry.id.high.bigEndian) { bytes.append(contentsOf: $0) }
            withUnsafeBytes(of: entry.id.low.bigEndian) { bytes.append(contentsOf: $0) }
            withUnsafeBytes(of: entry.timestampMilliseconds.littleEndian) {
                bytes.append(contentsOf: $0)
            }
        }
        return bytes
    }
}
