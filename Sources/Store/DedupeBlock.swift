import Foundation
import GRDB
import Streams

/// The stored blocks of a dedupe memory, with 24-byte entries: one block for each large batch, a shared one for small
/// batches.
enum DedupeBlock {
    /// A block below this size also takes the next batch's entries.
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
        let (bytes, partition) = (MemoryValue.bytes(encode(entries)), Int64(progress.partition))
        try StatementRow(
            db.cachedStatement(
                sql: """
                    UPDATE dedupe SET entries = CAST(entries || ? AS BLOB),
                      max_timestamp_ms = max(max_timestamp_ms, ?)
                    WHERE partition = ?3 AND length(entries) < \(sharedBytes) AND first_offset =
                      (SELECT max(first_offset) FROM dedupe WHERE partition = ?3)
                    """)
        ).run([bytes, .integer(newest), .integer(partition)])
        guard db.changesCount == 0 else { return }
        try StatementRow(db.cachedStatement(sql: "INSERT INTO dedupe VALUES (?, ?, ?, ?)")).run([
            .integer(partition), .integer(progress.nextOffset - progress.records),
            .integer(newest), bytes,
        ])
    }

    /// When a configuration with another window begins, drops entries that had expired under the old one: blocks keep
    /// expired entries for a while, and these must not become valid again.
    static func keepAlive(
        partition: Int32, under configuration: FoldConfiguration, in db: Database
    ) throws {
        guard let window = configuration.dedupeWindowMilliseconds,
            let last = try StoreReader.epochs(db, partition: partition).last,
            let oldWindow = last.configuration.dedupeWindowMilliseconds, oldWindow != window,
            let state = try StoreReader.partitionStates(db).first(where: {
                $0.partition == partition
            })
        else { return }
        let oldest = state.watermarkMilliseconds - oldWindow
        let alive = try entries(of: partition, in: db).filter {
            $0.timestampMilliseconds >= oldest
        }
        try db.execute(sql: "DELETE FROM dedupe WHERE partition = ?", arguments: [partition])
        guard let newest = alive.map(\.timestampMilliseconds).max() else { return }
        try db.execute(
            sql: "INSERT INTO dedupe VALUES (?, ?, ?, ?)",
            arguments: [partition, state.nextOffset - 1, newest, Data(encode(alive))])
    }

    static func entries(of partition: Int32, in db: Database) throws -> [DedupeWindow.Entry] {
        try Data.fetchAll(
            db, sql: "SELECT entries FROM dedupe WHERE partition = ? ORDER BY first_offset",
            arguments: [partition]
        ).flatMap { entries([UInt8]($0)) }
    }

    private static func entries(_ block: [UInt8]) -> [DedupeWindow.Entry] {
        block.withUnsafeBytes { bytes in
            stride(from: 0, through: bytes.count - entryBytes, by: entryBytes).map { start in
                DedupeWindow.Entry(
                    id: RecordID(bytes, at: start),
                    timestampMilliseconds: Int64(
                        littleEndian: bytes.loadUnaligned(
                            fromByteOffset: start + 16, as: Int64.self)))
            }
        }
    }

    private static func encode(_ entries: [DedupeWindow.Entry]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: entries.count * entryBytes) { bytes, count in
            let bytes = UnsafeMutableRawBufferPointer(bytes)
            for entry in entries {
                entry.id.write(to: bytes, at: count)
                bytes.storeBytes(
                    of: entry.timestampMilliseconds.littleEndian, toByteOffset: count + 16,
                    as: Int64.self)
                count += entryBytes
            }
        }
    }
}
